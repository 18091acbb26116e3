"""`cutaway demo`: the four stops of the tour, with a shorter training."""

from pathlib import Path
from typing import Any

import pytest
from little import SETTINGS

from cutaway.cli import run
from cutaway.commands.demo import PROMPT
from cutaway.runs import execution


def test_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    asked: dict[str, Any] = {}
    real = execution.train
    text = tmp_path / "text.txt"
    text.write_text(f"{PROMPT} a tuple.\n" * 60, encoding="utf-8")

    def train(recipe: str, out: str, **settings: Any) -> Any:
        asked.update(settings, recipe=recipe)
        return real(recipe, data=str(text), out=out, show="quiet", **SETTINGS | dict(depth=2, context=32))

    monkeypatch.setattr(execution, "train", train)
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
    assert run(["demo", "--steps", "7", "--out", str(tmp_path / "run")]) == 0
    assert asked == dict(recipe="gpt", preset="small", data="python-docs", test=0.05, steps=7)
    told = capsys.readouterr().out
    assert [f"{stop}. " in told for stop in (1, 2, 3, 4)] == [True] * 4
    assert f"It goes on from {PROMPT!r}" in told
    assert str(tmp_path / "run" / "report.html") in told
    looks = [line for line in told.splitlines() if line.replace("[", "").replace("]", "").endswith(PROMPT)]
    assert [line.split()[0] for line in looks] == ["0", "1"]  # a line for each head
    for line in looks:
        assert 1 / len(PROMPT) - 0.005 <= float(line.split()[1]) <= 1


def test_a_wrong_number_of_steps_is_told_before_the_tour(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["demo", "--steps", "-3", "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "got -3" in told.err
