r"""Packs the data inside a page: it is compressed (deflate) and written as base64, which is safe in HTML.

The page unpacks it when it opens (assets/unpacking.js), by functions of every browser since 2023; nothing is fetched.
"""

import base64
import zlib

import numpy as np


def pack(data: bytes) -> str:
    """Bytes as text, about 4/3 of their deflated length.

    >>> pack(b"cutaway " * 1000) == pack(unpack(pack(b"cutaway " * 1000))), len(pack(b"cutaway " * 1000))
    (True, 60)
    """
    return base64.b64encode(zlib.compress(data, 6)).decode()


def unpack(text: str) -> bytes:
    """The bytes that were packed."""
    return zlib.decompress(base64.b64decode(text))


class Levels:
    """The colours of all pictures of a page, one byte a cell, one picture after the other.

    A picture that is there already is not stored again, nor is one that is the transpose of another: a weight and its
    transpose stand beside each other in every linear layer.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._starts: dict[bytes, int] = {}
        self._length = 0

    def add(self, levels: np.ndarray) -> tuple[int, bool]:
        """Where the picture begins, and whether it is stored transposed.

        >>> levels, matrix = Levels(), np.array([[1, 2], [3, 4]], dtype=np.uint8)
        >>> levels.add(matrix), levels.add(matrix.T)
        ((0, False), (0, True))
        """
        shape = str(levels.shape).encode()
        own, transposed = shape + levels.tobytes(), str(levels.T.shape).encode() + levels.T.tobytes()
        if own in self._starts:
            return self._starts[own], False
        if transposed in self._starts:
            return self._starts[transposed], True
        self._starts[own] = self._length
        self._parts.append(levels.tobytes())
        self._length += levels.size
        return self._starts[own], False

    def packed(self) -> str:
        """All of them, as the page holds them."""
        return pack(b"".join(self._parts))


__all__ = ["Levels", "pack", "unpack"]
