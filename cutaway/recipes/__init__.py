"""Recipes: what a person trains, one file each, and the runs that come of it.

Nothing is imported before it is used: `import cutaway.recipes` does not import torch.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "Recipe": "base",
    "Run": "opened",
    "export_run": "imported",
    "find_recipe": "names",
    "import_checkpoint": "imported",
    "load": "runs",
    "register_recipe": "names",
    "report_run": "reports",
    "train": "runs",
}
__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'cutaway.recipes' has no attribute {name!r}; it has: {', '.join(sorted(_NAMES))}")
    value = getattr(import_module(f"cutaway.recipes.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
