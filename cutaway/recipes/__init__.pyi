# The lazy names of cutaway/recipes/__init__.py, for editors and type checkers.
from cutaway.recipes.base import Recipe as Recipe
from cutaway.recipes.imported import export_run as export_run
from cutaway.recipes.imported import import_checkpoint as import_checkpoint
from cutaway.recipes.looking import look_page as look_page
from cutaway.recipes.names import find_recipe as find_recipe
from cutaway.recipes.opened import Run as Run
from cutaway.recipes.reports import report_run as report_run
from cutaway.recipes.runs import load as load
from cutaway.recipes.runs import train as train
from cutaway.recipes.subjects import Subject as Subject

__all__: list[str]
