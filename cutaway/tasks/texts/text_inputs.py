r"""Texts to predict for: one, several, or the lines of a file."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from cutaway.data.files import TextSource, refuse_special
from cutaway.data.tables.endings import PACKED, TEXT_TABLES

# A single word that ends so is meant as a file.
_ENDINGS = (".txt", *TEXT_TABLES, ".conllu", ".conll", *PACKED)


def read_lines(source: str, encoding: str = "utf-8") -> list[str]:
    """The lines of a file that is there, a blank one as an empty text, so that line i is text i; else the text."""
    if not is_file(source):
        expect_text(source)
        return [source]
    lines = "".join(TextSource.from_path(source, encoding).pieces()).split("\n")
    if not any(line.strip() for line in lines):
        raise ValueError(f"texts must come one a line, got {source}, which has none; give a file with lines, or a text")
    if not lines[-1]:  # after the last line end there is no line
        lines.pop()
    return [line if line.strip() else "" for line in lines]


def first_line(source: str, encoding: str = "utf-8") -> str:
    """The first line of a file that is not blank; else the text itself."""
    return next(line for line in read_lines(source, encoding) if line or not is_file(source))


def is_file(source: str) -> bool:
    """Whether a text is the path of a file that is there."""
    try:
        return Path(source).expanduser().is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has: a text
        return False


def expect_text(source: str) -> None:
    """What is no file must be a text: a folder is none, nor is a single word that ends as files do."""
    path = Path(source).expanduser()
    try:
        folder = path.is_dir()
    except (OSError, ValueError):
        folder = False
    if folder:
        raise ValueError(f"texts must be a file or a text, got the folder {source}; give a file in it")
    with suppress(OSError):  # too long for a name
        refuse_special(path, "texts")
    if len(source.split()) == 1 and path.suffix.lower() in _ENDINGS:
        raise ValueError(
            f"a file of texts must be there, got {source!r}, which is not; look for a misspelling, or give a text of "
            "more than one word"
        )


def as_texts(inputs: Any) -> list[str]:
    """One text, the lines of a file given as a Path, or several texts."""
    if isinstance(inputs, str):
        return [inputs]
    if isinstance(inputs, os.PathLike):
        if not is_file(os.fspath(inputs)):
            raise ValueError(f"a path must lead to a file of texts, got {os.fspath(inputs)!r}; give a text as a str")
        return read_lines(os.fspath(inputs))
    if not isinstance(inputs, (list, tuple)) or not all(isinstance(text, str) for text in inputs):
        raise ValueError(f"texts must be a str, a list of them or the Path of a file, got {type(inputs).__name__}")
    return list(inputs)


__all__ = ["as_texts", "expect_text", "first_line", "is_file", "read_lines"]
