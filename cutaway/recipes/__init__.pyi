# The lazy names of cutaway/recipes/__init__.py, for editors and type checkers.
from cutaway.recipes.base import Recipe as Recipe
from cutaway.recipes.index import find_recipe as find_recipe
from cutaway.tasks.abilities.ability import Ability as Ability
from cutaway.tasks.abilities.ability import Offer as Offer
from cutaway.tasks.abilities.flag import Flag as Flag
from cutaway.tasks.subjects import Subject as Subject

__all__: list[str]
