"""A TensorBoard log: what the writer is told, and what TensorBoard reads of it."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from little import little_job, little_loop

from cutaway.training.run_folder.folder import RunFolder
from cutaway.training.tensorboard import Board


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What a stand-in for torch's writer is told."""
    told: list[tuple[Any, ...]] = []

    class SummaryWriter:
        def __init__(self, folder: str, purge_step: int) -> None:
            told.append(("open", Path(folder).name, purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            told.append((name, step))

        def add_text(self, name: str, text: str, step: int) -> None:
            told.append((name, text, step))

        def flush(self) -> None:
            told.append(("flush",))

        def close(self) -> None:
            told.append(("close",))

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return told


def test_curves_and_samples(calls: list[tuple[Any, ...]], tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    job = little_job(samples=lambda m: {"text.txt": "Hi"})
    little_loop(folder, [Board()], job, steps=2, log_every=2, evaluate_every=2, checkpoint_every=2).run()
    assert calls == [
        ("open", "tensorboard", 0),
        ("validation/loss", 0),
        ("train/loss", 2),
        ("train/gradient_norm", 2),
        ("train/rate", 2),
        ("validation/loss", 2),
        ("text.txt", "```\nHi\n```", 2),
        ("flush",),
        ("close",),
    ]


def test_a_resumed_run_hides_what_came_after_its_checkpoint(calls: list[tuple[Any, ...]], tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    little_loop(folder, steps=4).run()
    (folder.path / "state" / "latest").write_text("step-3\n")
    little_loop(folder, [Board()], steps=4).run(resume=True)
    assert calls[0] == ("open", "tensorboard", 4)  # opened at the first line after step 3


def test_it_needs_a_folder(calls: list[tuple[Any, ...]]):
    with pytest.raises(ValueError, match="a TensorBoard log needs a run folder, got none"):
        little_loop(None, [Board()]).run()


def test_its_absence_names_the_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # importing it now fails
    with pytest.raises(ModuleNotFoundError, match=r"needs the package tensorboard, .*; run pip install tensorboard"):
        Board()


def test_tensorboard_reads_the_log(tmp_path: Path):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = RunFolder.create(tmp_path / "run")
    loop = little_loop(folder, [Board()], steps=4, log_every=2, evaluate_every=2)
    loop.run()
    log = event_accumulator.EventAccumulator(str(folder.path / "tensorboard")).Reload()
    assert [event.step for event in log.Scalars("train/loss")] == [2, 4]
    assert [event.step for event in log.Scalars("validation/loss")] == [0, 2, 4]
    assert log.Scalars("validation/loss")[-1].value == pytest.approx(loop.metrics["validation_loss"], rel=1e-6)
