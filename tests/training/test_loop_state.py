"""The state of a loop: what a checkpoint must fit before a run goes on from it."""

import json
from pathlib import Path
from typing import Any

import pytest
from little import Net, little_job, little_loop

from cutaway.training.loop_state import restore_loop
from cutaway.training.run_folder.folder import RunFolder


def test_a_checkpoint_that_never_became_the_latest_is_forgotten(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    little_loop(folder, steps=12).run()
    (folder.path / "state" / "latest").write_text("step-9\n")
    loop = little_loop(folder, steps=12, checkpoint_every=50)
    restore_loop(loop)
    assert [p.name for p in (folder.path / "state").glob("step-*")] == ["step-9"]
    assert loop.step == 9


@pytest.fixture
def folder(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    little_loop(folder, steps=12).run()
    for checksums in folder.path.rglob("checksums.json"):  # as in runs made before there were checksums
        checksums.unlink()
    yield folder
    folder.release()


def change(folder: RunFolder, **fields: Any) -> None:
    path = folder.path / "state" / "step-12" / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_the_model_must_be_the_same(folder: RunFolder):
    loop = little_loop(folder, job=little_job(Net(width=7)))
    with pytest.raises(
        ValueError, match=r"fit the run .*step-12 with inner\.weight of shape \(5, 3\) where .* \(7, 3\)"
    ):
        restore_loop(loop)
    assert loop.step == 0


def test_the_optimizers_must_be_the_same(folder: RunFolder):
    with pytest.raises(ValueError, match=r"optimizers of \[\[2, 2\]\] parameters where the run has \[\["):
        restore_loop(little_loop(folder, optimizer="muon"))


def test_the_best_weights_must_be_there(folder: RunFolder):
    (folder.path / "state" / "step-12" / "best.safetensors").unlink()
    with pytest.raises(ValueError, match=r"step-12 with no best\.safetensors; take config\.json and"):
        restore_loop(little_loop(folder))
    restore_loop(little_loop(folder, final="last"))  # which has no need of them


def test_the_steps_must_not_be_past(folder: RunFolder):
    with pytest.raises(ValueError, match="with step 12 of a run of 6 steps"):
        restore_loop(little_loop(folder, steps=6))


def test_the_log_must_be_as_long_as_it_was(folder: RunFolder):
    size = folder.metrics_length()
    change(folder, metrics_bytes=size + 5)
    with pytest.raises(
        ValueError, match=f"got {size:,} bytes of {size + 5:,} in .*run; take it from a copy, or delete"
    ):
        restore_loop(little_loop(folder))
