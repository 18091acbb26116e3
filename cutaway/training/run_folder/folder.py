r"""The run folder: everything about one run, readable without Cutaway.

    config.json  metrics.jsonl  model.safetensors  tokenizer.json  samples/  report.html  checksums.json  state/

`model.safetensors` is written when the run is done: a folder that has it, whole, is finished. It carries its own
checksum; those of files that are written when the run begins (tokenizer.json) are in config.json, under "files".
`checksums.json` is written before the weights: sizes and checksums of the files that are final then, config.json,
metrics.jsonl, flow.jsonl and samples/. Until then each checkpoint has those of metrics.jsonl.

Everything is on disk before the next thing names it, so that a power cut leaves a run that can be resumed:
the folder's own name → metrics.jsonl → a checkpoint → `state/latest` … metrics.jsonl → checksums.json → the weights.

Of a tuned run it holds what was learned. The weights of the base that stay as they are are found by the path and the
digest in config.json, or in base.safetensors of a self-contained run (tuning/bases.py); adapter/ has what LoRA
or adapters learned, as peft keeps it, and state/ goes when the run is done.
"""

import json
import math
import os
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from torch import Tensor

from cutaway.atomic_files import (
    make_folder,
    parse_json,
    read_json,
    remove_leftovers,
    sync_folder,
    write_bytes,
    write_json,
    write_text,
)
from cutaway.checksums import FILE as CHECKSUMS
from cutaway.checksums import crc32_of, crc32_of_json, crc32_of_stream, find_file_damage, list_checksums
from cutaway.overriding import override
from cutaway.training.run_folder.checkpoints import FolderError, named_checkpoint, read_logged, writing_to
from cutaway.training.run_folder.lock import FolderLock
from cutaway.training.run_folder.weights import write_tensors

VERSION = 1
FINAL = ("config.json", "metrics.jsonl", "flow.jsonl", "samples/*")  # files that stay as they are when a run ends


def expect_free(path: Path) -> None:
    """A folder for a new run must not hold one already."""
    if (path / "config.json").exists():
        raise ValueError(
            f"a new run needs a folder of its own, got {path}, which holds one; "
            "add --resume to go on with it, or choose another --out"
        )


