r"""The vectors of many texts or images of a run: piece by piece, into a file, and searched for the nearest.

x_i = embed(item_i)                     piece by piece: a file may be larger than memory
nearest(q)                              the items with the largest cosine x_i·q / (‖x_i‖ ‖q‖)
"""

import csv
import io
import json
import shutil
import sys
import tempfile
import time
import warnings
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from cutaway.atomic_files import writing
from cutaway.look.embeddings.vector_index import VectorIndex
from cutaway.models.transformers.sentence_vectors import CutTexts
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.verbs.embed import embed, items_to_embed
from cutaway.visible_text import raw_stream

if TYPE_CHECKING:
    from cutaway.runs.run import Run

FORMATS = (".npy", ".npz", ".csv", ".safetensors")
_ROOM = 256  # bytes of a safetensors header, of which the length must be known before the number of rows is
_PAUSE = 0.5  # seconds between two lines of progress in a terminal
_SILENCE = 20.0  # seconds between two in a file
_DIGITS = "%.9g"  # as many as tell any two numbers of single precision apart


class EmbeddedPiece(NamedTuple):
    """Some items by their names (of a text the text itself), and their vectors (n, width)."""

    names: list[str]
    vectors: np.ndarray


def embed_pieces(run: "Run", source: str, column: str = "", encoding: str = "utf-8") -> Iterator[EmbeddedPiece]:
    """The vectors of all items of a source; texts that were cut and empty ones are told once, at the end."""
    empty, total = 0, 0
    with cut_texts_told_once():
        for names, inputs in items_to_embed(run, source, column, encoding):
            vectors = embed(run, inputs).float().cpu().numpy()
            empty, total = empty + sum(not name.strip() for name in names), total + len(names)
            yield EmbeddedPiece(names, vectors)
    if not total:
        raise ValueError(f"texts must come one a line, got {source}, which has none; give a file with lines")
    if empty:
        warnings.warn(
            f"{empty:,} of {total:,} lines of {source} are empty: their vectors are those of an empty text",
            stacklevel=2,
        )


@contextmanager
def cut_texts_told_once() -> Iterator[None]:
    """Inside, warnings of texts that were cut are counted; one for all follows. Others pass as they are."""
    cut = total = most = 0
    shown = warnings.showwarning

    def count(message: Any, *rest: Any, **more: Any) -> None:
        nonlocal cut, total, most
        if isinstance(message, CutTexts):
            cut, total, most = cut + message.cut, total + message.total, message.most
        else:
            shown(message, *rest, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CutTexts)
        warnings.showwarning = count
        yield
    if cut:
        warnings.warn(CutTexts(cut, total, most), stacklevel=3)


def write_vectors(path: Path, pieces: Iterable[EmbeddedPiece]) -> tuple[int, int]:
    """Writes vectors to a file by its ending, piece by piece; returns how many there are, and how wide."""
    with writing(path) as file:
        if path.suffix.lower() == ".npy":
            return _write_npy(file, pieces)
        if path.suffix.lower() == ".npz":
            return _write_npz(path, file, pieces)
        if path.suffix.lower() == ".csv":
            return _write_csv(file, pieces)
        return _write_safetensors(file, pieces)


def _write_npy(file: BinaryIO, pieces: Iterable[EmbeddedPiece]) -> tuple[int, int]:
    """The header is written again at the end, when the number of rows is known: NumPy leaves room for it."""
    count = width = 0
    for names, vectors in pieces:
        if not count:
            width = vectors.shape[1]
            _npy_header(file, (0, width))
        file.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        count += len(names)
    file.seek(0)
    _npy_header(file, (count, width))
    file.seek(0, io.SEEK_END)
    return count, width


def _npy_header(file: BinaryIO, shape: tuple[int, int]) -> None:
    about = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def _write_csv(file: BinaryIO, pieces: Iterable[EmbeddedPiece]) -> tuple[int, int]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    sizes = print_csv(text, pieces)
    text.detach()
    return sizes


def print_csv(stream: Any, pieces: Iterable[EmbeddedPiece]) -> tuple[int, int]:
    """A line for each item: the text, and its numbers."""
    writer, count, width = csv.writer(stream, lineterminator="\n"), 0, 0
    for names, vectors in pieces:
        if not count:
            width = vectors.shape[1]
            writer.writerow(["text", *(f"v{i}" for i in range(width))])
        writer.writerows([name, *(_DIGITS % x for x in row)] for name, row in zip(names, vectors.tolist()))
        count += len(names)
    return count, width


def _write_safetensors(file: BinaryIO, pieces: Iterable[EmbeddedPiece]) -> tuple[int, int]:
    """As .npy: the header has room for any number of rows, and is written again at the end."""
    count = width = 0
    file.write(_safetensors_header(0, 0))
    for names, vectors in pieces:
        file.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        count, width = count + len(names), vectors.shape[1]
    file.seek(0)
    file.write(_safetensors_header(count, width))
    file.seek(0, io.SEEK_END)
    return count, width


def _safetensors_header(count: int, width: int) -> bytes:
    about = {"vectors": {"dtype": "F32", "shape": [count, width], "data_offsets": [0, 4 * count * width]}}
    return _ROOM.to_bytes(8, "little") + json.dumps(about).encode().ljust(_ROOM)


