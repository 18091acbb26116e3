"""The run folder: held by one process, readable without Cutaway."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.training.run_folder import folder as folders
from cutaway.training.run_folder.checkpoints import FolderError, find_checkpoint_damage, read_state, save_checkpoint
from cutaway.training.run_folder.folder import RunFolder, expect_file, read_config, read_metrics
from cutaway.training.run_folder.weights import read_tensors

CONFIG: dict[str, Any] = {"recipe": "gpt", "config": {}, "data": {}}


@pytest.fixture
def folder(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    yield folder
    folder.release()


def test_what_is_in_it_reads_as_plain_files(folder: RunFolder):
    folder.write_files({"tokenizer.json": lambda path: path.write_text("{}")})
    folder.write_config({"recipe": "gpt", "config": {"steps": 3}})
    folder.write_samples(5, {"text.txt": "Hello"})
    folder.write_weights({"w": torch.ones(2)})
    folder.log({"step": 1, "loss": 0.5})
    assert json.loads((folder.path / "config.json").read_text()) == {
        "version": 1,
        "recipe": "gpt",
        "config": {"steps": 3},
        "files": {"tokenizer.json": f"{zlib.crc32(b'{}'):08x}"},
    }
    assert (folder.path / "samples" / "step-5-text.txt").read_text() == "Hello"
    assert (folder.path / "tokenizer.json").read_text() == "{}"
    assert torch.equal(read_tensors(folder.path / "model.safetensors")["w"], torch.ones(2))
    assert (folder.path / "metrics.jsonl").read_text() == '{"step": 1, "loss": 0.5}\n'


def test_numbers_that_json_has_not_become_null(folder: RunFolder):
    folder.log({"a": float("nan"), "b": float("inf"), "c": -float("inf"), "d": 1e300})
    assert read_metrics(folder.path) == [{"a": None, "b": None, "c": None, "d": 1e300}]


def test_metrics_are_cut_back_to_a_length(folder: RunFolder):
    folder.log({"step": 1})
    length = folder.flush_metrics()
    folder.log({"step": 2})
    folder.cut_metrics(length)
    assert read_metrics(folder.path) == [{"step": 1}]
    folder.log({"step": 3})  # appends where the file now ends
    assert read_metrics(folder.path) == [{"step": 1}, {"step": 3}]


def test_metrics_are_never_made_longer(folder: RunFolder):
    folder.log({"step": 1})
    folder.cut_metrics(10_000)
    assert read_metrics(folder.path) == [{"step": 1}]


def test_half_a_last_line_is_left_out(folder: RunFolder):
    folder.log({"step": 1})
    with open(folder.path / "metrics.jsonl", "a") as file:
        file.write('{"step": 2, "lo')
    assert read_metrics(folder.path) == [{"step": 1}]
    assert read_metrics(folder.path / "elsewhere") == []


def test_a_second_run_in_it_is_refused(folder: RunFolder):
    folder.write_config(CONFIG)
    with pytest.raises(ValueError, match=r"needs a folder of its own, got .*run, which holds one; add --resume"):
        RunFolder.create(folder.path)
    with pytest.raises(ValueError, match=f"one run at a time, got .*run, in use by process {os.getpid()}; wait for it"):
        RunFolder.reopen(folder.path)


def test_another_process_is_refused_until_this_one_lets_go(folder: RunFolder):
    folder.write_config(CONFIG)
    code = (
        "import sys; from pathlib import Path; from cutaway.training.run_folder.folder import RunFolder\n"
        "try: RunFolder.reopen(Path(sys.argv[1])); print('held')\n"
        "except ValueError as error: print(error)"
    )

    def other() -> str:
        done = subprocess.run([sys.executable, "-c", code, folder.path], capture_output=True, text=True, check=True)
        return done.stdout

    assert f"in use by process {os.getpid()}" in other()
    folder.release()
    assert other() == "held\n"


def test_where_there_are_no_locks_runs_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Some network file systems refuse every lock."""
    fcntl = pytest.importorskip("fcntl")
    refuse = OSError(errno.ENOLCK, "No locks available")
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(refuse))
    RunFolder.create(tmp_path / "run").release()


