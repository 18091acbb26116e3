"""Runs of graphs for tests: trained without their report, which takes longer than they do."""

from typing import Any

import pytest

import cutaway as cut
from cutaway.runs import execution


def train(recipe: str, **settings: Any) -> cut.runs.Run:
    """A run without a report."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
        return cut.train(recipe, show="quiet", **settings)
