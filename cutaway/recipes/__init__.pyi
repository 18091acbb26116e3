# The lazy names of cutaway/recipes/__init__.py, for editors and type checkers.
from cutaway.recipes.base import Recipe as Recipe
from cutaway.recipes.index import find_recipe as find_recipe
from cutaway.tasks.subjects import Subject as Subject

__all__: list[str]
