"""Recipes: what a person trains, one file each: settings, what is read and what is built of them.

Nothing is imported before it is used: `import cutaway.recipes` does not import torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Ability": "cutaway.tasks.abilities.ability",
    "Flag": "cutaway.tasks.abilities.flag",
    "Offer": "cutaway.tasks.abilities.ability",
    "Recipe": "base",
    "Subject": "cutaway.tasks.subjects",
    "find_recipe": "index",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
