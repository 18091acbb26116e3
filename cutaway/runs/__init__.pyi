# The lazy names of cutaway/runs/__init__.py, for editors and type checkers.
from cutaway.runs.checkpoints_in_and_out import export_run as export_run
from cutaway.runs.checkpoints_in_and_out import import_checkpoint as import_checkpoint
from cutaway.runs.execution import load as load
from cutaway.runs.execution import train as train
from cutaway.runs.pages import look_page as look_page
from cutaway.runs.report_page import report_run as report_run
from cutaway.runs.run import Run as Run

__all__: list[str]