def test_what_an_interrupted_writer_left_is_cleared_away(tmp_path: Path):
    for name in ("run/.config.json.0a1b2c3d.part", "run/state/.step-3.0a1b2c3d.part/weights", "run/samples/.a.00.part"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half")
    RunFolder.create(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").rglob("*.part*")] == []


def test_the_next_free_folder_is_taken_at_once(tmp_path: Path):
    first, second = (RunFolder.create_next(tmp_path / "runs", "gpt") for _ in range(2))
    assert (first.path.name, second.path.name) == ("gpt-1", "gpt-2")


def test_a_folder_in_which_no_run_was_begun_goes_again(tmp_path: Path):
    folder = RunFolder.create_next(tmp_path, "gpt")
    folder.release()
    assert not (tmp_path / "gpt-1").exists()
    kept = RunFolder.create(tmp_path)  # not empty: it holds what someone else put there
    (tmp_path / "notes").write_text("mine")
    kept.release()
    assert (tmp_path / "notes").exists()


def test_a_file_is_no_folder(tmp_path: Path):
    (tmp_path / "run").write_text("")
    with pytest.raises(FolderError, match=r"a run is a folder, got the file .*run; choose another --out"):
        RunFolder.create(tmp_path / "run")


READ_ONLY = """
import sys
from pathlib import Path
from cutaway.training.run_folder.folder import RunFolder
for path in ("new/run", "old"):
    try: RunFolder.create(Path(sys.argv[1]) / path)
    except OSError as error: print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux name spaces")
def test_a_folder_that_is_really_read_only(tmp_path: Path):
    """Permissions do not stop the root user, a read-only mount does."""
    (tmp_path / "old").mkdir()
    inner = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path} && exec {sys.executable} -c "
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inner + f"'{READ_ONLY}' {tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no name spaces here: {done.stderr.strip()}")
    told = done.stdout.splitlines()
    assert len(told) == 2, done.stderr
    for line in told:
        assert "a run must be able to write to its folder, got read-only file system at " in line
        assert line.endswith("; choose another --out")


def test_a_full_disk_is_told_whatever_is_written(folder: RunFolder, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders, "write_tensors", full)
    monkeypatch.setattr(folders, "write_text", full)
    monkeypatch.setattr(folders, "write_json", full)
    monkeypatch.setattr(folders.os, "write", full)
    for attempt in (
        lambda: folder.write_config({}),
        lambda: folder.write_files({"a": full}),
        lambda: folder.write_weights({}),
        lambda: folder.write_samples(1, {"a": "b"}),
        lambda: folder.log({"a": 1}),
        lambda: folder.write_checksums(),
    ):
        with pytest.raises(FolderError, match=r"a run needs room on its disk, got none left for .*no checkpoint yet"):
            attempt()


def test_a_line_that_the_disk_takes_in_parts_is_whole_in_the_end(folder: RunFolder, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    monkeypatch.setattr(folders.os, "write", lambda file, data: real(file, data[:3]))
    folder.log({"step": 1})
    assert read_metrics(folder.path) == [{"step": 1}]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "a run is a folder with config.json, got .* without one; `cutaway train` makes one"),
        ("{", r"config\.json must be JSON as it was written, got .*config\.json \(expecting"),
        ('{"model_type": "gpt2"}', "names its recipe, got .*which does not; if it is a checkpoint, `cutaway import`"),
        ("[]", "names its recipe"),
        ('{"recipe": "gpt", "version": 7}', "reads runs of version 1, got 7; upgrade cutaway"),
        (
            '{"recipe": "gpt"}',
            r"needs a whole number as 'version', got none in .*config\.json; take the file from a copy",
        ),
        ('{"recipe": 3, "version": 1}', "needs a text as 'recipe', got 3"),
        ('{"recipe": "gpt", "version": 1, "data": {}}', "needs an object as 'config', got none"),
        ('{"recipe": "gpt", "version": 1, "config": {}, "data": []}', r"needs an object as 'data', got \[\]"),
        ('{"recipe": "gpt", "version": true}', "needs a whole number as 'version', got True"),
    ],
)
def test_a_run_must_have_a_config(content: str | None, told: str, tmp_path: Path):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=told):
        read_config(tmp_path)


def test_a_file_of_the_beginning_must_be_as_it_was(folder: RunFolder):
    folder.write_files({"tokenizer.json": lambda path: path.write_text("{}")})
    folder.write_config(CONFIG)
    about = read_config(folder.path)
    path = folder.path / "tokenizer.json"
    assert expect_file(folder.path, about, "tokenizer.json") == path
    assert expect_file(folder.path, about, "schema.json") is None
    path.write_text("[]")
    with pytest.raises(
        ValueError, match=r"the tokenizer\.json that it began with, got .*, which changed; take it from"
    ):
        expect_file(folder.path, about, "tokenizer.json")
    path.unlink()
    with pytest.raises(ValueError, match=r"the tokenizer\.json that it began with, got .*run without it; take it from"):
        expect_file(folder.path, about, "tokenizer.json")
    del about["files"]  # a run made before
    assert expect_file(folder.path, about, "tokenizer.json") is None


def test_a_damaged_line_of_metrics_is_named(folder: RunFolder):
    (folder.path / "metrics.jsonl").write_text('{"step": 1}\n{"step" 2}\n')
    with pytest.raises(ValueError, match=r"must be a JSON object, got line 2 of .*metrics\.jsonl, which is not"):
        read_metrics(folder.path)


def finished(folder: RunFolder) -> Path:
    """The folder of a run that ended, with all that has a checksum then."""
    folder.write_config(CONFIG)
    for step in range(1, 4):
        folder.log({"step": step, "split": "train", "loss": 1 / step})
    folder.write_samples(3, {"text.txt": "Hello"})
    folder.write_checksums()
    folder.write_weights({"w": torch.ones(2)})
    return folder.path


def test_every_changed_byte_of_a_finished_log_is_noticed(folder: RunFolder):
    path = finished(folder)
    log, whole = path / "metrics.jsonl", (path / "metrics.jsonl").read_bytes()
    assert len(read_metrics(path)) == 3
    for i in range(len(whole)):
        log.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        with pytest.raises(ValueError, match=r"metrics\.jsonl must be .*(another checksum|which is not)|bytes where"):
            read_metrics(path)


@pytest.mark.parametrize("change", ["line", "half a line", "all", "one more", "two swapped", "gone"])
def test_a_finished_log_that_is_cut_or_goes_on_is_noticed(folder: RunFolder, change: str):
    path = finished(folder)
    log = path / "metrics.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    changed = {
        "line": lines[:-1],
        "half a line": [*lines[:-1], lines[-1][:9]],
        "all": [],
        "one more": [*lines, lines[-1]],
        "two swapped": [lines[1], lines[0], lines[2]],
    }
    if change == "gone":
        log.unlink()
    else:
        log.write_bytes(b"".join(changed[change]))
    with pytest.raises(ValueError, match=r"metrics\.jsonl must be as it was when the run ended, got .*; take it"):
        read_metrics(path)
    (path / "checksums.json").unlink()  # as the message says, and as of runs that were made before there was one
    assert read_metrics(path) == [json.loads(line) for line in changed.get(change, []) if line.endswith(b"\n")]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"metrics.jsonl": 3}', b'{"a": {"bytes": "1", "crc32": ""}}'])
def test_damaged_checksums_are_told(folder: RunFolder, content: bytes):
    path = finished(folder)
    (path / "checksums.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"checksums\.json must .*take it from a copy"):
        read_metrics(path)


def test_a_checkpoint_knows_the_log_as_it_was(folder: RunFolder):
    folder.write_config(CONFIG)
    folder.log({"step": 1})
    folder.flush_metrics()
    save_checkpoint(folder.path, 1, {}, {}, 2, folder.logged())
    folder.log({"step": 2})
    assert read_metrics(folder.path) == [{"step": 1}, {"step": 2}]
    log = folder.path / "metrics.jsonl"
    for damaged in (b"", b'{"step": 3}\n{"step": 2}\n', b'{"step'):
        log.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"metrics\.jsonl must hold what was logged before the checkpoint, got"):
            read_metrics(folder.path)


class Disk:
    """What of a folder would be left after a power cut: contents and names that were flushed, and nothing else."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.contents: dict[int, bytes] = {}
        self.names: dict[int, dict[str, tuple[int, bool]]] = {}
        self.after: list[Callable[[], None]] = []
        real = os.fsync
        self._note(root.stat().st_ino, root)

        def fsync(file: int) -> None:
            real(file)
            about, path = os.fstat(file), Path(f"/proc/self/fd/{file}").resolve()
            if stat.S_ISDIR(about.st_mode):
                self._note(about.st_ino, path)
            else:
                self.contents[about.st_ino] = path.read_bytes()
            for check in self.after:
                check()

        patch.setattr(os, "fsync", fsync)

    def _note(self, number: int, folder: Path) -> None:
        self.names[number] = {p.name: (p.lstat().st_ino, p.is_dir()) for p in folder.iterdir()}

    def restore(self, to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        self._fill(self.root.stat().st_ino, to)
        return to

    def _fill(self, number: int, to: Path) -> None:
        to.mkdir(parents=True)
        for name, (inner, is_folder) in self.names.get(number, {}).items():
            if is_folder:
                self._fill(inner, to / name)
            else:
                (to / name).write_bytes(self.contents.get(inner, b""))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the paths of open files")
def test_a_power_cut_at_any_moment_leaves_a_run_that_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "disk").mkdir()
    disk = Disk(tmp_path / "disk", monkeypatch)
    seen: set[str] = set()

    def check() -> None:
        run = disk.restore(tmp_path / "left") / "runs" / "gpt-1"
        if (run / "config.json").exists():
            seen.add("config")
            assert read_config(run)["recipe"] == "gpt"
            assert (run / "tokenizer.json").read_text() == "{}"
        if (run / "state" / "latest").exists():
            seen.add("latest")
            checkpoint = run / "state" / (run / "state" / "latest").read_text().strip()
            assert find_checkpoint_damage(checkpoint) == "weights.safetensors is missing"  # this one has no tensors
            assert (run / "metrics.jsonl").stat().st_size >= read_state(checkpoint)["metrics_bytes"]
            read_metrics(run)
        if (run / "model.safetensors").exists():
            seen.add("weights")
            assert torch.equal(read_tensors(run / "model.safetensors")["w"], torch.ones(2))
            assert [row["step"] for row in read_metrics(run)] == [1, 2, 3]
            assert (run / "samples" / "step-2-text.txt").read_text() == "Hello"

    disk.after.append(check)
    folder = RunFolder.create_next(tmp_path / "disk" / "runs", "gpt")
    assert (disk.restore(tmp_path / "left") / "runs" / "gpt-1").is_dir()
    folder.write_files({"tokenizer.json": lambda path: path.write_text("{}")})
    folder.write_config(CONFIG)
    folder.log({"step": 1})
    save_checkpoint(folder.path, 1, {}, {"metrics_bytes": folder.flush_metrics()}, 2, folder.logged())
    folder.log({"step": 2})
    folder.write_samples(2, {"text.txt": "Hello"})
    save_checkpoint(folder.path, 2, {}, {"metrics_bytes": folder.flush_metrics()}, 2, folder.logged())
    assert (disk.restore(tmp_path / "left") / "runs" / "gpt-1" / "state" / "latest").read_text() == "step-2\n"
    folder.log({"step": 3})  # after the last checkpoint
    folder.write_checksums()
    folder.write_weights({"w": torch.ones(2)})
    folder.release()
    check()
    assert seen == {"config", "latest", "weights"}


def test_a_file_in_the_way_of_runs_is_told(tmp_path: Path):
    (tmp_path / "runs").touch()
    for path in (tmp_path / "runs", tmp_path / "runs" / "deeper"):
        with pytest.raises(FolderError, match=r"write to its folder, got not a directory at .*runs.*; choose another"):
            RunFolder.create_next(path, "gpt")
