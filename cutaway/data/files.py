r"""Reading files: plain, gz, xz, bz2 or a zip of one; a single file or a folder; text in a declared encoding.

Text of any size is read in small pieces. Line ends become "\n" and a byte-order mark is dropped.
"""

import bz2
import codecs
import difflib
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from cutaway.data.fingerprints import Fingerprint, fingerprint_bytes, refresh, stamp

PIECE = 1 << 16  # bytes: with larger ones the gaps that the allocator leaves add up to a hundred megabytes
_BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet table",
    b"\x93NUMPY": "a NumPy array",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"


@runtime_checkable
class Readable(Protocol):
    """An open file, or an object that can be read like one."""

    def read(self, size: int, /) -> bytes: ...


def find_files(path: str | os.PathLike[str], pattern: str = "*", setting: str = "data") -> dict[str, Path]:
    """The file at ``path``, or the files below that folder in sorted order; hidden ones are left out.

    ``setting`` is what messages call the path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"{setting} must be a file or folder that exists, got {path!r}; give its name")
    if not os.fspath(path):
        raise ValueError(f"{setting} must be a file or folder that exists, got an empty path; give its name")
    path = Path(path).expanduser()
    if path.is_file():
        return {path.name: path}
    if not path.is_dir():
        refuse_special(path, setting)
        raise ValueError(_absent(path, setting))
    found = {}
    for file in path.rglob(pattern):
        parts = file.relative_to(path).parts
        if file.is_file() and not any(part.startswith(".") for part in parts):
            found["/".join(parts)] = file
    if not found:
        raise ValueError(
            f"a folder of data must hold at least one file {pattern!r}, got {path}; look for a misspelling"
        )
    return dict(sorted(found.items()))


def refuse_special(path: Path, setting: str = "data") -> None:
    """A path must not lead to a pipe or a device: they can be read once at most, and some of them never end."""
    kinds = {"is_fifo": "a pipe", "is_char_device": "a device", "is_block_device": "a device", "is_socket": "a socket"}
    kind = next((name for check, name in kinds.items() if getattr(path, check)()), "")
    if kind:
        raise ValueError(
            f"{setting} must be a regular file or a folder, got {path}, which is {kind}; write its content to a file, "
            "and give that"
        )


def similar_names(path: Path, others: Iterable[str] = ()) -> list[str]:
    """Names of readable files and folders beside a path that is not there, and of ``others``, that are much like it."""
    there = sorted(path.parent.iterdir()) if path.parent.is_dir() and os.access(path.parent, os.R_OK) else []
    beside = [entry.name for entry in there if (entry.is_file() or entry.is_dir()) and not entry.name.startswith(".")]
    return difflib.get_close_matches(path.name, [*others, *beside], n=3, cutoff=0.6)


def dead_link(path: Path) -> str:
    """What is said of a link that leads nowhere or in a circle; nothing of other paths."""
    if not path.is_symlink() or path.exists():
        return ""
    return f"which is a link to {os.readlink(path)}, where there is nothing; mend the link, or give another path"


def _absent(path: Path, setting: str) -> str:
    near = similar_names(path)
    hint = f"did you mean {', '.join(near)}?" if near else "look for a misspelling, or give the full path"
    dead = dead_link(path)
    return f"{setting} must be a file or folder that exists, got {path}{f', {dead}' if dead else f'; {hint}'}"


@contextmanager
def open_plain(path: Path) -> Iterator[Readable]:
    """A file's content, unpacked if it is packed; the first bytes tell how, whatever the file's name."""
    refuse_special(path)
    with open(path, "rb") as file:
        start = file.read(6)
    try:
        if start.startswith(b"\x1f\x8b"):
            with gzip.open(path, "rb") as packed:
                yield packed
        elif start == b"\xfd7zXZ\x00":
            with lzma.open(path, "rb") as packed:
                yield packed
        elif start.startswith(b"BZh"):
            with bz2.open(path, "rb") as packed:
                yield packed
        elif start.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(archive, path)) as packed:
                yield packed
        else:
            with open(path, "rb") as plain:
                yield plain
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError) as error:
        if (
            isinstance(error, OSError) and error.errno is not None
        ):  # the disk's, not that of gzip and bz2 about their data
            raise
        raise ValueError(
            f"a packed file must be whole, got {path.name} which is damaged ({_said(error)}); copy it again"
        ) from error


def _said(error: Exception) -> str:
    """What is wrong with a packed file, in some words."""
    return "it ends too early" if isinstance(error, EOFError) else str(error)[:80] or type(error).__name__


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    # Archives carry notes beside the data; by custom those begin with an underscore or a dot.
    names = [name for name in archive.namelist() if not name.endswith("/")]
    data = [name for name in names if not name.rsplit("/", 1)[-1].startswith(("_", ".")) and not name.startswith("__")]
    if len(data) != 1:
        listed = ", ".join(data[:5]) + (", ..." if len(data) > 5 else "")
        raise ValueError(
            f"a zip must hold one data file, got {len(data)} in {path.name} ({listed or 'none'}); "
            "unpack it and give the file or folder that you want"
        )
    return data[0]


def expect_encoding(encoding: str) -> None:
    """An encoding must be one that Python knows and that makes text."""
    try:
        "a".encode(encoding)
    except LookupError:
        known = ("utf-8", "latin-1", "cp1252", "utf-16", "shift_jis", "gb18030", "big5", "euc_kr", "koi8-r", "ascii")
        near = difflib.get_close_matches(encoding, known, n=3, cutoff=0.3) or known[:4]
        raise ValueError(
            f"encoding must be a text encoding that Python knows, got {encoding!r}; try {' or '.join(near)}"
        ) from None


def expect_text(start: bytes, encoding: str, name: str) -> None:
    """The first bytes of a file must look like text."""
    for signature, what in _BINARY.items():
        if start.startswith(signature):
            raise ValueError(f"the text must be a text file, got {name} which is {what}; extract its text first")
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    if wide:
        return
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError(f'the text must be {encoding}, got {name} which begins as UTF-16 does; pass encoding="utf-16"')
    controls = len(start) - len(start.translate(None, _CONTROL))
    if b"\0" in start or controls > 0.05 * len(start):
        raise ValueError(
            f"the text must be a text file, got {name} which holds {controls:,} control bytes in its first "
            f'{len(start):,}; give a text file, or declare its encoding (for instance encoding="utf-16")'
        )


def read_pieces(stream: Readable, encoding: str, name: str) -> Iterator[str]:
    """The text of a stream, piece by piece."""
    # utf-8-sig is utf-8 that drops a byte-order mark
    codec = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    decoder = codecs.getincrementaldecoder(codec)()
    lines = io.IncrementalNewlineDecoder(None, translate=True)
    consumed, line = 0, 1
    while True:
        piece = stream.read(PIECE)
        if consumed == 0:
            expect_text(piece, encoding, name)
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            position = consumed - waiting + error.start
            line += error.object[: error.start].count(b"\n")
            raise ValueError(
                f"the text must be {encoding}, got byte 0x{error.object[error.start]:02x} at position {position:,}, in "
                f'line {line:,} of {name}; declare its encoding, for instance encoding="cp1252"'
            ) from error
        text = lines.decode(text, final=not piece)
        if text:
            line += text.count("\n")
            yield text
        if not piece:
            return
        consumed += len(piece)


@dataclass(frozen=True)
class TextSource:
    """Text to be read, as often as needed: from files, or held in memory."""

    name: str
    fingerprint: Fingerprint
    pieces: Callable[[], Iterator[str]]
    encoding: str = "utf-8"
    files: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def from_text(cls, text: str, name: str = "text") -> "TextSource":
        content = text.encode()
        return cls(name, fingerprint_bytes(content), lambda: read_pieces(io.BytesIO(content), "utf-8", name))

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        encoding: str = "utf-8",
        pattern: str = "*",
        known: Fingerprint | None = None,
    ) -> "TextSource":
        """The text of a file, or of the files of a folder one after another, each beginning on a new line."""
        expect_encoding(encoding)
        files = find_files(path, pattern)

        def pieces() -> Iterator[str]:
            last = "\n"
            for name, file in files.items():
                with open_plain(file) as stream:
                    for i, text in enumerate(read_pieces(stream, encoding, name)):
                        if i == 0 and last != "\n":
                            yield "\n"
                        last = text[-1]
                        yield text

        return cls(Path(path).name or str(path), refresh(known, files), pieces, encoding, files)

    def expect_unchanged(self) -> None:
        """The files must not have changed since their fingerprint was taken."""
        if tuple(stamp(name, path) for name, path in self.files.items()) != self.fingerprint.files:
            raise ValueError(
                f"the text must not change while it is read, got {self.name} which did; begin again when it is written"
            )


__all__ = [
    "PIECE",
    "TextSource",
    "dead_link",
    "expect_encoding",
    "expect_text",
    "find_files",
    "open_plain",
    "read_pieces",
    "refuse_special",
    "similar_names",
]
