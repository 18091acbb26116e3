"""`cutaway test RUN`: read once, noted, and refused while the run is not finished."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from little import SETTINGS, little_text

import cutaway as cut
from cutaway import cli
from cutaway.runs import execution, report_page
from cutaway.training.callbacks import Callback


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    for module in (execution, report_page):
        monkeypatch.setattr(module, "report_run", lambda run: (run.path / "report.html").write_text("a report"))


class Break(Callback):
    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == 4:
            raise ConnectionResetError


def train(folder: Path, **more: Any) -> Any:
    return cut.train("gpt", data=little_text(folder), out="run", show="quiet", **SETTINGS, **more)


def test_the_split_is_read_once(own_run: Callable[[str], Any], capsys: pytest.CaptureFixture[str]):
    own_run("gpt").path.rename("run")
    assert cli.run(["test", "run"]) == 0
    assert "(the test split is now read; this is the figure)" in capsys.readouterr().out
    assert cli.run(["test", "run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["first_reading"] is False
    assert told["loss"] == json.loads(Path("run/test.json").read_text())["metrics"]["loss"]


def test_the_baseline_has_a_line_of_its_own(
    own_run: Callable[[str], Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    own_run("gpt").path.rename("run")
    monkeypatch.setattr(
        cut.runs.Run, "test", lambda run, unfinished: {"loss": 0.5, "baseline_loss": 0.75}, raising=False
    )
    assert cli.run(["test", "run"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["test loss 0.5000", "baseline: loss 0.7500"]


def test_an_unfinished_run_is_refused_in_a_line_unless_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ConnectionResetError):
        train(tmp_path, callbacks=[Break()])
    assert cli.run(["test", "run"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "run is not finished (step 3 of 12)" in told
    assert "cutaway train gpt --resume --out run" in told
    assert not Path("run/test.json").exists()
    with pytest.warns(UserWarning, match="these are its newest weights"):
        assert cli.run(["test", "run", "--unfinished"]) == 0
    assert "test loss" in capsys.readouterr().out
