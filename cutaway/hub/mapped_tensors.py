r"""The tensors of a checkpoint, mapped from their files: no weight is copied, and none is read before it is used.

A mapped tensor is memory of the system's file cache. Changing it (training) copies the page that is changed, never the
file. Tensors that are asked for together and lie one behind the other in the file are one mapped tensor; others are
read from the file straight into their place, so that no second copy of them is held.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from cutaway.atomic_files import parse_json
from cutaway.hub.checkpoint_files import tensor_files

FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_BLOCK = 1 << 19  # bytes that are checked at once: they stay in the processor's cache


class Stored(NamedTuple):
    """Where a tensor is: its file, its name there, its shape and kind of number, its first byte and its bytes."""

    path: Path
    name: str
    shape: tuple[int, ...]
    kind: str
    start: int
    size: int

    @property
    def dtype(self) -> torch.dtype:
        return FLOATS[self.kind]


class Tensors:
    """The tensors of a folder. Pickles are refused: loading one runs whatever code is in it."""

    def __init__(self, folder: Path) -> None:
        files = tensor_files(folder)
        self.stored = {modern_name(at.name): at for path in files for at in read_header(path)}
        self._mapped = {path: torch.UntypedStorage.from_file(str(path), False, path.stat().st_size) for path in files}

    def __getitem__(self, name: str) -> Tensor:
        return self.take((name,))

    def take(self, names: Sequence[str]) -> Tensor:
        """One tensor, or several under one another: along their first axis, in the order asked for."""
        parts = [self.stored[name] for name in names]
        first, last = parts[0], parts[-1]
        dtype = first.dtype
        if any(part.dtype != dtype for part in parts):
            return torch.cat([self[name] for name in names])  # in the kind of number that holds all
        shape = first.shape if len(parts) == 1 else (sum(part.shape[0] for part in parts), *first.shape[1:])
        together = all(b.path == a.path and b.start == a.start + a.size for a, b in pairwise(parts))
        if together and first.start % dtype.itemsize == 0:
            bytes_there = self._mapped[first.path][first.start : last.start + last.size]
            return torch.empty(0, dtype=dtype).set_(bytes_there).view(shape)
        found = torch.empty(shape, dtype=dtype)
        place = _bytes(found)
        for part in parts:
            with open(part.path, "rb") as file:
                file.seek(part.start)
                count = file.readinto(place[: part.size])
            assert count == part.size, f"{part.path} changed while it was read"
            place = place[part.size :]
        return found

    def is_finite(self, name: str) -> bool:
        """Whether no entry is NaN or infinite. The file is read in blocks: nothing of it stays in memory."""
        at = self.stored[name]
        if at.size == 0:
            return True
        block = torch.empty(min(at.size, _BLOCK) // at.dtype.itemsize, dtype=at.dtype)
        place = _bytes(block)
        left = at.size
        with open(at.path, "rb", buffering=0) as file:
            file.seek(at.start)
            while left:
                count = file.readinto(place[: min(left, len(place))])
                if not count or not all_finite(block[: count // at.dtype.itemsize]):
                    return False
                left -= count
        return True


def _bytes(x: Tensor) -> memoryview:
    """The memory of a tensor, to read into."""
    return memoryview(cast(Any, x.view(-1).view(torch.uint8).numpy()))


def all_finite(x: Tensor) -> bool:
    """Whether no entry of a vector is NaN or infinite."""
    if x.dtype in (torch.float32, torch.float64):
        # Any such entry makes x · x one too, and nothing is faster than a product; squares may also grow too large.
        values = x.numpy()
        with np.errstate(all="ignore"):
            if np.isfinite(np.dot(values, values)):
                return True
    return bool(x.isfinite().all())


def read_header(path: Path) -> list[Stored]:
    """What a safetensors file holds; the library checks that it is whole."""
    size = path.stat().st_size
    try:
        with safe_open(path, framework="pt"):
            pass
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path.name} must be a whole safetensors file, got {size} bytes that do not read ({error}); "
            "it may be cut short: download it again"
        ) from None
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = parse_json(file.read(length))
    found = []
    for name, told in header.items():
        if name != "__metadata__":
            start, end = told["data_offsets"]
            found.append(Stored(path, name, tuple(told["shape"]), told["dtype"], 8 + length + start, end - start))
            assert told["dtype"] not in FLOATS or end - start == prod(told["shape"]) * FLOATS[told["dtype"]].itemsize
    return found


def modern_name(name: str) -> str:
    """Norms of the first BERT checkpoints have a gamma and a beta."""
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(f"Norm{old}"):
            return name.removesuffix(old) + new
    return name


__all__ = ["FLOATS", "Stored", "Tensors", "modern_name"]
