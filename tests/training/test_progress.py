"""What a person or a program sees while a run trains."""

import io
import json
import os
import re
from typing import Any

import pytest
from little import little_job, little_loop
from rich.console import Console

from cutaway.training import progress
from cutaway.training.progress import Bar, JsonLines, Lines, Pace, clock, progress_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (7325, "2:02:05")])
def test_times(seconds: float, shown: str):
    assert clock(seconds) == shown


def test_speed_and_time_left(monkeypatch: pytest.MonkeyPatch):
    """After the first step, 2 steps of 3 batches of 10 tokens in 4 s of steps, 5 s in all; 7 of 10 steps are left."""
    loop = little_loop(steps=10, accumulate=3)
    loop.job.units, loop.job.unit = 10, "tokens"
    pace = Pace()
    assert (pace.speed(loop), pace.seconds_left(loop), pace.shown(loop)) == (None, None, "")
    now = 100.0
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now)
    loop.step, loop.taken, loop.seconds = 1, 3, 50.0
    pace.note(loop)
    now = 105.0
    loop.step, loop.taken, loop.seconds = 3, 9, 54.0
    pace.note(loop)
    assert pace.speed(loop) == 6 * 10 / 4
    assert pace.seconds_left(loop) == 5 / 2 * 7
    loop.metrics = {"loss": 1.23456, "validation_loss": 2.0}
    assert pace.shown(loop) == "loss 1.235  validation 2.000  15 tokens/s  0:18 left"
    loop.step = 10
    assert pace.seconds_left(loop) is None


def test_lines(capsys: pytest.CaptureFixture[str]):
    job = little_job(data={"summary": "points: 100\nof a plane"})
    little_loop(None, [Lines()], job, steps=4, evaluate_every=2).run()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["points: 100", "of a plane", "model: Net, 26 parameters, on cpu"]
    assert [line.split("  ")[0] for line in lines[3:]] == ["step 0/4", "step 2/4", "step 4/4"]
    assert re.fullmatch(r"step 2/4  loss \d\.\d{3}  validation \d\.\d{3}  [\d,]+ rows/s  0:00 left", lines[4])


def test_lines_do_not_keep_silent_for_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(progress, "_SILENCE", -1.0)
    little_loop(None, [Lines()], steps=4, log_every=2, evaluate_every=100).run()
    shown = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert shown[1:] == ["step 0/4", "step 2/4", "step 4/4", "step 4/4"]  # 4: the log's, then the evaluation's


def test_json_lines(tmp_path: Any, capsys: pytest.CaptureFixture[str]):
    from cutaway.training.run_folder.folder import RunFolder

    folder = RunFolder.create(tmp_path / "run")
    job = little_job(whole=lambda m: {"loss": 0.25})
    little_loop(folder, [JsonLines()], job, steps=4, log_every=2, evaluate_every=4, checkpoint_every=4).run()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = [(row["event"], row["step"]) for row in rows]
    assert events == [
        ("start", 0),
        ("validation", 0),
        ("train", 2),
        ("train", 4),
        ("validation", 4),
        ("checkpoint", 4),
        ("end", 4),
    ]
    assert all(row["run"] == str(folder.path) for row in rows)
    assert (rows[0]["parameters"], rows[0]["device"], rows[0]["steps"]) == (26, "cpu", 4)
    assert set(rows[3]) >= {"loss", "gradient_norm", "rate", "speed", "unit", "seconds_left"}
    assert (rows[-1]["finished"], rows[-1]["why_stopped"], rows[-1]["whole_validation_loss"]) == (True, None, 0.25)


def test_numbers_that_json_has_not_become_null(capsys: pytest.CaptureFixture[str]):
    job = little_job(evaluate=lambda m: {"loss": 1.0, "perplexity": float("inf")})
    little_loop(None, [JsonLines()], job, steps=1).run()
    rows = [json.loads(line, parse_constant=pytest.fail) for line in capsys.readouterr().out.splitlines()]
    assert rows[1]["perplexity"] is None


def test_a_reader_that_goes_away_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        loop = little_loop(None, [Lines(), JsonLines()], steps=4, evaluate_every=1)
        loop.run()
    assert loop.finished


def test_a_bar(monkeypatch: pytest.MonkeyPatch):
    terminal = Terminal()
    monkeypatch.setattr("rich.console.Console", lambda **how: Console(file=terminal, width=120, force_terminal=True))
    job = little_job(data={"summary": "points [of] a plane"})
    little_loop(None, [Bar()], job, steps=4, evaluate_every=2).run()
    shown = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "points [of] a plane\nmodel: Net, 26 parameters, on cpu" in shown
    assert re.search(r"4/4 loss \d\.\d{3}  validation \d\.\d{3}  [\d,]+ rows/s", shown)
    assert terminal.getvalue().rstrip().endswith("\x1b[?25h")  # the cursor is back


def test_a_bar_gives_the_cursor_back_when_a_run_fails(monkeypatch: pytest.MonkeyPatch):
    terminal = Terminal()
    monkeypatch.setattr("rich.console.Console", lambda **how: Console(file=terminal, force_terminal=True))

    def fails(model: Any, batch: Any) -> Any:
        raise RuntimeError("own fault")

    with pytest.raises(RuntimeError, match="own fault"):
        little_loop(None, [Bar()], little_job(objective=fails)).run()
    assert terminal.getvalue().rstrip().endswith("\x1b[?25h")


def test_what_is_shown_where(monkeypatch: pytest.MonkeyPatch):
    assert progress_for("quiet") == []
    assert isinstance(progress_for("json")[0], JsonLines)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(progress_for("auto")[0], Lines)
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(progress_for("auto")[0], Bar)


def test_what_is_shown_must_be_known():
    with pytest.raises(ValueError, match="show must be one of auto, bar, lines, json, quiet, got 'loud'; pick one"):
        progress_for("loud")
