r"""idx files, the form of MNIST and its kin: a head of big-endian numbers, then the values.

    0 0 type dimensions | size of each dimension, 4 bytes each | values       type 8: bytes

Images and their labels are two files, told apart by their names: train-images-idx3-ubyte and train-labels-idx1-ubyte;
t10k-… or test-… are the test set. Either may be packed (gz, xz, bz2). http://yann.lecun.com/exdb/mnist
"""

import math
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cutaway.data.files import open_plain

_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_NAME = re.compile(r"(.*?)[-_. ]?(images|labels)[-_.]?idx[13].*", re.IGNORECASE)
_TEST = re.compile(r"(t10k|test)", re.IGNORECASE)


def read_idx(path: Path) -> np.ndarray:
    """The array of an idx file."""
    with open_plain(path) as file:
        head = file.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _TYPES or not 1 <= head[3] <= 4:
            raise ValueError(
                f"an idx file must begin with its type and number of dimensions, got {head.hex()} in {path.name}; "
                "copy it again, or rename it if it is another kind of file"
            )
        shape = tuple(int.from_bytes(file.read(4), "big") for _ in range(head[3]))
        kind = np.dtype(_TYPES[head[2]])
        wanted = math.prod(shape) * kind.itemsize
        pieces, size = [], 0
        while size <= wanted and (piece := file.read(min(1 << 22, wanted + 1 - size))):
            pieces.append(piece)
            size += len(piece)
    if size != wanted:
        told = "more" if size > wanted else f"{size:,}"
        raise ValueError(
            f"an idx file must hold what its head says, got {path.name} with {told} bytes for {wanted:,} of "
            f"{' × '.join(map(str, shape))} values; copy it again"
        )
    return np.frombuffer(b"".join(pieces), kind).reshape(shape)


def is_idx(path: Path) -> bool:
    """Whether a file is called like one of idx images or labels."""
    return _NAME.fullmatch(path.name) is not None


def find_pairs(files: Iterable[Path]) -> dict[str, dict[str, Path]]:
    """Part ("train" or "test") → "images" and "labels" → the file, of files that are called so."""
    found: dict[str, dict[str, Path]] = {}
    for path in files:
        name = _NAME.fullmatch(path.name)
        if name is None:
            continue
        part = "test" if _TEST.match(name[1]) else "train"
        kind = name[2].lower()
        before = found.setdefault(part, {}).setdefault(kind, path)
        if before != path:
            raise ValueError(
                f"a folder of idx files must hold one file of {kind} for {part}, got {before.name} and {path.name}; "
                "keep one of them"
            )
    for part, pair in found.items():
        if "images" not in pair:
            raise ValueError(
                f"labels come with images, got {pair['labels'].name} without the file of images for {part}; "
                f"put {pair['labels'].name.replace('labels', 'images').replace('idx1', 'idx3')} beside it"
            )
    return found


__all__ = ["find_pairs", "is_idx", "read_idx"]
