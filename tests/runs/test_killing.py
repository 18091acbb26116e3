"""Killed at any moment and resumed, a run ends with the same weights, bit for bit, and the same metrics but for times.

Real processes, really killed (SIGKILL): at random moments, and at chosen ones inside the writing of a checkpoint.
"""

import random
import time
from pathlib import Path
from typing import Any

import pytest
from killing import MOMENTS, start
from little import SETTINGS, little_text, same, timeless, weights_of

from cutaway.training.run_folder.weights import read_tensors

HARD: dict[str, Any] = SETTINGS | dict(
    # what could go astray: dropout, an average, early stopping's count, a log out of step with checkpoints
    design="gpt2",
    dropout=0.1,
    ema=0.9,
    patience=50,
    accumulate=2,
    log_every=2,
    steps=60,
    evaluate_every=20,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("killing")


@pytest.fixture(scope="module")
def unbroken(place: Path) -> Path:
    """The run that nothing happens to."""
    process = start(place / "unbroken", str(place / "cache"), False, "", _settings(place))
    process.join()
    assert process.exitcode == 0
    return place / "unbroken"


def _settings(place: Path) -> dict[str, Any]:
    return HARD | {
        "data": str(little_text(place)) if not (place / "little.txt").exists() else str(place / "little.txt")
    }


def finish(out: Path, place: Path, resume: bool) -> None:
    process = start(out, str(place / "cache"), resume, "", {} if resume else _settings(place))
    process.join()
    assert process.exitcode == 0


def expect_same(one: Path, other: Path, steps: int = 60) -> None:
    assert same(weights_of(one), weights_of(other))
    assert timeless(one) == timeless(other)
    for name in ("weights", "optimizer", "random", "best", "callback-Averaging"):
        file = f"state/step-{steps}/{name}.safetensors"
        assert same(read_tensors(one / file), read_tensors(other / file)), name
    assert sorted(p.name for p in other.iterdir()) == sorted(p.name for p in one.iterdir())
    assert not list(other.rglob("*.part"))


def test_two_unbroken_runs_are_the_same(unbroken: Path, place: Path):
    finish(place / "twin", place, resume=False)
    expect_same(unbroken, place / "twin")


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_chosen_moment(moment: str, unbroken: Path, place: Path):
    out = place / moment.replace(" ", "-")
    process = start(out, str(place / "cache"), False, moment, _settings(place))
    process.join()
    assert process.exitcode == -9
    finish(out, place, resume=True)
    expect_same(unbroken, out)


def test_killed_at_random_moments_again_and_again(unbroken: Path, place: Path):
    """Each process is killed a little after the log has grown by a random number of lines."""
    draw = random.Random(0)
    out, log = place / "random", place / "random" / "metrics.jsonl"
    killed = 0
    for _ in range(8):
        resume = (out / "config.json").exists()
        process = start(out, str(place / "cache"), resume, "", {} if resume else _settings(place))
        lines, wait = draw.randint(1, 5), draw.uniform(0, 0.05)
        before = _lines(log)
        while process.is_alive() and not before < _lines(log) - lines:
            before = min(before, _lines(log))  # a resumed run first cuts its log back
            time.sleep(0.002)
        time.sleep(wait)
        process.kill()
        process.join()
        killed += process.exitcode == -9
    assert killed >= 4
    finish(out, place, resume=True)
    expect_same(unbroken, out)


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def test_with_two_threads_too(place: Path):
    """The thread count is the run's: a resuming process that has another takes it over."""
    outs = [place / "threads", place / "threads-killed"]
    settings = _settings(place) | {"width": 64, "batch": 16, "steps": 6}
    for out, moment in zip(outs, ["", "before a checkpoint becomes the latest"], strict=True):
        process = start(out, str(place / "cache"), False, moment, settings, threads=2)
        process.join()
        assert process.exitcode == (-9 if moment else 0)
    process = start(outs[1], str(place / "cache"), True, "", {}, threads=1)
    process.join()
    assert process.exitcode == 0
    expect_same(*outs, steps=6)
