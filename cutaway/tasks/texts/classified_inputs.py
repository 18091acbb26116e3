r"""Texts to classify: one, several, the lines of a file, or the text column of a table."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutaway.data.checks import nearest
from cutaway.data.labelled.labelled_columns import find_text
from cutaway.data.tables.endings import is_text_table
from cutaway.data.tables.text_tables import read_columns
from cutaway.tasks.texts.text_inputs import as_texts, read_lines


def texts_to_classify(inputs: Any, columns: Sequence[str], encoding: str = "utf-8") -> list[str]:
    """The texts of what was given; of a table, those in the columns that training had, or in the one of texts."""
    if isinstance(inputs, os.PathLike):
        path = Path(inputs)
        if not is_text_table(path):
            return read_lines(os.fspath(path), encoding)
        return _of_table(read_columns(path, encoding), columns, path.name)
    if hasattr(inputs, "columns") or isinstance(inputs, dict):
        return _of_table(read_columns(inputs, encoding), columns, "a table in memory")
    return as_texts(inputs)


def _of_table(table: dict[str, list[str]], columns: Sequence[str], name: str) -> list[str]:
    if all(column in table for column in columns):
        chosen = tuple(columns)
    elif len(columns) == 1:
        chosen = (find_text(table),)
    else:
        missing = next(column for column in columns if column not in table)
        raise ValueError(
            f"texts must have the columns of training, got {name} without {missing!r}; the nearest of its "
            f"{len(table)} columns are: {nearest(missing, table)}"
        )
    return ["\n".join(filter(None, parts)) for parts in zip(*(table[one] for one in chosen), strict=True)]


__all__ = ["texts_to_classify"]