class RunFolder:
    """One run's folder, held by this process alone while it trains."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checksums: dict[str, str] = {}  # of the files whose checksums go into config.json
        self._metrics: int | None = None
        self._lock: FolderLock | None = None
        self._config: dict[str, Any] | None = None

    @staticmethod
    def create(path: Path) -> "RunFolder":
        """A new run's folder, which must not hold a run yet."""
        expect_free(path)
        _make(path, exist_ok=True)
        return RunFolder(path).hold()

    @staticmethod
    def create_next(root: Path, name: str) -> "RunFolder":
        """runs/gpt-1, runs/gpt-2, …: the first that is free, also if others look for one at the same time."""
        n = 1
        while True:
            try:
                _make(root / f"{name}-{n}", exist_ok=False)
            except FileExistsError:
                n += 1
            else:
                return RunFolder(root / f"{name}-{n}").hold()

    @staticmethod
    def reopen(path: Path) -> "RunFolder":
        """The folder of a run that was begun before."""
        folder = RunFolder(path)
        folder._config = read_config(path)
        return folder.hold()

    def hold(self) -> "RunFolder":
        """Locks the folder against a second process; the system lets go when this one ends, however it ends."""
        try:
            self._lock = FolderLock(self.path)
        except BlockingIOError as error:
            raise ValueError(
                f"a folder is for one run at a time, got {self.path}, in use by process {error}; "
                "wait for it, or choose another --out"
            ) from None
        except OSError as error:
            raise FolderError(_closed(error)) from None
        for folder in (self.path, self.path / "state", self.path / "samples"):
            remove_leftovers(folder, older=0)
        return self

    def release(self) -> None:
        """Lets go of the folder. One in which no run was begun is removed, if nothing else is in it."""
        if self._metrics is not None:
            os.close(self._metrics)
            self._metrics = None
        if self._lock is not None:
            lock, self._lock = self._lock, None
            empty = lock.is_in(self.path) and {path.name for path in self.path.iterdir()} == {".lock"}
            if os.name == "nt":  # where no open file can be removed
                lock.release()
            if empty:
                (self.path / ".lock").unlink()
                self.path.rmdir()
            if os.name != "nt":  # so that no other process locks a file that is about to go
                lock.release()

    def is_gone(self) -> bool:
        """Whether the folder was deleted, moved or replaced by another since it is held."""
        return self._lock is not None and not self._lock.is_in(self.path)

    def find_again(self, files: dict[str, Callable[[Path], None]]) -> str:
        """Follows a folder that was moved, or begins another beside one that was deleted, so that nothing is lost.

        Returns what to say when the run is saved there; empty if the folder is where it was. ``files`` are those of the
        beginning, which a new folder needs too.
        """
        if not self.is_gone():
            return ""
        assert self._lock is not None
        old, moved = self.path, self._lock.find_folder()
        if moved is not None:
            self.path, what = moved, f"was moved to {moved}"
            for folder in (moved, moved / "state", moved / "samples"):
                remove_leftovers(folder, older=0)
        else:
            self._begin_again(files)
            what = f"was deleted, or moved to another disk; what was in memory is saved in {self.path}"
        way_on = f"; to go on: {resume_command(self._config['recipe'], self.path)}" if self._config else ""
        return f"a run's folder must stay where it is while it trains, but {old} {what}{way_on}"

    def _begin_again(self, files: dict[str, Callable[[Path], None]]) -> None:
        new = RunFolder.create_next(self.path.parent, f"{self.path.name}-rescued")
        if self._metrics is not None:  # a deleted file lives as long as it is open
            logged = os.pread(self._metrics, os.fstat(self._metrics).st_size, 0)
            os.close(self._metrics)
            write_bytes(new.path / "metrics.jsonl", logged, parents=False)
        if self._lock is not None:
            self._lock.release()
        self.path, self._lock, self._metrics = new.path, new._lock, None
        self.write_files(files)
        if self._config is not None:
            self.write_config(self._config)

    def write_config(self, config: dict[str, Any]) -> None:
        self._config = config
        with writing_to(self.path):
            files = {"files": self._checksums} if self._checksums else {}
            write_json(self.path / "config.json", {"version": VERSION, **config, **files}, parents=False)

    def add_data_facts(self, facts: dict[str, Any]) -> None:
        """Adds what was found out about the data, while it was trained on, to config.json."""
        if self.is_gone():  # the next checkpoint says so
            return
        about = read_config(self.path)
        self.write_config(about | {"data": about["data"] | facts})

    def write_files(self, files: dict[str, Callable[[Path], None]]) -> None:
        """Writes files that are there from the beginning. `write_config`, which makes a run of the folder, follows."""
        with writing_to(self.path):
            for name, write in files.items():
                write(self.path / name)
                _sync_file(self.path / name)
                self._checksums[name] = crc32_of(self.path / name)
            sync_folder(self.path)

    def write_weights(self, weights: dict[str, Tensor]) -> None:
        with writing_to(self.path):
            write_tensors(self.path / "model.safetensors", weights)

    def write_checksums(self) -> None:
        """Puts the metrics on disk and lists the files that are final; `write_weights`, which ends a run, follows."""
        if self._metrics is not None:
            self.flush_metrics()
        with writing_to(self.path):
            files = [file for pattern in FINAL for file in self.path.glob(pattern) if file.is_file()]
            for file in files:
                _sync_file(file)
            found = list_checksums(self.path, (file for file in files if not file.name.startswith(".")))
            own = {"bytes": 0, "crc32": crc32_of_json(found)}  # of the list itself
            write_json(self.path / CHECKSUMS, {**found, CHECKSUMS: own}, parents=False)

    def forget_checksums(self) -> None:
        """A run that goes on is not as it was when it ended."""
        with writing_to(self.path):
            (self.path / CHECKSUMS).unlink(missing_ok=True)

    def write_samples(self, step: int, samples: dict[str, str]) -> None:
        if self.is_gone() or not samples:  # the next checkpoint says so
            return
        with writing_to(self.path):
            make_folder(self.path / "samples", parents=False)
            for name, text in samples.items():
                write_text(self.path / "samples" / f"step-{step}-{name}", text, parents=False)

    def log(self, line: dict[str, Any]) -> None:
        """One line of metrics.jsonl."""
        left = json_line(line).encode() + b"\n"
        with self._writing_metrics():
            while left:  # a full disk takes part of a line first
                left = left[os.write(self._open_metrics(), left) :]

    def flush_metrics(self) -> int:
        """Puts the metrics on disk; returns their length in bytes."""
        with self._writing_metrics():
            os.fsync(self._open_metrics())
            if not self.is_gone():
                sync_folder(self.path)
            return os.fstat(self._open_metrics()).st_size

    def logged(self) -> dict[str, Any]:
        """Size and checksum of the metrics so far, for a checkpoint."""
        with os.fdopen(os.dup(self._open_metrics()), "rb") as file:  # the open file: its folder may be gone
            file.seek(0)
            checksum = crc32_of_stream(file)
            return {"bytes": file.tell(), "crc32": checksum}

    def metrics_length(self) -> int:
        """The length of metrics.jsonl in bytes; 0 if there is none."""
        path = self.path / "metrics.jsonl"
        return path.stat().st_size if path.exists() else 0

    def cut_metrics(self, length: int) -> None:
        """Removes the lines that were logged after a checkpoint."""
        with writing_to(self.path):
            self._open_metrics()
        if self.metrics_length() > length:
            with writing_to(self.path):
                os.truncate(self.path / "metrics.jsonl", length)

    def _writing_metrics(self) -> AbstractContextManager[None]:
        # An open file takes what is written even if its folder is gone: `find_again` then brings it into the new one.
        return nullcontext() if self._metrics is not None and self.is_gone() else writing_to(self.path)

    def _open_metrics(self) -> int:
        if self._metrics is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            self._metrics = os.open(self.path / "metrics.jsonl", flags, 0o644)
        return self._metrics


