r"""Cutting a long text into pieces that can be tokenised one by one."""

import re
from collections.abc import Iterable, Iterator

# Text may be cut before a space so that its parts have the ids of the whole: no token of the tokenizers in use reaches
# from a letter or sign over a space. Before a line end will do for ours, if there is no space.
_CUTS = (re.compile(r"(?<=\S) (?=\S)"), re.compile(r"(?<=\S)[ \n\t]"))
_UNBROKEN = re.compile(r"\S{256}|\s{256}")
_SHORTEST, _LONGEST = 1 << 16, 1 << 22  # characters; text without a space or line end is cut at the latter


def cut_safely(pieces: Iterable[str]) -> Iterator[str]:
    """The same text in other pieces, cut only where no token can reach across."""
    waiting = ""
    for piece in pieces:
        waiting += piece
        while len(waiting) > _SHORTEST:
            place = _cut(waiting)
            if place is None:
                break
            yield waiting[:place]
            waiting = waiting[place:]
    if waiting:
        yield waiting


def _cut(text: str) -> int | None:
    for pattern in _CUTS:
        found = pattern.search(text, _SHORTEST)
        if found and found.end() < len(text):
            return found.start()
    return _LONGEST if len(text) > _LONGEST else None


def short_stretches(pieces: Iterable[str]) -> Iterator[str]:
    """The same text, with long stretches of no spaces, or of spaces alone, cut into short ones.

    For learning a BPE alone: the time that it takes grows with the square of the longest stretch, and a few hundred
    characters of one show as many neighbours as a million. Text with spaces stays as it is.
    """
    for piece in pieces:
        place = 0
        for found in _UNBROKEN.finditer(piece):
            yield piece[place : found.end()]
            place = found.end()
        if place < len(piece):
            yield piece[place:]


def batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Texts in lists of ``size``, the last as long as is left."""
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


__all__ = ["batched", "cut_safely", "short_stretches"]
