r"""report.html of a run: written when it ends, and again when its test split is read.

Its pictures are those of the registered views that are marked for it: `cut.register(view, suits=…, report=True)`.
"""

from pathlib import Path

from cutaway.look import write_report
from cutaway.look.pages.parts import Part
from cutaway.runs.pages import draw_views
from cutaway.runs.run import Run
from cutaway.tasks.subjects import subject_of
from cutaway.training.run_folder.checkpoints import writing_to
from cutaway.training.run_folder.folder import telling_changed_config


def report_run(run: Run) -> Path:
    """Writes the report of a run from what its folder holds; returns its path."""
    with telling_changed_config(run.path):
        return _report(run)


def _report(run: Run) -> Path:
    results = run.test_results
    subject = subject_of(run)
    inside: list[Part] = [part for _, part, _ in draw_views(run, subject, report=True)]
    if inside and subject.words:
        inside.insert(0, f"What goes in: {subject.words}.")
    with writing_to(run.path):
        return write_report(
            run.path,
            f"{run.recipe.name}: {run.recipe.data}",
            run.about,
            run.metrics,
            run.all_samples,
            inside,
            test=None if results is None else results["metrics"],
            parameters=sum(p.numel() for p in run.model.parameters()),
            unit=run.loss_unit,
        )
