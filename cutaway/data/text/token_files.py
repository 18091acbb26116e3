r"""Files of tokens, mapped into memory: a corpus may be as large as the disk, and costs the memory of a few windows."""

import mmap
import os
import weakref
from pathlib import Path

import numpy as np
from jaxtyping import Int, Integer

from cutaway.overriding import override

_RESIDENT = 32 << 20  # bytes: smaller files may be mapped whole, in memory like any array


def token_type(vocabulary: int) -> np.dtype:
    """The smallest unsigned type, of 16 or 32 bits, that holds every id."""
    return np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)


class Tokens:
    """A long row of token ids, in memory or mapped from a file. Slices are arrays; `windows` gathers many at once."""

    def __init__(self, ids: Integer[np.ndarray, "n"]) -> None:
        self.ids = ids
        self._file: int | None = None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], dtype: np.dtype) -> "Tokens":
        """Maps a file of ids, read only."""
        size = Path(path).stat().st_size
        if size == 0:  # an empty file cannot be mapped
            return cls(np.empty(0, dtype))
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        tokens = cls(np.frombuffer(mmap.mmap(file, 0, access=mmap.ACCESS_READ), dtype))
        if size > _RESIDENT and hasattr(os, "preadv"):
            tokens._file = file
            weakref.finalize(tokens, os.close, file)
        else:
            os.close(file)
        return tokens

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, part: slice) -> Integer[np.ndarray, "n"]:
        return self.ids[part]

    @override
    def __repr__(self) -> str:
        return f"Tokens({len(self.ids):,})"

    def windows(self, starts: Int[np.ndarray, "b"], length: int) -> Int[np.ndarray, "b {length}"]:
        """The ``length`` ids from each start, as int64."""
        if self._file is None:
            return self.ids[starts[:, None] + np.arange(length)].astype(np.int64)
        # Each touch of a mapped file brings in up to 2 MB around it, which count as memory of the process: random
        # windows would soon hold all of a large file. Reading them leaves the rest where it is, in the system's cache.
        rows = np.empty((len(starts), length), self.ids.dtype)
        for row, start in zip(rows, starts.tolist()):
            read = os.preadv(self._file, [row], start * row.itemsize)
            assert read == row.nbytes, (read, start, length)
        return rows.astype(np.int64)


__all__ = ["Tokens", "token_type"]
