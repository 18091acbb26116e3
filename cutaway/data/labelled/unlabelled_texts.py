r"""Texts without labels, one after another: the lines of a file, or a column of a table.

    texts.txt               one text a line; an empty line is an empty text, so that line i is text i
    reviews.csv, .parquet   the column of texts

Lines are read as they are needed, so that a file may be larger than memory, and so may a line: of one that has more
than a million characters the first million are kept.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cutaway.data.checks import nearest
from cutaway.data.files import expect_encoding, find_files, open_plain, read_pieces
from cutaway.data.labelled.labelled_columns import find_text
from cutaway.data.tables.endings import is_text_table
from cutaway.data.tables.text_tables import read_columns

LONGEST = 1_000_000  # characters of a line


def read_texts(
    path: str | os.PathLike[str], column: str = "", encoding: str = "utf-8", setting: str = "texts"
) -> Iterator[str]:
    """The texts of a file; ``column`` names that of a table (default: found by its name, else by its contents).

    ``setting`` is what the path is called where there is no such file.
    """
    expect_encoding(encoding)
    file = Path(path).expanduser()
    if not file.is_file():
        if file.is_dir():
            raise ValueError(f"{setting} must be a file, got the folder {path}; give a file in it")
        find_files(path, setting=setting)  # says what may be meant
    if column or not has_lines(file):
        return _column(file, column, encoding)
    return read_lines(file, encoding)


def has_lines(data: Any) -> bool:
    """Whether some data is a file of lines: one whose name is not that of a table."""
    if not isinstance(data, (str, os.PathLike)):
        return False
    return not is_text_table(data)


def _column(file: Path, column: str, encoding: str) -> Iterator[str]:
    columns = read_columns(file, encoding)
    if column and column not in columns:
        raise ValueError(
            f"column must be one of {file.name}, which has {', '.join(map(repr, columns))}, got {column!r}; "
            f"try column={nearest(column, columns, 1)!r}"
        )
    return iter(columns[column or find_text(columns)])


def read_lines(file: Path, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a text file, without their ends."""
    with open_plain(file) as stream:
        line = ""
        for piece in read_pieces(stream, encoding, file.name):
            first, *others = piece.split("\n")
            line = (line + first)[:LONGEST]
            for other in others:
                yield line
                line = other[:LONGEST]
        if line:  # after the last line end there is no line, if nothing follows it
            yield line


__all__ = ["LONGEST", "has_lines", "read_lines", "read_texts"]
