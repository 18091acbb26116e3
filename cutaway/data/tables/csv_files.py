r"""CSV as it comes: any separator, with or without a header, packed or not; ragged rows are found before they hurt."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutaway.data.files import expect_encoding, open_plain, read_pieces
from cutaway.data.tables.date_formats import looks_dated
from cutaway.data.tables.numerals import split_numeral
from cutaway.data.tables.plain_rows import LARGE, find_codes
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))  # a field may be a whole book

_SEPARATORS = ("\t", ";", "|", ",", " ")
_MISSING = ("?", "na", "n/a", "nan", "null", "none")  # a few of those that pandas knows, and the question mark
_SAMPLE = 1000  # rows
_BETWEEN = "\x1f"  # a character that no field holds, to look through a whole row at once
# Fields that look like numbers and may be none: codes (007), days (20240131) and months (07.2024).
_UNCLEAR = (
    r"-?0[0-9]+|\+[0-9]{7,}|[+-]?[0-9]{16,}"
    r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|(?:0[1-9]|1[0-2])\.(?:19|20)[0-9]{2}"
)
_UNCLEAR_FIELD = re.compile(_UNCLEAR)
_UNCLEAR_IN_ROW = re.compile(rf"(?:\A|{_BETWEEN}) *(?:{_UNCLEAR}) *(?:\Z|{_BETWEEN})")


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written. ``repeated`` are names that came again, each with the new one that it got."""

    separator: str
    header: bool
    names: tuple[str, ...]
    repeated: tuple[tuple[str, str], ...] = ()
    header_found: bool = True  # from the rows; the caller did not say it


@dataclass(frozen=True)
class CsvTable:
    """The table of a CSV file: numbers where a column has numbers as programs write them, else text as it stands."""

    name: str
    text: str
    layout: CsvFormat
    frame: "pandas.DataFrame"

    def as_written(self, names: Sequence[str]) -> "pandas.DataFrame":
        """Some columns as text, none of it taken for a number."""
        return _parse(self.text, self.name, self.layout, set(names), only=list(names))

    def as_names(self, names: Sequence[str]) -> "pandas.DataFrame":
        """Some columns as text, in which NA, null and nan are names as others: none is taken for missing."""
        return _parse(self.text, self.name, self.layout, set(names), only=list(names), missing=False)

    def notes(self) -> list[str]:
        """What was found out about the file and could be wrong."""
        told = []
        if not self.layout.header and self.layout.header_found:
            first = _first_row(self.text, self.layout)
            last = len(self.layout.names)
            told.append(
                f"no header: the first row ({_shown(first)}) is taken for data, columns are called column_1 to "
                f"column_{last}; if it holds names, use --header"
            )
        elif self.layout.header_found:
            names = _shown(self.layout.names)
            told.append(f"header: the first row ({names}) is taken for names; if it holds data, use --no-header")
        if self.layout.repeated:
            told.append(
                f"names that came again got a number: {_shown([f'{a} → {b}' for a, b in self.layout.repeated])}"
            )
        return told


def _shown(words: Sequence[str], most: int = 3) -> str:
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")


def read_csv(path: Path, encoding: str = "utf-8", separator: str | None = None, header: bool | None = None) -> CsvTable:
    """The table of a CSV file. Without a header the columns are column_1, column_2, …"""
    expect_encoding(encoding)
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    return parse_csv(text, path.name, separator, header)


def parse_csv(text: str, name: str, separator: str | None = None, header: bool | None = None) -> CsvTable:
    """The table of the text of a CSV file."""
    try:
        layout = find_layout(text, name, separator, header)
        unclear = check_rows(text, name, layout)
    except csv.Error as error:
        raise ValueError(f"a table must be CSV, got {name} which is not ({error}); save it as CSV again") from error
    return CsvTable(name, text, layout, _parse(text, name, layout, unclear))


