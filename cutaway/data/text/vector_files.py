r"""Word vectors in files: word2vec's text and binary formats, GloVe's text without a header, and .npy with words.txt.

    word2vec text      "N D" in the first line, then a line for each word: the word and D numbers, with spaces between
    GloVe text         the same without the first line
    word2vec binary    "N D" in the first line, then for each word: its letters, a space, D numbers of float32
    .npy               the matrix; its words, one a line in the order of the rows, in words.txt beside it

Files may be packed (gz, xz, bz2). Mikolov et al. 2013 (word2vec's `-binary 0 | 1`); Pennington et al. 2014 (GloVe).
"""

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Float, Float32

from cutaway.atomic_files import writing
from cutaway.data.files import PIECE, expect_encoding, find_files, open_plain

_PACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
}
_LONGEST_WORD = 10_000  # bytes; a longer one means that the file is damaged
_WIDEST = 1 << 20  # numbers of a vector


class Vectors(NamedTuple):
    """Words, each once, and their vectors: row i of the matrix is the vector of word i."""

    words: list[str]
    matrix: Float32[np.ndarray, "n d"]


class _Entry(NamedTuple):
    """A word of a file: where it stands, its bytes, and its numbers when they are asked for."""

    place: str
    word: bytes
    numbers: Callable[[], np.ndarray]


def read_vectors(
    path: str | os.PathLike[str], words: Collection[str] | None = None, encoding: str = "utf-8"
) -> Vectors:
    """The vectors of a file in any of these formats; with ``words``, of those words alone, in the order of the file.

    Of a word that is there twice, the first vector counts.
    """
    expect_encoding(encoding)
    file = _only_file(path)
    with open_plain(file) as stream:
        start = stream.read(PIECE)
    width, entries = _reader_for(start, file)(file, start)
    wanted = None if words is None else frozenset(words)
    rows: dict[str, np.ndarray] = {}
    for entry in entries:
        word = _decode(entry, encoding)
        if word in rows or (wanted is not None and word not in wanted):
            continue
        row = entry.numbers()
        if not np.isfinite(row).all():
            odd = row[~np.isfinite(row)][0]
            raise ValueError(f"vectors must be of finite numbers, got {odd} in {entry.place}; leave that word out")
        rows[word] = row
    matrix = np.stack(list(rows.values())) if rows else np.empty((0, width), np.float32)
    return Vectors(list(rows), matrix)


def _only_file(path: str | os.PathLike[str]) -> Path:
    files = find_files(path, setting="vectors")
    if len(files) != 1:
        raise ValueError(f"vectors must be one file, got {path} with {len(files)}; give the file itself")
    return next(iter(files.values()))


def _reader_for(start: bytes, file: Path) -> Callable[[Path, bytes], tuple[int, Iterator[_Entry]]]:
    if not start.strip():
        raise ValueError(f"a file of vectors must hold at least one word, got {file}, which is empty; copy it again")
    if start.startswith(b"\x93NUMPY"):
        return _read_npy
    return _read_binary if _header(start) is not None and _is_binary(start) else _read_text


def _header(start: bytes) -> tuple[int, int] | None:
    """How many vectors, and how wide, if the first line says so."""
    fields = start.split(b"\n", 1)[0].split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _is_binary(start: bytes) -> bool:
    """Whether numbers follow the first line as bytes; written as text they hold no control byte."""
    body = start.split(b"\n", 1)[-1]
    return any(byte < 32 and byte not in b"\t\n\r\v\f" for byte in body)


def _decode(entry: _Entry, encoding: str) -> str:
    try:
        return entry.word.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"words must be {encoding}, got byte 0x{entry.word[error.start]:02x} in {entry.place}; declare their "
            'encoding, for instance encoding="latin-1"'
        ) from None


def _read_text(file: Path, start: bytes) -> tuple[int, Iterator[_Entry]]:
    header = _header(start)
    first = start.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    count, width = (None, len(first.split()) - 1) if header is None else header
    if width < 1:
        shown = first[:40].decode("utf-8", "replace")
        raise ValueError(
            f"a line of vectors must be a word and its numbers, got {shown!r} as line 1 of {file}; give a file in "
            "word2vec's or GloVe's format"
        )

    def entries() -> Iterator[_Entry]:
        found = 0
        with open_plain(file) as stream:
            for number, line in enumerate(_lines(stream), 1):
                if (number == 1 and header is not None) or not line.strip():
                    continue
                found += 1
                yield _text_entry(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, width, number, file)
        _expect_count(found, count, file)

    return width, entries()


def _lines(stream: Any) -> Iterator[bytes]:
    # A word may hold any sign but a space or a line end, so lines end at "\n" alone.
    return iter(stream.readline, b"")


def _text_entry(line: bytes, width: int, number: int, file: Path) -> _Entry:
    place = f"line {number:,} of {file}"
    fields = line.rstrip(b" \t\r\n").rsplit(None, width)  # from the right: GloVe has words with spaces
    if len(fields) == width + 1 and _is_number(fields[0].rsplit(None, 1)[-1]) and b" " in fields[0]:
        fields = line.split()  # numbers where a word should end: a longer vector
    if len(fields) != width + 1:
        raise ValueError(
            f"vectors must be of one width, got {len(line.split()) - 1} numbers where {width} should be in {place}; "
            "mend that line or copy the file again"
        )

    def numbers() -> np.ndarray:
        try:
            return np.array([float(field) for field in fields[1:]], np.float32)
        except ValueError:
            odd = next(field for field in fields[1:] if not _is_number(field)).decode("utf-8", "replace")
            raise ValueError(
                f"a vector must be of numbers, got {odd[:40]!r} in {place}; mend that line or copy the file again"
            ) from None

    return _Entry(place, fields[0], numbers)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _expect_count(found: int, count: int | None, file: Path) -> None:
    if count is not None and found != count:
        raise ValueError(
            f"a file must hold as many vectors as its first line says, got {found:,} of {count:,} in {file}; copy it "
            "again"
        )


