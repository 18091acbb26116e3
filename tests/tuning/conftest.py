"""Runs of these tests have no report: it takes longer to draw than they take to train. tests/runs makes some."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _without_report() -> Iterator[None]:
    from cutaway.runs import execution

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
        yield
