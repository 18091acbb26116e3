r"""report.html of a run: written when it ends, and again when its test split is read."""

import json
from pathlib import Path

from cutaway.look import flow_pictures, write_report
from cutaway.runs.run import Run
from cutaway.training.flow_log import read_flow
from cutaway.training.run_folder.checkpoints import writing_to


def report_run(run: Run) -> Path:
    """Writes the report of a run from what its folder holds; returns its path."""
    noted = run.path / "test.json"
    test = json.loads(noted.read_text(encoding="utf-8"))["metrics"] if noted.is_file() else None
    with writing_to(run.path):
        return write_report(
            run.path,
            f"{run.recipe.name}: {run.recipe.data}",
            run.about,
            run.metrics,
            run.all_samples,
            [*run.recipe.pictures(run), *flow_pictures(read_flow(run.path))],
            test=test,
            parameters=sum(p.numel() for p in run.model.parameters()),
            unit=run.recipe.unit,
        )
