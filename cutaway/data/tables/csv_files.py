r"""CSV as it comes: any separator, with or without a header, packed or not; ragged rows are found before they hurt."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutaway.data.files import expect_encoding, open_plain, read_pieces
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_SEPARATORS = ("\t", ";", "|", ",", " ")
_MISSING = ("", "?", "na", "n/a", "nan", "null", "none")  # a few of those that pandas knows, and the question mark
_SAMPLE = 1000  # rows
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a CSV file is written."""

    separator: str
    header: bool
    decimal: str
    names: tuple[str, ...]


def read_csv(
    path: Path, encoding: str = "utf-8", separator: str | None = None, header: bool | None = None
) -> "pandas.DataFrame":
    """The table of a CSV file. Without a header the columns are column_1, column_2, …"""
    expect_encoding(encoding)
    pd = need("pandas", "tables", "reading a table")
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    try:
        layout = find_layout(text, path.name, separator, header)
        expect_even_rows(text, path.name, layout)
    except csv.Error as error:
        raise ValueError(
            f"a table must be CSV, got {path.name} which is not ({error}); save it as CSV again"
        ) from error
    return pd.read_csv(
        io.StringIO(text),
        sep=layout.separator,
        header=0 if layout.header else None,
        names=list(layout.names),
        decimal=layout.decimal,
        na_values=["?"],
        skipinitialspace=True,
        index_col=False,
        low_memory=False,  # one type for a whole column, not one for each piece of it
    )


def _fields(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV text that are not blank, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    for row in reader:
        if row and not (len(row) == 1 and not row[0].strip()):
            yield reader.line_num, row


def find_layout(text: str, name: str, separator: str | None = None, header: bool | None = None) -> Layout:
    """Separator, header and decimal mark, from the first rows; what the caller says is taken as said."""
    if separator is None:
        separator = _find_separator(text)
    rows = [row for _, row in itertools.islice(_fields(text, separator), _SAMPLE)]
    if not rows:
        raise ValueError(f"a table must hold at least one row, got {name} which is empty; give a file with rows")
    if header is None:
        header = _has_header(rows)
    fields = [field for row in rows[1:] for field in row]
    comma = separator != "," and any(re.fullmatch(r"[+-]?\d+,\d+", field) for field in fields)
    point = any(re.fullmatch(r"[+-]?\d+\.\d+", field) for field in fields)
    names = [field.strip() for field in rows[0]] if header else [""] * len(rows[0])
    return Layout(separator, header, "," if comma and not point else ".", _unique_names(names))


def _find_separator(text: str) -> str:
    # The one that cuts most rows into the same number of fields; on a tie the first in the list, so that the commas of
    # "1,5;2,5" are taken for decimal marks.
    best, best_share = ",", 0.0
    for separator in _SEPARATORS:
        with suppress(csv.Error):  # text that is cut at the wrong places may break other rules too
            counts = Counter(len(row) for _, row in itertools.islice(_fields(text, separator), _SAMPLE))
            width, often = counts.most_common(1)[0] if counts else (1, 0)
            share = often / max(counts.total(), 1)
            if width > 1 and share > best_share:
                best, best_share = separator, share
    return best


def _has_header(rows: list[list[str]]) -> bool:
    first, rest = [field.strip() for field in rows[0]], rows[1:]
    names = first[1:] if len(first) > 1 and not first[0] else first  # an index column often has no name
    if len(set(names)) < len(names) or any(_NUMBER.fullmatch(n) or n.casefold() in _MISSING for n in names):
        return False
    for i, name in enumerate(first):
        below = [row[i].strip() for row in rest if i < len(row)]
        if name and name in below:
            return False
    return True


def _unique_names(names: list[str]) -> tuple[str, ...]:
    # column_1, column_2, … where there is no name; a name that comes again gets a number
    named = [name or f"column_{i + 1}" for i, name in enumerate(names)]
    seen: Counter[str] = Counter()
    unique = []
    for name in named:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(unique)


def expect_even_rows(text: str, name: str, layout: Layout) -> None:
    """Every row must have as many fields as the first."""
    width = len(layout.names)
    shown = {"\t": "tab", " ": "space"}.get(layout.separator, layout.separator)
    for line, row in _fields(text, layout.separator):
        if len(row) != width:
            raise ValueError(
                f"every row must have the {width} fields of the first, got {len(row)} in line {line:,} of {name} "
                f"(separator {shown}); mend that line, or quote a field that holds the separator"
            )


__all__ = ["Layout", "expect_even_rows", "find_layout", "read_csv"]