def read_layout(path: Path, encoding: str = "utf-8", header: bool | None = None) -> CsvFormat:
    """How a CSV file is written, from its beginning alone."""
    expect_encoding(encoding)
    with open_plain(path) as stream:
        pieces = read_pieces(stream, encoding, path.name)
        text = next(pieces, "")
        while "\n" not in text and (more := next(pieces, "")):  # a header may be longer than a piece
            text += more
    try:
        return find_layout(text, path.name, header=header)
    except csv.Error as error:
        raise ValueError(
            f"a table must be CSV, got {path.name} which is not ({error}); save it as CSV again"
        ) from error


def _parse(
    text: str,
    name: str,
    layout: CsvFormat,
    as_text: set[str],
    only: list[str] | None = None,
    missing: bool = True,
) -> "pandas.DataFrame":
    pd = need("pandas", "tables", "reading a table")
    try:
        return pd.read_csv(
            io.StringIO(text),
            sep=layout.separator,
            header=0 if layout.header else None,
            names=list(layout.names),
            usecols=only,
            dtype=dict.fromkeys(as_text, str),
            na_values=["?"] if missing else None,
            keep_default_na=missing,
            skipinitialspace=True,
            index_col=False,
            low_memory=False,  # one type for a whole column, not one for each piece of it
        )
    except (ValueError, OverflowError) as error:
        raise ValueError(f"a table must be CSV, got {name} which is not ({error}); save it as CSV again") from error