class ReadOnlyRunFolder(RunFolder):
    """The run folder of all processes but the first, which write nothing."""

    @override
    def release(self) -> None:
        pass

    @override
    def write_config(self, config: dict[str, Any]) -> None:
        pass

    @override
    def add_data_facts(self, facts: dict[str, Any]) -> None:
        pass

    @override
    def write_files(self, files: dict[str, Any]) -> None:
        pass

    @override
    def write_weights(self, weights: dict[str, Tensor]) -> None:
        pass

    @override
    def write_samples(self, step: int, samples: dict[str, str]) -> None:
        pass

    @override
    def log(self, line: dict[str, Any]) -> None:
        pass

    @override
    def write_checksums(self) -> None:
        pass

    @override
    def forget_checksums(self) -> None:
        pass

    @override
    def flush_metrics(self) -> int:
        return 0

    @override
    def logged(self) -> dict[str, Any]:
        return {}

    @override
    def cut_metrics(self, length: int) -> None:
        pass


def json_line(values: dict[str, Any]) -> str:
    """Values as JSON. NaN and infinity are none: they become null.

    >>> json_line({"step": 1, "loss": math.inf})
    '{"step": 1, "loss": null}'
    """
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
    return json.dumps(clean, allow_nan=False)


def _make(path: Path, exist_ok: bool) -> None:
    try:
        if not path.parent.exists():
            make_folder(path.parent)
        path.mkdir(exist_ok=exist_ok)
        sync_folder(path.parent)
    except FileExistsError:
        if not exist_ok:
            raise
        raise FolderError(f"a run is a folder, got the file {path}; choose another --out") from None
    except OSError as error:
        raise FolderError(_closed(error)) from None


def _closed(error: OSError) -> str:
    why = f"{error.strerror.lower()} at {error.filename}" if error.strerror else error
    return f"a run must be able to write to its folder, got {why}; choose another --out"


def resume_command(recipe: str, path: Path) -> str:
    """What to type into a shell to go on with a run.

    >>> resume_command("gpt", Path("my runs/gpt-1"))
    "cutaway train gpt --resume --out 'my runs/gpt-1'"
    """
    verb = "tune" if recipe.startswith("tuned-") else f"train {recipe}"
    return f"cutaway {verb} --resume --out {shlex.quote(str(path))}"


def read_config(path: Path) -> dict[str, Any]:
    """config.json of a run."""
    file = Path(path) / "config.json"
    if not file.is_file():
        raise ValueError(f"a run is a folder with config.json, got {path} without one; `cutaway train` makes one")
    config = read_json(file)
    if not isinstance(config, dict) or "recipe" not in config:
        raise ValueError(
            f"a run's config.json names its recipe, got {file}, which does not; "
            "if it is a checkpoint, `cutaway import` makes a run of it"
        )
    expect_fields(config, {"version": int, "recipe": str}, file)
    if config["version"] > VERSION:
        raise ValueError(f"this Cutaway reads runs of version {VERSION}, got {config['version']}; upgrade cutaway")
    expect_fields(config, {"config": dict, "data": dict}, file)
    _expect_shapes(config, file)
    return config


def _expect_shapes(config: dict[str, Any], file: Path) -> None:
    """What every kind of run reads in config.json, as far as it is there: the model's spec, files, where data is."""
    data = config["data"]
    texts = dict.fromkeys(("summary", "stored", "test_path", "loss_unit", "path"), str)
    for owner, kinds in ((config, {"spec": dict, "files": dict}), (data, {"fingerprint": dict, "files": dict} | texts)):
        expect_fields(owner, {name: kind for name, kind in kinds.items() if owner.get(name) is not None}, file)
        expect_fields(owner.get("files") or {}, dict.fromkeys(owner.get("files") or {}, str), file)


