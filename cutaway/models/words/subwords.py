r"""Subwords: a word is the sum of itself and its pieces, so that a word never seen has a vector from its pieces.

    v(w) = z_w + Σ_{g in pieces of <w>} z_g          pieces: all stretches of 3 to 6 letters of "<where>": <wh, whe

Pieces share a fixed number of rows by a hash: FNV-1a, 32 bits, over UTF-8, as in fastText's program, whose pieces and
numbers these are. (fastText divides the sum by the number of its parts; its paper does not.)
Bojanowski et al. 2017, §3.2.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

SHORTEST, LONGEST = 3, 6  # characters of a piece
_START, _PRIME, _BITS = 2166136261, 16777619, 0xFFFFFFFF


def pieces(word: str, shortest: int = SHORTEST, longest: int = LONGEST) -> list[str]:
    """The stretches of ``shortest`` to ``longest`` characters of a word between < and >.

    >>> pieces("cat")
    ['<ca', '<cat', '<cat>', 'cat', 'cat>', 'at>']
    """
    text = f"<{word}>"
    return [text[i : i + n] for i in range(len(text)) for n in range(shortest, longest + 1) if i + n <= len(text)]


def hash_piece(piece: str) -> int:
    """FNV-1a of the UTF-8 bytes, each taken as a signed number, as fastText does."""
    h = _START
    for byte in piece.encode():
        signed = byte if byte < 128 else byte | 0xFFFFFF00
        h = ((h ^ signed) * _PRIME) & _BITS
    return h


def piece_rows(word: str, vocabulary: int, buckets: int) -> list[int]:
    """The rows of a word's pieces, which stand after those of the ``vocabulary`` whole words."""
    return [vocabulary + hash_piece(piece) % buckets for piece in pieces(word)]


def subword_table(words: Sequence[str], buckets: int) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "v"]]:
    """The rows that make up each word, one word after another, and where each word's rows begin."""
    rows: list[int] = []
    starts: list[int] = []
    for i, word in enumerate(words):
        starts.append(len(rows))
        rows += [i, *piece_rows(word, len(words), buckets)]
    return np.array(rows, np.int64), np.array(starts, np.int64)


__all__ = ["LONGEST", "SHORTEST", "hash_piece", "piece_rows", "pieces", "subword_table"]