def _fields(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV text that are not blank, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        for row in reader:
            if row and not (len(row) == 1 and not row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num:,}: {error}") from error


def split_fields(text: str, separator: str) -> list[list[str]]:
    """The rows of a CSV text that are not blank, cut into fields as they are written.

    >>> split_fields('a; "b;c"', ";")
    [['a', 'b;c']]
    """
    return [row for _, row in _fields(text, separator)]


def _first_row(text: str, layout: CsvFormat) -> list[str]:
    return next(row for _, row in _fields(text, layout.separator))


def find_layout(text: str, name: str, separator: str | None = None, header: bool | None = None) -> CsvFormat:
    """Separator and header, from the first rows; what the caller says is taken as said."""
    if len(text) > 4 * LARGE:  # the first rows are enough, and a reader of all would copy it
        text = text[: text.find("\n", 4 * LARGE)]
    if separator is None:
        separator = find_separator(text)
    rows = [row for _, row in itertools.islice(_fields(text, separator), _SAMPLE)]
    if not rows:
        raise ValueError(f"a table must hold at least one row, got {name} which is empty; give a file with rows")
    found = _has_header(rows) if header is None else header
    names = [field.strip() for field in rows[0]] if found else [""] * len(rows[0])
    unique = _unique_names(names)
    repeated = tuple((name, new) for name, new in zip(names, unique) if name and name != new)
    return CsvFormat(separator, found, unique, repeated, header is None)


def find_separator(text: str) -> str:
    """The separator that cuts most rows into the same number of fields: tab, semicolon, bar, comma or space.

    On a tie it is the first of these, so that the commas of "1,5;2,5" are taken for decimal marks.
    """
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
    """Whether the first row holds names: none is a number or missing, and none comes again below.

    Columns may be called by numbers where one of them has a word over dates, or where they are counted: t, 1, 2, 3 …
    """
    first, rest = [field.strip() for field in rows[0]], rows[1:]
    if any(split_numeral(name) for name in first if name):
        return _has_numbers_for_names(first, rest)
    doubtful = any(name.casefold() in _MISSING for name in first if name)
    over_numbers = sure = False
    for name, *below in itertools.zip_longest(first, *rest, fillvalue=""):
        below = [field.strip() for field in below]
        if name and name in below and name.casefold() not in _MISSING:
            return False
        over_numbers = over_numbers or (bool(name) and any(map(split_numeral, below[:100])))
        sure = sure or _is_above_other(name, [field for field in below[:30] if field])
    # NA may be a missing value, or a name (Namibia's) beside other words that stand over numbers or dates.
    if doubtful and not sure:
        return False
    # Columns may lack a name, an index often does; but a row of words with gaps, over words, is data.
    return all(first[1:]) or over_numbers


def _has_numbers_for_names(first: list[str], rest: list[list[str]]) -> bool:
    columns = [[field.strip() for field in below if field.strip()] for below in zip(*rest)]
    words = [i for i, name in enumerate(first) if name and not split_numeral(name) and name.casefold() not in _MISSING]
    if len(set(first)) < len(first) or any(len(row) != len(first) for row in rest):
        return False
    if columns and any(_are_dates(columns[i][:30]) and not _are_dates([first[i]]) for i in words):
        return True
    numbers = first[1:]
    counted = len(numbers) > 2 and numbers in ([str(i + k) for i in range(len(numbers))] for k in (0, 1))
    return counted and bool(columns) and (not first[0] or _is_above_other(first[0], columns[0][:30]))


def _are_dates(texts: list[str]) -> bool:
    """Whether these are dates, and no numbers."""
    return bool(texts) and looks_dated(texts) and not any(map(split_numeral, texts))


def _is_above_other(name: str, below: Sequence[str]) -> bool:
    """Whether a word stands over numbers or dates alone."""
    if not name or not below or name.casefold() in _MISSING or _begins_with_digit(name):
        return False
    return all(split_numeral(field) or _begins_with_digit(field) for field in below)


def _begins_with_digit(text: str) -> bool:
    return text[:1].isdigit()


def _unique_names(names: list[str]) -> tuple[str, ...]:
    """column_1, column_2, … where there is no name; a name that comes again gets a number.

    >>> _unique_names(["a", "", "a", "a_2"])
    ('a', 'column_2', 'a_3', 'a_2')
    """
    taken, unique = {name for name in names if name}, dict[str, None]()
    for i, name in enumerate(names):
        if name and name not in unique:
            unique[name] = None
            continue
        stem, first = (name, 2) if name else ("column", i + 1)
        new = next(f"{stem}_{n}" for n in itertools.count(first) if f"{stem}_{n}" not in taken)
        taken.add(new)
        unique[new] = None
    return tuple(unique)


def check_rows(text: str, name: str, layout: CsvFormat) -> set[str]:
    """Every row must have as many fields as the first. Returns the columns whose digits may be no numbers."""
    width = len(layout.names)
    codes = find_codes(text, layout.separator, width, layout.header, _UNCLEAR_FIELD)
    if codes is not None:
        return {layout.names[i] for i in codes}
    shown = {"\t": "tab", " ": "space"}.get(layout.separator, layout.separator)
    unclear: set[int] = set()
    before = last = 0  # lines at which the last two rows end
    for number, (line, row) in enumerate(_fields(text, layout.separator)):
        if len(row) != width:
            raise ValueError(
                f"every row must have the {width} fields of the first, got {len(row)} in line {line:,} of {name} "
                f"(separator {shown}); mend that line, or quote a field that holds the separator"
            )
        if (number or not layout.header) and _UNCLEAR_IN_ROW.search(_BETWEEN.join(row)):
            unclear.update(
                i for i, field in enumerate(row) if i not in unclear and _UNCLEAR_FIELD.fullmatch(field.strip())
            )
        before, last = last, line
    if last > before + 1:
        _expect_closed(text, name, layout, before)
    return {layout.names[i] for i in unclear}


def _expect_closed(text: str, name: str, layout: CsvFormat, before: int) -> None:
    """The last row, which has several lines, must end with its quote: one that is not closed takes in all below."""
    rest = itertools.islice(io.StringIO(text, newline=""), before, None)
    try:
        list(csv.reader(rest, delimiter=layout.separator, skipinitialspace=True, strict=True))
    except csv.Error as error:
        if "end of data" in str(error):
            raise ValueError(
                f"a quoted field must end with a quote, got one that begins in line {before + 1:,} of {name} and goes "
                "on to its end; close it, and double the quotes inside it"
            ) from None


__all__ = [
    "CsvFormat",
    "CsvTable",
    "check_rows",
    "find_layout",
    "find_separator",
    "parse_csv",
    "read_csv",
    "read_layout",
    "split_fields",
]
