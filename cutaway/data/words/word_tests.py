r"""Tests of word vectors in files: pairs of words with the similarity that people gave them, and analogies.

    similarity      a line for each pair: word, word, number (between tabs, commas or spaces); # begins a note
    analogies       ": section" lines, and lines of four words: Athens Greece Baghdad Iraq

WordSim-353 (Finkelstein et al. 2002), SimLex-999 (Hill et al. 2015), questions-words.txt (Mikolov et al. 2013).
"""

import os
from pathlib import Path
from typing import NamedTuple

from cutaway.data.files import TextSource


class RatedPair(NamedTuple):
    """Two words and how alike they are to people."""

    first: str
    second: str
    rating: float


class Analogy(NamedTuple):
    """a is to b as c is to d."""

    a: str
    b: str
    c: str
    d: str
    section: str = ""


def read_rated_pairs(path: str | os.PathLike[str]) -> list[RatedPair]:
    """The pairs of a file; a first line without a number is taken for names of columns."""
    found: list[RatedPair] = []
    lines = _lines(path)
    for number, line in lines:
        fields = [field.strip() for field in line.split("\t" if "\t" in line else "," if "," in line else None)]
        try:
            found.append(RatedPair(fields[0], fields[1], float(fields[2])))
        except (ValueError, IndexError):
            if number != lines[0][0]:
                raise ValueError(
                    f"a pair must be two words and a number, got {line[:60]!r} in line {number} of {path}; mend it"
                ) from None
    if len(found) < 2:
        raise ValueError(f"a test of similarity needs at least two pairs of words, got {len(found)} in {path}")
    return found


def read_analogies(path: str | os.PathLike[str]) -> list[Analogy]:
    """The analogies of a file, with their sections."""
    found: list[Analogy] = []
    section = ""
    for number, line in _lines(path):
        fields = line.split()
        if fields[0].startswith(":"):
            section = line.removeprefix(":").strip()
        elif len(fields) == 4:
            found.append(Analogy(fields[0], fields[1], fields[2], fields[3], section))
        else:
            raise ValueError(
                f"an analogy must be four words, got {line[:60]!r} in line {number} of {path}; mend that line"
            )
    if not found:
        raise ValueError(f"a test of analogies needs at least one line of four words, got none in {path}")
    return found


def _lines(path: str | os.PathLike[str]) -> list[tuple[int, str]]:
    if not Path(path).expanduser().is_file():
        raise ValueError(f"a test of word vectors must be a file, got {os.fspath(path)!r}; look for a misspelling")
    lines = "".join(TextSource.from_path(path).pieces()).split("\n")
    found = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not found:
        raise ValueError(f"a test of word vectors must hold lines, got {path}, which is empty; copy it again")
    return found


__all__ = ["Analogy", "RatedPair", "read_analogies", "read_rated_pairs"]