def expect_fields(config: dict[str, Any], fields: dict[str, type], file: Path) -> None:
    """Fields of config.json must be there, each of its type."""
    names = {int: "a whole number", str: "a text", dict: "an object", bool: "true or false"}
    for name, kind in fields.items():
        value = config.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            came = repr(value) if name in config else "none"
            raise ValueError(
                f"a run's config.json needs {names[kind]} as {name!r}, got {came} in {file}; take the file from a copy"
            )


def expect_file(folder: Path, about: dict[str, Any], name: str) -> Path | None:
    """A file that was written when the run began, as it was written; None if the run has no such file."""
    path, checksums = folder / name, about.get("files") or {}
    if not path.is_file():
        if name not in checksums:
            return None
        raise ValueError(f"a run needs the {name} that it began with, got {folder} without it; take it from a copy")
    if name in checksums and crc32_of(path) != checksums[name]:
        raise ValueError(f"a run needs the {name} that it began with, got {path}, which changed; take it from a copy")
    return path


def read_checksums(folder: Path) -> dict[str, Any]:
    """Sizes and checksums of a finished run's files; {} if it has none: unfinished, or made before there were such."""
    path = folder / CHECKSUMS
    if not path.exists():
        return {}
    found = read_json(path)
    kinds = {"bytes": int, "crc32": str}
    for name, written in found.items() if isinstance(found, dict) else [("", None)]:
        if not isinstance(written, dict) or any(not isinstance(written.get(k), kind) for k, kind in kinds.items()):
            raise ValueError(
                f"{CHECKSUMS} must list the files of a run with their sizes and checksums, got {path}, which does not "
                f"{f'for {name!r}' if name else 'list any'}; {_way_out(folder)}"
            )
    own = found.pop(CHECKSUMS, None)  # runs made before have none
    if own is not None and own["crc32"] != crc32_of_json(found):
        raise ValueError(f"{CHECKSUMS} must be as it was written, got {path}, which changed; {_way_out(folder)}")
    return found


def find_final_damage(folder: Path, name: str) -> str:
    """What is wrong with a file of a finished run; empty if nothing, or if it has no checksum."""
    written = read_checksums(folder).get(name)
    return "" if written is None else find_file_damage(folder / name, written, name=name)


def expect_final(folder: Path, name: str) -> None:
    """A file of a finished run must be as it was when the run ended."""
    if damage := find_final_damage(folder, name):
        raise ValueError(
            f"a run's {name} must be as it was when the run ended, got {folder}, whose {damage}; {_way_out(folder)}"
        )


def note_changed_config(folder: Path) -> None:
    """Warns if config.json is not as it was when the run ended: people edit it, and disks damage it."""
    if find_final_damage(folder, "config.json"):
        warnings.warn(
            f"{folder / 'config.json'} changed after the run ended, and is used as it is now; if that was not you, "
            "take it from a copy",
            stacklevel=3,
        )


@contextmanager
def telling_changed_config(folder: Path) -> Iterator[None]:
    """What goes wrong for a config.json that changed after the run ended is told as that."""
    try:
        yield
    except (TypeError, AttributeError, LookupError, ZeroDivisionError, OverflowError, RuntimeError) as error:
        if not find_final_damage(folder, "config.json"):
            raise
        raise ValueError(
            f"a run's config.json must be as it was when the run ended, got {folder / 'config.json'}, which changed "
            f"and can no longer be used ({type(error).__name__}: {str(error)[:80]}); take it from a copy"
        ) from error


def _way_out(folder: Path) -> str:
    return f"take it from a copy, or delete {folder / CHECKSUMS} to use the run as it is"


def expect_metrics(folder: Path) -> None:
    """The metrics must be as they were when the run ended, or begin as they did at its newest checkpoint."""
    if (folder / CHECKSUMS).exists():
        expect_final(folder, "metrics.jsonl")
        return
    checkpoint = None if (folder / "model.safetensors").exists() else named_checkpoint(folder)
    logged = None if checkpoint is None else read_logged(checkpoint)
    if logged is not None and (damage := find_file_damage(folder / "metrics.jsonl", logged, beginning=True)):
        raise ValueError(
            f"metrics.jsonl must hold what was logged before the checkpoint, got {folder}, whose {damage}; "
            f"take it from a copy, or delete the folder {folder / 'state'} to start over"
        )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, as they were written; a last line cut short by a crash is left out."""
    rows = read_lines(Path(path) / "metrics.jsonl")
    expect_metrics(Path(path))
    return rows


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The lines of a log, each a JSON object; [] if there is no such file."""
    if not file.is_file():
        return []
    rows = []
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], 1):
        try:
            row = parse_json(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(
                f"every line of {file.name} must be a JSON object, got line {number} of {file}, which is not; "
                "it was damaged after it was written: take it from a copy, or delete that line"
            )
        rows.append(row)
    return rows


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
