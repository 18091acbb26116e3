r"""The columns of a table as texts, whichever form it comes in: nothing is taken for a number or for missing.

CSV, TSV …        any separator, with a header or without, packed or not (csv_files.py)
Parquet, DataFrame, dict of columns
JSON lines        an object a row, or a JSON list of objects
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cutaway.atomic_files import parse_json
from cutaway.data.files import open_plain, read_pieces
from cutaway.data.tables.csv_files import CsvFormat, check_rows, find_layout, split_fields
from cutaway.data.tables.endings import JSON_LINES
from cutaway.data.tables.table_files import as_frame, is_parquet, open_table


def read_columns(table: Any, encoding: str = "utf-8") -> dict[str, list[str]]:
    """The columns of a table as text, whichever they are: CSV, TSV, JSON lines, Parquet, a DataFrame or a dict."""
    if not isinstance(table, (str, os.PathLike)):
        return frame_columns(as_frame(table))
    path = Path(table).expanduser()
    if is_parquet(path):
        return frame_columns(open_table(path, encoding))
    text = read_whole(path, encoding)
    if any(ending in path.name.casefold() for ending in JSON_LINES):
        return json_columns(text, path.name)
    layout, rows = text_rows(text, path.name, None)
    return {column: [row[i].strip() for row in rows] for i, column in enumerate(layout.names)}


def read_whole(path: Path, encoding: str) -> str:
    """The text of a file, packed or not."""
    with open_plain(path) as stream:
        return "".join(read_pieces(stream, encoding, path.name))


def text_rows(text: str, name: str, header: bool | None) -> tuple[CsvFormat, list[list[str]]]:
    """The rows of a table as they are written, nothing taken for a number or for missing."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise ValueError(f"a table must have a row, got {name}, which is empty; give one with rows")
    separator = None
    if "\t" in lines[0]:
        fields = [line.split("\t") for line in lines]
        # A tab hardly stands inside a text, so that quotes are often plain characters: '"so" charming' opens one that
        # nothing closes. Where every line has its fields and some quote stays open, no field is quoted.
        if len({len(row) for row in fields}) == 1:
            separator = "\t"
            if any(one.startswith('"') and not _is_closed(one) for row in fields for one in row):
                layout = find_layout(text.replace('"', "'"), name, "\t", header)
                return layout, fields[layout.header :]
    layout = find_layout(text, name, separator, header)
    if layout.separator == " " and any(len(line.split()) != len(layout.names) for line in lines[:1000]):
        raise ValueError(
            f"labelled texts need a column of texts and one of labels, got {name} with lines such as "
            f"{lines[-1][:40]!r}; put a tab or a comma between a text and its label, and quote texts that hold it"
        )
    check_rows(text, name, layout)
    return layout, split_fields(text, layout.separator)[layout.header :]


def _is_closed(field: str) -> bool:
    """Whether a quoted field ends with its quote, those inside being doubled."""
    return len(field) > 1 and field.endswith('"') and '"' not in field[1:-1].replace('""', "")


def frame_columns(frame: Any) -> dict[str, list[str]]:
    """The columns of a DataFrame as text; what is missing is empty."""
    found = {}
    for name in frame.columns:
        values, missing = frame[name].tolist(), frame[name].isna().tolist()
        whole = all(none or (isinstance(v, float) and v.is_integer()) for v, none in zip(values, missing, strict=True))
        found[str(name)] = [
            "" if none else _plain(_listed(value)) if _is_list(value) else str(int(value) if whole else value).strip()
            for value, none in zip(values, missing, strict=True)
        ]
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) or (
        hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0
    )


def _listed(values: Any) -> list[Any]:
    """A list, tuple, set or array as a list that JSON can hold."""
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    return sorted(found, key=str) if isinstance(values, (set, frozenset)) else found


def json_columns(text: str, name: str) -> dict[str, list[str]]:
    """The columns of JSON lines, or of a JSON list of objects."""
    rows: list[Any] = []
    if text.lstrip().startswith("["):
        try:
            rows = parse_json(text)
        except ValueError as error:
            raise ValueError(f"JSON must be whole, got {name} which is not ({error}); write it again") from None
    else:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    rows.append(parse_json(line))
                except ValueError as error:
                    raise ValueError(
                        f"every line must be a JSON object, got {line[:40]!r} in line {number:,} of {name} ({error}); "
                        "mend that line"
                    ) from None
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        odd = next((row for row in rows if not isinstance(row, Mapping)), "nothing")
        raise ValueError(
            f"JSON of labelled texts must hold an object a text, got {str(odd)[:40]!r} in {name}; "
            'write lines such as {"text": "so good", "label": "positive"}'
        )
    names = list(dict.fromkeys(key for row in rows for key in row))
    return {key: [_plain(row.get(key)) for row in rows] for key in names}


def _plain(value: Any) -> str:
    return "" if value is None else value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


__all__ = ["frame_columns", "json_columns", "read_columns", "read_whole", "text_rows"]
