"""`torchrun -m cutaway train`: one process shows and writes, and one says what went wrong."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from little import SETTINGS, little_text
from together import torchrun

pytestmark = pytest.mark.long

STEPS = 300


def train(folder: Path, *flags: str, **changed: int) -> "subprocess.Popen[str]":
    settings = SETTINGS | {"steps": STEPS, "log_every": 1, "evaluate_every": 100, "checkpoint_every": 100} | changed
    own = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return torchrun("-m", "cutaway", "train", "gpt", "--device", "cpu", *own, *flags, folder=folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def stopped(place: Path) -> "subprocess.CompletedProcess[str]":
    """A run that is told to stop (as by Ctrl-C) once it has taken some steps."""
    process = train(place, "--data", str(little_text(place)))
    log, until = place / "runs" / "gpt-1" / "metrics.jsonl", time.monotonic() + 300
    while not (log.exists() and log.read_bytes().count(b"\n") > 5):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess([], process.returncode, out, err)


def test_ctrl_c_stops_both_after_a_checkpoint(place: Path, stopped: "subprocess.CompletedProcess[str]"):
    state = place / "runs" / "gpt-1" / "state"
    last = (state / "latest").read_text().strip()
    step = json.loads((state / last / "state.json").read_text())["step"]
    assert 5 <= step < STEPS
    told = f"stopped after step {step} of {STEPS}; to go on: cutaway train gpt --resume --out runs/gpt-1"
    assert stopped.stderr.count(told) == 1, stopped.stderr
    assert stopped.stderr.count("stopping after this step") == 1
    assert stopped.returncode != 0


def test_one_process_shows_the_run(stopped: "subprocess.CompletedProcess[str]"):
    assert stopped.stdout.count("parameters, on cpu of 2 processes (ddp)") == 1
    assert stopped.stdout.count(f"step 0/{STEPS}") == 1


def test_two_go_on_from_there_to_the_end(place: Path, stopped: "subprocess.CompletedProcess[str]"):
    again = ["-m", "cutaway", "train", "gpt", "--resume", "--out", "runs/gpt-1"]
    process = torchrun(*again, folder=place)
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    assert out.count("run: runs/gpt-1   report: runs/gpt-1/report.html") == 1
    assert out.count(f"step {STEPS}/{STEPS}") == 1
    assert "bit for bit" not in err  # as many as before: nothing to warn of
    lines = (place / "runs" / "gpt-1" / "metrics.jsonl").read_text().splitlines()
    steps = [line["step"] for line in map(json.loads, lines) if line["split"] == "train"]
    assert steps == list(range(1, STEPS + 1))
    assert "<svg" in (place / "runs" / "gpt-1" / "report.html").read_text()
    assert [path.name for path in (place / "runs").iterdir()] == ["gpt-1"]


def test_a_mistake_is_told_once(place: Path):
    process = train(place, "--data", str(little_text(place)), batch=3)
    out, err = process.communicate(timeout=300)
    told = "cutaway train: --batch must be a multiple of world, got --batch 3, world=2; try --batch 2 or --batch 4"
    assert err.count(told) == 1, err
    assert "fault of Cutaway" not in err
    assert (out, process.returncode) == ("", 1)  # torchrun's own: a process had one
    assert "exitcode  : 2" in err
    assert not (place / "runs" / "gpt-2").exists()
