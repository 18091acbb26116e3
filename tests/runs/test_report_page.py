"""report.html of a run: written when it ends, and again when its test split is read."""

import re
from collections.abc import Callable
from typing import Any

from cutaway import cli


def test_a_report_shows_the_run_and_then_its_test(own_run: Callable[[str], Any]):
    run = own_run("gpt")
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert f"<title>gpt: {run.config.data}</title>" in page
    assert "Attention of every head, over 16 tokens" in page
    assert "Not read yet. The test split is for one last look" in page
    sample = run.samples["text.txt"]
    assert sample.strip().splitlines()[0][:3] in page
    assert "nats a token" in page
    assert not re.search(r'(src|href)="https?://', page)  # opens offline
    assert cli.run(["test", str(run.path), "--json"]) == 0
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Read once, after training" in page
    assert "Not read yet" not in page
