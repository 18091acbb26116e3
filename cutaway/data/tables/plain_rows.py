r"""The rows of a large CSV text looked through as bytes, where it is plain: no quotes, no blank lines.

    every `width`-th mark (separator or end of line) is an end of line, and no other        ⇔  all rows are even

Fields that may be codes are picked by their first bytes and lengths, and only those are looked at one by one. Whatever
is not plain is left to the reader of csv_files.py, which goes row by row and has the words for what is wrong.
"""

import re
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int

LARGE = 1 << 20  # characters from which on it pays
_PIECE = 1 << 24  # bytes looked at together
_FIELDS = 1 << 18  # fields looked at together
_ZERO, _NINE = b"09"


def find_codes(text: str, separator: str, width: int, header: bool, code: re.Pattern[str]) -> set[int] | None:
    """The columns of a plain text in which a field is a ``code``; None where it is not plain, or rows are uneven."""
    if len(text) < LARGE or width < 2 or '"' in text or "\0" in text:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            return None
    found: set[int] = set()
    for number, piece in enumerate(_pieces(text.rstrip("\n").encode())):
        fields = _even_fields(piece, separator.encode()[0], width)
        if fields is None:
            return None
        starts, ends = fields
        first = 1 if header and not number else 0
        together = max(_FIELDS // len(starts), 1)  # columns
        for left in range(0, width, together):
            a, b = starts[first:, left : left + together], ends[first:, left : left + together]
            rows, columns = np.nonzero(_may_be_code(piece, a, b))
            places = zip((columns + left).tolist(), a[rows, columns].tolist(), b[rows, columns].tolist())
            for column, i, j in places:
                if column not in found and code.fullmatch(piece[i:j].decode(errors="replace").strip()):
                    found.add(column)
    return found


def _pieces(data: bytes) -> Iterator[bytes]:
    """Whole lines, about 16 MB together."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE)
        end = len(data) if end < 0 else end
        yield data[start:end] + b"\n"
        start = end + 1


def _even_fields(
    piece: bytes, separator: int, width: int
) -> tuple[Int[np.ndarray, "r w"], Int[np.ndarray, "r w"]] | None:
    """Where fields start and end; None if a row has not ``width`` of them."""
    b = np.frombuffer(piece, np.uint8)
    is_end = b == 10
    ends = np.flatnonzero(is_end | (b == separator))
    if len(ends) % width:
        return None
    closes = is_end[ends].reshape(-1, width)
    if not closes[:, -1].all() or closes[:, :-1].any():
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    return starts.reshape(-1, width), ends.reshape(-1, width)


def _may_be_code(piece: bytes, starts: Int[np.ndarray, "r c"], ends: Int[np.ndarray, "r c"]) -> Bool[np.ndarray, "r c"]:
    """Fields that are worth a look: long, dates by their looks, a zero or a plus first, or spaces about them."""
    b = np.frombuffer(piece, np.uint8)
    length = ends - starts
    last = len(b) - 1
    one, two, three = (b[np.minimum(starts + k, last)] for k in range(3))
    end = b[np.maximum(ends - 1, 0)]
    digit = (end >= _ZERO) & (end <= _NINE) & (length > 0)
    zero = (one == _ZERO) & (two >= _ZERO) & (two <= _NINE) & (length > 1)
    below = (one == ord("-")) & (two == _ZERO) & (three >= _ZERO) & (three <= _NINE) & (length > 2)
    day = (length == 8) & ((one == ord("1")) | (one == ord("2")))
    month = (length == 7) & (three == ord("."))
    sign = one == ord("+")
    return digit & ((length >= 16) | zero | below | day | month | sign) | (length > 0) & ((one == 32) | (end == 32))


__all__ = ["LARGE", "find_codes"]
