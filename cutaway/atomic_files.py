r"""Files and folders that are there whole or not at all.

A reader never meets half a file, and a machine that stops in the middle of writing leaves the old file as it was:
written beside under another name → flushed to disk → renamed → the folder that holds the name flushed too.

    with writing("model.bin") as file: file.write(b"...")          # a file
    with writing_folder("step-100") as folder: ...                 # a folder, with all that is put in it

What an interrupted writer leaves behind ends in `.part`; `remove_leftovers` clears it away.
"""

import errno
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

# What Python's own reader cannot hold.
_DEEP = "it is nested too deep"
_LONG = "it has a number too long to read"


def _beside(path: Path, ending: str) -> Path:
    # In the same folder, so that the rename stays inside one file system; the random part keeps two writers apart.
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{ending}")


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flushes the names in a folder to disk: without it a rename may be lost with the power."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder, and orders renames by itself
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: str | os.PathLike[str], parents: bool = True) -> None:
    """Makes a folder, and with ``parents`` those above it; the names of all new ones are flushed to disk."""
    path = Path(path)
    missing = [path]
    while parents and not missing[-1].parent.is_dir() and missing[-1].parent != missing[-1]:
        missing.append(missing[-1].parent)
    for new in reversed(missing):
        try:
            new.mkdir()
        except FileExistsError:
            if not new.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        else:
            sync_folder(new.parent)


def _sync_tree(folder: Path) -> None:
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            handle = os.open(Path(parent, name), os.O_RDWR if os.name == "nt" else os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_folder(parent)


@contextmanager
def writing(path: str | os.PathLike[str], parents: bool = True) -> Iterator[BinaryIO]:
    """A binary file to write to, which becomes ``path`` when the block ends well and vanishes if it raises.

    Missing folders on the way are made, unless ``parents`` is False: one that was moved away must not come back.
    """
    path = Path(path)
    if parents:
        make_folder(path.parent)
    part = _beside(path, ".part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            part.unlink()
        raise
    sync_folder(path.parent)


def write_bytes(path: str | os.PathLike[str], content: bytes, parents: bool = True) -> None:
    """Writes a whole file."""
    with writing(path, parents) as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str, parents: bool = True) -> None:
    """Writes a whole text file, in UTF-8."""
    write_bytes(path, text.encode(), parents)


def write_json(path: str | os.PathLike[str], value: Any, parents: bool = True) -> None:
    """Writes a value as JSON that a person can read. NaN and infinity are no JSON and raise ValueError."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", parents)


def read_utf8(path: str | os.PathLike[str]) -> str:
    """The text of a file that Cutaway wrote; damage is a ValueError."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path.name} must be there, got {path.parent} without it; take it from a copy")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        damage = f"byte 0x{error.object[error.start]:02x} at position {error.start} is not UTF-8"
    raise ValueError(f"{path.name} must be text as it was written, got {path} ({damage}); take it from a copy")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text, as `json.loads`; what Python cannot hold is a JSONDecodeError too."""
    try:
        return json.loads(text)
    except RecursionError:
        damage = _DEEP
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:  # a whole number of more than 4,300 digits
        damage = _LONG
    raise json.JSONDecodeError(damage, text if isinstance(text, str) else text[:1].decode("latin-1"), 0)


def read_json(path: str | os.PathLike[str], *names: str) -> Any:
    """The value of a JSON file, an object that has these ``names`` if any are given; damage is a ValueError."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path.name} must be there, got {path.parent} without it; take it from a copy")
    try:
        value = parse_json(path.read_bytes().decode("utf-8"))
    except json.JSONDecodeError as error:
        damage = error.msg if error.msg in (_DEEP, _LONG) else f"{error.msg.lower()} in line {error.lineno}"
    except UnicodeDecodeError as error:
        damage = f"byte 0x{error.object[error.start]:02x} at position {error.start} is not UTF-8"
    else:
        missing = [name for name in names if not isinstance(value, dict) or name not in value]
        if not missing:
            return value
        damage = f"it has no {missing[0]!r}"
    raise ValueError(f"{path.name} must be JSON as it was written, got {path} ({damage}); take it from a copy")


def _replace_folder(part: Path, path: Path) -> None:
    old = _beside(path, ".part")
    with suppress(FileNotFoundError):
        os.rename(path, old)
    try:
        os.rename(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.rename(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def writing_folder(
    path: str | os.PathLike[str], existing: Literal["replace", "keep"] = "replace", parents: bool = True
) -> Iterator[Path]:
    """A folder to fill, which becomes ``path`` when the block ends well and vanishes if it raises.

    A folder that stands there already is replaced, or kept and the new one dropped (``existing="keep"``, for caches,
    whose contents follow from their name). Folders cannot be exchanged in one step: between two renames of a
    replacement there is a moment with no folder at ``path``, so nothing should point to it then.
    """
    path = Path(path)
    if parents:
        make_folder(path.parent)
    part = _beside(path, ".part")
    part.mkdir()
    try:
        yield part
        _sync_tree(part)
        if existing == "keep":
            try:
                os.rename(part, path)
            except OSError:
                if not path.is_dir():
                    raise
                shutil.rmtree(part)
        else:
            _replace_folder(part, path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    sync_folder(path.parent)


def remove_leftovers(folder: str | os.PathLike[str], older: float = 86400.0) -> list[Path]:
    """Clears away what interrupted writers left in a folder, if untouched for ``older`` seconds; returns what went."""
    gone = []
    for path in Path(folder).glob(".*.part"):
        with suppress(FileNotFoundError):
            # A folder keeps its time while the files in it grow: the newest of them says whether someone still writes.
            touched = max(file.stat().st_mtime for file in (path, *path.rglob("*")))
            if time.time() - touched >= older:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                gone.append(path)
    return gone


__all__ = [
    "make_folder",
    "remove_leftovers",
    "sync_folder",
    "write_bytes",
    "write_json",
    "write_text",
    "writing",
    "writing_folder",
]