def _read_binary(file: Path, start: bytes) -> tuple[int, Iterator[_Entry]]:
    header = _header(start)
    assert header is not None
    count, width = header
    if not 1 <= width <= _WIDEST:
        raise ValueError(f"vectors must have 1 to {_WIDEST:,} numbers, got {width:,} by the first line of {file}")

    def entries() -> Iterator[_Entry]:
        with open_plain(file) as stream:
            reader: Any = stream
            reader.readline()
            for found in range(count):
                word, numbers = _read_word(reader), reader.read(4 * width)
                if len(word) > _LONGEST_WORD:
                    raise ValueError(
                        f"a word must end in a space, got {_LONGEST_WORD:,} bytes without one as word {found + 1:,} of "
                        f"{file}; copy the file again"
                    )
                if len(numbers) < 4 * width:
                    _expect_count(found, count, file)
                yield _Entry(f"word {found + 1:,} of {file}", word, partial(np.frombuffer, numbers, "<f4"))
            if rest := reader.read(PIECE).strip():
                raise ValueError(
                    f"a file must hold as many vectors as its first line says, got {len(rest):,} bytes or more after "
                    f"the last of {count:,} in {file}; copy it again"
                )

    return width, entries()


def _read_word(reader: Any) -> bytes:
    """The bytes up to the next space. Some writers end every vector with a line end, which belongs to no word."""
    letters = bytearray()
    while (letter := reader.read(1)) not in (b" ", b"") and len(letters) <= _LONGEST_WORD:
        letters += letter
    return bytes(letters).lstrip(b"\n")


def _read_npy(file: Path, start: bytes) -> tuple[int, Iterator[_Entry]]:
    with open_plain(file) as stream:
        content = io.BytesIO(b"".join(iter(lambda: stream.read(1 << 22), b"")))
    try:
        matrix = np.load(content, allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"a .npy file must hold a plain array, got {file} ({error}); save it again") from None
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise ValueError(
            f"a matrix of vectors must be of floats, (words, numbers), got {matrix.dtype} of shape {matrix.shape} in "
            f"{file}; save it as float32"
        )
    words_file = _words_beside(file)
    with open_plain(words_file) as stream:
        words = b"".join(iter(lambda: stream.read(PIECE), b"")).removesuffix(b"\n").split(b"\n")
    if len(words) != len(matrix):
        raise ValueError(
            f"words must be as many as the rows of the matrix, got {len(words):,} lines in {words_file} for "
            f"{len(matrix):,} rows of {file}; save both from one model"
        )
    entries = (
        _Entry(f"row {i + 1:,} of {file}", word.rstrip(b"\r"), partial(matrix[i].astype, np.float32))
        for i, word in enumerate(words)
    )
    return matrix.shape[1], entries


def _words_beside(file: Path) -> Path:
    stem = file.name.split(".npy", 1)[0]
    names = [f"{name}{end}" for name in (f"{stem}.words.txt", "words.txt") for end in ("", *_PACKERS)]
    for name in names:
        if (file.parent / name).is_file():
            return file.parent / name
    raise ValueError(
        f"a matrix of vectors needs its words in words.txt beside it, one a line, got {file} alone; write that file"
    )


def write_vectors(
    path: str | os.PathLike[str], words: Sequence[str], matrix: Float[np.ndarray, "n d"], header: bool = True
) -> Path:
    """Writes vectors as the name says: .txt or .vec as text, .bin as word2vec's binary; .gz, .xz or .bz2 packs it.

    ``header=False`` leaves out the first line of a text, as GloVe does.
    """
    path = Path(path)
    pack = _PACKERS.get(path.suffix.lower())
    kind = (path.with_suffix("") if pack else path).suffix.lower()
    if kind not in (".txt", ".vec", ".bin"):
        raise ValueError(f"vectors are written as .txt, .vec or .bin, or one of these with .gz, got {path}; rename it")
    if len(words) != len(matrix):
        raise ValueError(
            f"words must be as many as vectors, got {len(words):,} for {len(matrix):,}; pass the same rows"
        )
    for word in words:
        if not word or word.split() != [word]:
            raise ValueError(
                f"a word in a file of vectors must have letters and no space, got {word!r}; join its parts by _"
            )
    rows = np.ascontiguousarray(matrix, "<f4")
    with writing(path) as file:
        packed = pack(file) if pack else file
        if header or kind == ".bin":
            packed.write(b"%d %d\n" % rows.shape)
        for word, row in zip(words, rows):
            numbers = row.tobytes() if kind == ".bin" else " ".join(row.astype(str).tolist()).encode()
            packed.write(word.encode() + b" " + numbers + b"\n")
        if pack:
            packed.close()
    return path


__all__ = ["Vectors", "read_vectors", "write_vectors"]