def _write_npz(path: Path, file: BinaryIO, pieces: Iterable[EmbeddedPiece]) -> tuple[int, int]:
    """Through a file without a name, as what is inside a zip cannot be written again; it goes with the process."""
    with tempfile.TemporaryFile(dir=path.parent) as beside, zipfile.ZipFile(file, "w") as packed:
        sizes = _write_npy(beside, pieces)
        beside.seek(0)
        with packed.open("vectors.npy", "w", force_zip64=True) as inside:
            shutil.copyfileobj(beside, inside, 1 << 20)
    return sizes


def joined(pieces: Iterable[EmbeddedPiece]) -> EmbeddedPiece:
    """All pieces as one; each is let go as soon as it is in its place, so that the vectors are in memory once."""
    names: list[str] = []
    parts: deque[np.ndarray] = deque()
    for some, vectors in pieces:
        names += some
        parts.append(vectors)
    whole, first = np.empty((len(names), parts[0].shape[1]), parts[0].dtype), 0
    while parts:
        part = parts.popleft()
        whole[first : first + len(part)] = part
        first += len(part)
    return EmbeddedPiece(names, whole)


def shown(pieces: Iterable[EmbeddedPiece]) -> Iterator[EmbeddedPiece]:
    """The same pieces, while how many there were is shown: in a terminal on one line, in a file now and then."""
    stream = raw_stream(sys.stderr)
    live, count, began = stream.isatty(), 0, time.monotonic()
    last, wrote = began, False
    try:
        for piece in pieces:
            yield piece
            count, now = count + len(piece.names), time.monotonic()
            if now - last >= (_PAUSE if live else _SILENCE):
                text = f"{count:,} vectors, {count / (now - began):,.0f} a second"
                stream.write(f"\r{text}\x1b[K" if live else f"{text}\n")
                stream.flush()
                last, wrote = now, True
    finally:
        if live and wrote:
            stream.write("\r\x1b[K")


def nearest_texts(
    run: "Run",
    question: str | Sequence[str],
    among: Sequence[str],
    k: int = 10,
    negative: str | Sequence[str] = (),
    approximate: bool = False,
) -> list[tuple[str, float]]:
    """The ``k`` texts nearest to a question, with their cosines, the nearest first."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}; try k=10")
    if not isinstance(question, str) or negative:
        raise ValueError("among texts one question is asked, a str, got several or negative ones; ask one by one")
    if isinstance(among, str) or not len(among):
        raise ValueError(f"among must be several texts, got {among!r}; try among=['a text', 'another']")
    index = build_index(run.embed(list(among)).float().cpu().numpy(), approximate)
    return search(run, question, list(among), index, k)


def build_index(vectors: np.ndarray, approximate: bool = False) -> VectorIndex:
    """The vectors, ready to be searched by cosine; vectors of zeros (texts without a token) are near to none."""
    return VectorIndex(vectors, kind="hnsw" if approximate else "exact")


def search(run: "Run", question: str, names: Sequence[str], index: VectorIndex, k: int) -> list[tuple[str, float]]:
    """The ``k`` names whose vectors are nearest to that of a question: a text, of images a path, of rows one of them.

    A row that is asked for by its name is not among the answers.
    """
    asked_item = find_method(run, "asked_item", with_run=False)
    place = None if asked_item is None else asked_item(question, names)
    asked = index.matrix[[place]] if place is not None else embed(run, [question]).float().cpu().numpy()
    if asked.shape[1] != index.matrix.shape[1]:
        raise ValueError(
            f"vectors must come from the model that is asked, got width {index.matrix.shape[1]} for a model of "
            f"{asked.shape[1]}; make them again by `cutaway embed`"
        )
    none = sum(not name.strip() for name in names) + (place is not None)  # an empty line is no answer
    found = index.search(asked[:1], min(k + none, len(names)))
    pairs = zip(found.rows[0].tolist(), found.scores[0].tolist())
    return [(names[i], float(score)) for i, score in pairs if names[i].strip() and i != place][:k]


def read_vectors(path: str) -> np.ndarray:
    """The vectors of a .npy, .npz or .safetensors file that `write_vectors` wrote."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise ValueError(f"vectors must be a file that `cutaway embed` wrote, got {path}, which is not there")
    try:
        if file.suffix.lower() == ".safetensors":
            from safetensors.numpy import load_file

            found = load_file(file)["vectors"]
        else:
            opened = np.load(file, mmap_mode="r", allow_pickle=False)
            found = opened["vectors"] if hasattr(opened, "files") else opened
    except Exception as error:  # either library has errors of its own
        raise ValueError(
            f"vectors must be .npy, .npz or .safetensors by `cutaway embed`, got {path} ({error})"
        ) from None
    if found.ndim != 2:
        raise ValueError(f"vectors must have shape (texts, width), got {found.shape} in {path}")
    return found


__all__ = [
    "FORMATS",
    "EmbeddedPiece",
    "build_index",
    "embed_pieces",
    "joined",
    "nearest_texts",
    "print_csv",
    "read_vectors",
    "search",
    "shown",
    "write_vectors",
]
