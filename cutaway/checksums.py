r"""Checksums: a file that changed after it was written is noticed before it is used.

    crc32(content)                  finds every change of up to four bytes in a row, at gigabytes a second
    checksums.json                  in a folder that is written whole: size and checksum of every other file in it

    with writing_folder("step-100") as folder:
        ...
        write_checksums(folder)     # becomes part of the folder in the same step as the files
    find_damage("step-100")         # "" if all files are as they were written

They guard against disks, copies and hands that slip, not against intent: a CRC is easy to forge.
"""

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from cutaway.atomic_files import parse_json

FILE = "checksums.json"
_PIECE = 1 << 20  # bytes read at once


def crc32_of_stream(file: BinaryIO, start: int = 0, length: int | None = None) -> str:
    """The CRC-32 of what is left in an open file, or of its next ``length`` bytes, as eight hexadecimal digits.

    ``start`` is that of what came before.
    """
    while piece := file.read(_PIECE if length is None else min(_PIECE, length)):
        start = zlib.crc32(piece, start)
        length = None if length is None else length - len(piece)
    return f"{start:08x}"


def crc32_of(path: str | os.PathLike[str]) -> str:
    """The CRC-32 of a file."""
    with open(path, "rb") as file:
        return crc32_of_stream(file)


def crc32_of_json(value: Any) -> str:
    """The CRC-32 of a plain value, whatever the order of its keys and the spaces of the file that it is kept in.

    >>> crc32_of_json({"a": 1, "b": [2]}) == crc32_of_json({"b": [2], "a": 1})
    True
    """
    return f"{zlib.crc32(json.dumps(value, sort_keys=True).encode()):08x}"


def list_checksums(folder: Path, files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Sizes and checksums of some files of a folder, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "crc32": crc32_of(path)}
        for path in sorted(files)
    }


def write_checksums(folder: Path) -> None:
    """Lists the files of a folder, with their sizes and checksums, in its checksums.json."""
    listed = list_checksums(folder, (path for path in folder.rglob("*") if path.is_file() and path.name != FILE))
    (folder / FILE).write_text(json.dumps(listed, indent=2), encoding="utf-8")


def find_file_damage(path: Path, written: dict[str, Any], beginning: bool = False, name: str = "") -> str:
    """What is wrong with one file that had this size and checksum; with ``beginning``, more may have come after it."""
    size, checksum, name = written["bytes"], written["crc32"], name or path.name
    if not path.is_file():
        return f"{name} is missing"
    found = path.stat().st_size
    if found < size or (found > size and not beginning):
        return f"{name} has {found:,} bytes where {size:,} were written"
    with open(path, "rb") as file:
        crc = crc32_of_stream(file, length=size)
    return "" if crc == checksum else f"{name} has another checksum than when it was written"


def find_damage(folder: Path) -> str:
    """The first file of a folder that is not as it was written, and in what; empty if all are sound."""
    try:
        listed = parse_json((folder / FILE).read_text(encoding="utf-8"))
        for name, written in listed.items():
            if damage := find_file_damage(folder / name, written, name=name):
                return damage
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ):  # cut short, or bytes that are no JSON
        return f"{FILE} does not read"
    return ""


__all__ = [
    "FILE",
    "crc32_of",
    "crc32_of_json",
    "crc32_of_stream",
    "find_damage",
    "find_file_damage",
    "list_checksums",
    "write_checksums",
]
