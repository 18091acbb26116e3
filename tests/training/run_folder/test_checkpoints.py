"""Checkpoints: written whole, read without running anything."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from little import Net, Points, little_loop, same, squared
from safetensors import SafetensorError
from torch import nn

from cutaway.training.optimizers.groups import NAMES, build_optimizers
from cutaway.training.run_folder import checkpoints
from cutaway.training.run_folder.checkpoints import (
    FolderError,
    checkpoint_steps,
    forget_later,
    latest_checkpoint,
    newest_weights,
    optimizer_tensors,
    read_state,
    restore_optimizers,
    save_checkpoint,
    writing_to,
)
from cutaway.training.run_folder.folder import RunFolder
from cutaway.training.run_folder.weights import read_tensors, separate

STATE = {
    "batches": 1,
    "seconds": 0.5,
    "metrics_bytes": 0,
    "sums": {},
    "why_stopped": "",
    "optimizers": [],
    "callbacks": {},
}


def save(folder: Path, step: int, keep: int = 2) -> Path:
    tensors = {name: {"w": torch.full((2,), float(step))} for name in ("weights", "optimizer", "random")}
    return save_checkpoint(folder, step, tensors, STATE, keep)


def test_a_checkpoint_is_a_directory_that_latest_names(tmp_path: Path):
    assert latest_checkpoint(tmp_path) is None
    path = save(tmp_path, 3)
    assert path == latest_checkpoint(tmp_path) == tmp_path / "state" / "step-3"
    assert read_state(path) == {"format": 1, "step": 3, **STATE}
    assert torch.equal(read_tensors(path / "weights.safetensors")["w"], torch.tensor([3.0, 3.0]))
    assert not list((tmp_path / "state").glob(".*"))


def test_the_newest_are_kept(tmp_path: Path):
    for step in (8, 9, 10, 11):
        save(tmp_path, step)
    assert checkpoint_steps(tmp_path) == [10, 11]  # by number, not by name


def test_other_directories_are_left_alone(tmp_path: Path):
    (tmp_path / "state" / "step-mine").mkdir(parents=True)
    save(tmp_path, 1, keep=1)
    assert checkpoint_steps(tmp_path) == [1]
    assert (tmp_path / "state" / "step-mine").is_dir()


def test_later_ones_that_never_became_the_latest_are_forgotten(tmp_path: Path):
    save(tmp_path, 3)
    save(tmp_path, 6)
    forget_later(tmp_path, 3)
    assert checkpoint_steps(tmp_path) == [3]


FLIPPED = {
    "weights.safetensors": (-1, "weights.safetensors has another checksum than when it was written"),
    "optimizer.safetensors": (9, "optimizer.safetensors has another checksum than when it was written"),
    "state.json": (20, "state.json has another checksum than when it was written"),
    "checksums.json": (0, "checksums.json does not read"),
}


@pytest.mark.parametrize("name", FLIPPED)
def test_a_flipped_byte_sends_back_to_the_checkpoint_before(name: str, tmp_path: Path):
    save(tmp_path, 3)
    path = save(tmp_path, 6) / name
    place, damage = FLIPPED[name]
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=rf"step-6 is damaged \({damage}\): step 3 is used in its place"):
        assert latest_checkpoint(tmp_path) == tmp_path / "state" / "step-3"


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "random.safetensors", "state.json"])
@pytest.mark.parametrize("made_before", [False, True])
def test_a_file_that_is_missing_or_cut_is_found(name: str, made_before: bool, tmp_path: Path):
    """Checkpoints made before there were checksums have none: what is missing is found all the same."""
    path = save(tmp_path, 6)
    if made_before:
        (path / "checksums.json").unlink()
    whole = (path / name).read_bytes()
    (path / name).write_bytes(whole[:-3])
    with pytest.raises(ValueError, match=rf"needs a sound checkpoint.*step-6 is damaged \({name}"):
        latest_checkpoint(tmp_path)
    (path / name).unlink()
    with pytest.raises(ValueError, match=rf"step-6 is damaged \({name} is missing\); take one from a copy, or delete"):
        latest_checkpoint(tmp_path)
    (path / name).write_bytes(whole)
    assert latest_checkpoint(tmp_path) == path


@pytest.mark.parametrize("field", [*STATE, "step"])
def test_a_field_that_is_missing_is_found(field: str, tmp_path: Path):
    path = save(tmp_path, 6)
    (path / "checksums.json").unlink()
    state = read_state(path)
    del state[field]
    (path / "state.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=rf"step-6 is damaged \(state.json has no usable '{field}'\)"):
        latest_checkpoint(tmp_path)


def test_a_pointer_that_is_lost_or_damaged_is_not_needed(tmp_path: Path):
    save(tmp_path, 3)
    path = save(tmp_path, 6)
    for content in (b"", b"step-", b"\xff\xfe", b"step-99\n", b"../../etc\n"):
        (tmp_path / "state" / "latest").write_bytes(content)
        assert latest_checkpoint(tmp_path) == path
    (tmp_path / "state" / "latest").unlink()
    assert latest_checkpoint(tmp_path) == path


def test_a_newer_format_is_told(tmp_path: Path):
    path = save(tmp_path, 4)
    (path / "state.json").write_text(json.dumps({"format": 9}))
    with pytest.raises(ValueError, match="reads checkpoints of format 1, got 9; upgrade cutaway"):
        read_state(path)


def test_damaged_weights_are_told(tmp_path: Path):
    path = save(tmp_path, 4) / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(
        ValueError, match=r"whole safetensors file, got .*weights\.safetensors, which was damaged .*header"
    ):
        read_tensors(path)


def test_tied_and_sliced_tensors_can_be_saved(tmp_path: Path):
    whole = torch.arange(6.0)
    tied = {"a": whole, "b": whole, "c": whole[2:4], "d": torch.empty(0)}
    path = save_checkpoint(tmp_path, 1, {"weights": tied}, {}, 1)
    assert same(read_tensors(path / "weights.safetensors"), tied)
    assert separate({"a": whole})["a"].data_ptr() == whole.data_ptr()  # no copy where none is needed


def test_the_newest_weights_are_the_average_if_there_is_one_and_never_the_best(tmp_path: Path):
    one = {"w": torch.ones(1)}
    plain = save_checkpoint(tmp_path, 1, {"weights": one, "best": one}, {}, 1)
    assert newest_weights(plain).stem == "weights"
    mean = save_checkpoint(tmp_path, 2, {"weights": one, "best": one, "callback-Averaging": one}, {}, 1)
    assert newest_weights(mean).stem == "callback-Averaging"


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_goes_on_as_if_nothing_had_happened(name: str, tmp_path: Path):
    def steps(model: nn.Module, optimizers: list, first: int, last: int) -> None:
        for step in range(first, last):
            for optimizer in optimizers:
                optimizer.zero_grad()
            squared(model, Points().at(step)).backward()
            for optimizer in optimizers:
                optimizer.step()

    def fresh() -> tuple[nn.Module, list]:
        torch.manual_seed(0)
        model = Net(dropout=0.0)
        return model, build_optimizers(model, name, 0.01, weight_decay=0.1)

    straight, optimizers = fresh()
    steps(straight, optimizers, 0, 6)
    model, optimizers = fresh()
    steps(model, optimizers, 0, 3)
    tensors, plain = optimizer_tensors(optimizers)
    path = save_checkpoint(tmp_path, 3, {"optimizer": tensors, "weights": dict(model.state_dict())}, {"o": plain}, 1)
    model, optimizers = fresh()
    model.load_state_dict(read_tensors(path / "weights.safetensors"))
    restore_optimizers(optimizers, read_tensors(path / "optimizer.safetensors"), read_state(path)["o"])
    steps(model, optimizers, 3, 6)
    assert same(model.state_dict(), straight.state_dict())


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), SafetensorError("I/O error: No space left (os error 28)")]
)
def test_a_full_disk_leaves_the_last_checkpoint(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(tmp_path, 3)
    monkeypatch.setattr(checkpoints, "write_plain", lambda *_: (_ for _ in ()).throw(error))
    with pytest.raises(
        FolderError, match=r"room on its disk, got none left for .*last good checkpoint is step-3: make room"
    ):
        save(tmp_path, 6)
    assert latest_checkpoint(tmp_path) == tmp_path / "state" / "step-3"
    assert not list((tmp_path / "state").glob(".*"))


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    refuse = PermissionError(errno.EACCES, "Permission denied", "state")
    monkeypatch.setattr(checkpoints, "write_plain", lambda *_: (_ for _ in ()).throw(refuse))
    with pytest.raises(
        FolderError, match=r"write to its folder, got \[Errno 13\].*there is no checkpoint yet: mend it"
    ):
        save(tmp_path, 6)


def test_a_message_is_made_once(tmp_path: Path):
    with pytest.raises(FolderError, match=r"^once$"), writing_to(tmp_path), writing_to(tmp_path):
        raise FolderError("once")


SMALL_DISK = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from little import Net, little_job, little_loop
from cutaway.training.run_folder.checkpoints import latest_checkpoint, FolderError
from cutaway.training.run_folder.weights import read_tensors
from cutaway.training.run_folder.folder import RunFolder

folder = RunFolder.create(Path(sys.argv[1]) / "run")
try:
    little_loop(folder, job=little_job(Net(width=1000)), steps=1000, checkpoint_every=1, keep=3).run()
except FolderError as error:
    print("TOLD", error)
latest = latest_checkpoint(folder.path)
left = [p.name for p in latest.parent.glob(".*")]
print("KEPT", latest.name, len(read_tensors(latest / "weights.safetensors")), left)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux name spaces")
def test_a_disk_that_is_really_full(tmp_path: Path):
    """Room for three checkpoints and a bit, in a name space of its own: it fills while the run goes on."""
    script = tmp_path / "script.py"
    script.write_text(SMALL_DISK.format(path=[str(Path(__file__).parents[2])]))
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=330k none {disk} && exec {sys.executable} {script} {disk}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no name spaces here: {done.stderr.strip()}")
    told, kept = done.stdout.splitlines()
    assert told.startswith("TOLD a run needs room on its disk, got none left for"), done.stderr
    step = told.split("the last good checkpoint is ")[1].split(":")[0]
    assert kept == f"KEPT {step} 4 []"


def test_a_loop_can_go_on_after_the_disk_was_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    straight = RunFolder.create(tmp_path / "straight")
    little_loop(straight).run()
    broken = RunFolder.create(tmp_path / "broken")
    real, calls = checkpoints.write_plain, []

    def full_at_the_eighth(tensors: dict, path: Path) -> None:
        calls.append(path)
        if len(calls) == 8:
            raise OSError(errno.ENOSPC, "No space left")
        real(tensors, path)

    monkeypatch.setattr(checkpoints, "write_plain", full_at_the_eighth)
    loop = little_loop(broken)
    with pytest.raises(FolderError, match="the last good checkpoint is step-3"):
        loop.run()
    again = little_loop(broken)
    again.run(resume=True)
    latest = [latest_checkpoint(folder.path) for folder in (straight, broken)]
    assert same(*(read_tensors(path / "weights.safetensors") for path in latest))
