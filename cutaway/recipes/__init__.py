"""Recipes: what a person trains, one file each, and the runs that come of it.

Nothing is imported before it is used: `import cutaway.recipes` does not import torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Recipe": "base",
    "Run": "opened",
    "Subject": "subjects",
    "export_run": "imported",
    "find_recipe": "names",
    "import_checkpoint": "imported",
    "load": "runs",
    "look_page": "looking",
    "report_run": "reports",
    "train": "runs",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
