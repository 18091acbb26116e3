r"""Columns of text that hold numbers: each is read in the one notation that fits all of it, or stays text.

    1.234,56  2.000,00  → numbers        1,5  1.5  → in two ways: not used        007  012  → codes: text, as written

What was found is kept, so that it can be shown before training and new rows are read in the same way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cutaway.data.tables.date_formats import are_dates_of_digits
from cutaway.data.tables.numerals import Notation, Numerals, find_numerals, is_plain
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_NOT_TEXT = "iufbcmM"  # kinds of NumPy's types
_TOGETHER = 1 << 20  # values looked at together
_MOSTLY = 0.5  # share of numerals from which on the words between them are worth a note


class Reading(NamedTuple):
    """How a column was read: the notation of its numbers, what to tell about it, and whether it cannot be used."""

    format: str = ""
    note: str = ""
    unusable: bool = False


AS_IT_CAME = Reading()


def read_text_columns(
    frame: "pandas.DataFrame",
    as_written: "Callable[[Sequence[str]], pandas.DataFrame] | None" = None,
    decimal: str = ".",
) -> "tuple[pandas.DataFrame, dict[str, Reading]]":
    """The table with numbers for its columns of numerals, and a `Reading` of each column that there is one of.

    ``as_written`` gives columns of a CSV file as text; without it, text of plain numbers is meant to be text.
    ``decimal`` is the mark to take where a column leaves it open and no other column tells.
    """
    texts = {
        name: words
        for name, kind in frame.dtypes.items()
        if kind.kind not in _NOT_TEXT and (words := _words(frame[name])) is not None
    }
    found = {name: find_numerals(distinct) for name, distinct in texts.items()}
    if as_written is not None:
        # Where commas are decimal marks, what was read as 1.234 may be a thousand: look at the text again.
        if any(numerals.decimal == "," and _is_number(numerals) for numerals in found.values()):
            again = as_written([name for name in frame.columns if frame[name].dtype.kind == "f"])
            frame = frame.assign(**{name: again[name] for name in again.columns})
            texts |= {name: words for name in again.columns if (words := _words(again[name])) is not None}
            found |= {name: find_numerals(texts[name]) for name in again.columns if name in texts}
        decimal = _common_decimal((n for n in found.values() if _is_number(n)), decimal)
    numbers, readings = {}, {}
    for name, numerals in found.items():
        if as_written is None and all(map(is_plain, texts[name])):
            readings[name] = Reading(
                note="text, though of numbers; convert it with pandas.to_numeric if it is to count"
            )
            continue
        readings[name] = _read(numerals, frame[name], texts[name], decimal)
        if _is_number(numerals) and not are_dates_of_digits(texts[name]):
            notation = numerals.notation(decimal)
            numbers[name] = to_numbers(frame[name], notation)
            infinite = int(np.isinf(numbers[name].to_numpy(np.float64, na_value=np.nan)).sum())
            note = _two_ways(numerals, notation, texts[name])
            readings[name] = Reading(notation.example, "; ".join(filter(None, [note, _infinite(infinite)])))
    return (frame.assign(**numbers) if numbers else frame), readings


def note_infinite(frame: "pandas.DataFrame") -> dict[str, Reading]:
    """A note for every column of numbers some of which are infinite."""
    found = {}
    for place in find_infinite(frame):
        values = frame.iloc[:, place].to_numpy(np.float64, na_value=np.nan)
        found[str(frame.columns[place])] = Reading(note=_infinite(int(np.isinf(values).sum())))
    return found


def find_infinite(frame: "pandas.DataFrame") -> list[int]:
    """The places of the columns of numbers some of which are infinite."""
    floats = np.array([i for i, kind in enumerate(frame.dtypes) if kind.kind == "f"], dtype=np.int64)
    found: list[int] = []
    together = max(_TOGETHER // max(len(frame), 1), 1)  # columns
    for first in range(0, len(floats), together):
        some = floats[first : first + together]
        values = frame.iloc[:, some].to_numpy(np.float64, na_value=np.nan)
        found += some[np.isinf(values).any(axis=0)].tolist()
    return found


def _words(series: "pandas.Series") -> list[str] | None:
    """The different texts of a column of text; None for any other column."""
    pd = need("pandas", "tables", "reading a table")
    if series.dtype.kind in _NOT_TEXT or isinstance(series.dtype, pd.CategoricalDtype):
        return None
    present = series.dropna()
    if present.empty or not pd.api.types.is_string_dtype(present):
        return None
    return list(present.unique())


def _is_number(numerals: Numerals) -> bool:
    return numerals.other is None and numerals.code is None and numerals.clash is None


def _common_decimal(columns: Iterable[Numerals], otherwise: str) -> str:
    marks = Counter(numerals.decimal for numerals in columns if numerals.decimal)
    return marks.most_common(1)[0][0] if marks else otherwise


def _infinite(count: int) -> str:
    return f"{count:,} infinite, taken for missing" if count else ""


def _read(numerals: Numerals, series: "pandas.Series", texts: Sequence[str], decimal: str) -> Reading:
    """What to say of a column of text that stays text."""
    if numerals.share < _MOSTLY:
        return Reading()
    if numerals.other is not None:
        if numerals.share == _MOSTLY or len(texts) < 4:
            return Reading()
        place = row_of(series, numerals.other)
        return Reading(
            note=f"numbers but for {numerals.other!r} in {place}, so taken for words; leave such fields empty"
        )
    if numerals.code is not None:
        return Reading(note=f"codes such as {numerals.code!r}, kept as written")
    if numerals.clash is not None:
        one, two = numerals.clash
        told = f"{one!r} in {row_of(series, one)}, {two!r} in {row_of(series, two)}"
        return Reading(note=f"numbers written in two ways ({told}); write all in one", unusable=True)
    return Reading()


def _two_ways(numerals: Numerals, notation: Notation, texts: Sequence[str]) -> str:
    """A note where another notation would have fitted too and given other numbers."""
    others = [Notation(*marks, numerals.unit) for marks in numerals.readings if marks[0] != notation.decimal]
    if not others or (notation == Notation() and all(map(is_plain, texts))):
        return ""
    for text in texts:
        number, other = notation.number(text), others[0].number(text)
        if number != other:
            return f"{text!r} is read as {number:g}, not as {other:g}"
    return ""


def to_numbers(series: "pandas.Series", notation: Notation) -> "pandas.Series":
    """The numbers of a column of numerals: whole ones where all are, and none is missing. NaN for what is none."""
    pd = need("pandas", "tables", "reading a table")
    if notation == Notation() and all(map(is_plain, series.dropna().unique())):
        return pd.to_numeric(series)
    codes, distinct = pd.factorize(series)
    values = np.array([_float(notation.number(str(text))) for text in distinct] + [np.nan])
    whole = not any(notation.decimal in text or "e" in text.casefold() for text in map(str, distinct))
    numbers = values[codes]
    if whole and np.isfinite(numbers).all() and (np.abs(numbers) < 2**53).all():
        numbers = numbers.astype(np.int64)
    return pd.Series(numbers, index=series.index, name=series.name)


def _float(number: float | None) -> float:
    return np.nan if number is None else number


def row_of(series: "pandas.Series", text: str) -> str:
    """Where a text first stands in a column."""
    return row_name(series, int(np.argmax((series == text).to_numpy(bool, na_value=False))))


def row_name(series: "pandas.Series", place: int) -> str:
    """The row at a place, counted from 1 without the header; rows that are a part of a table keep their number."""
    label = series.index[place]
    return f"row {label + 1:,}" if isinstance(label, (int, np.integer)) else f"row {label!r}"


__all__ = [
    "AS_IT_CAME",
    "Reading",
    "find_infinite",
    "note_infinite",
    "read_text_columns",
    "row_name",
    "row_of",
    "to_numbers",
]
