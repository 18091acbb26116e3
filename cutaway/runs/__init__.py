"""Runs: training by a recipe, and what a trained model can do: test, predict, generate, its views and its report.

Nothing is imported before it is used: `import cutaway.runs` does not import torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Run": "run",
    "export_run": "checkpoints_in_and_out",
    "import_checkpoint": "checkpoints_in_and_out",
    "load": "execution",
    "look_page": "pages",
    "report_run": "report_page",
    "train": "execution",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
