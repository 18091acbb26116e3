"""Recipes: what a person trains, one file each: data, model, objective and good defaults.

Nothing is imported before it is used: `import cutaway.recipes` does not import torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Recipe": "base",
    "Subject": "subjects",
    "find_recipe": "index",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
