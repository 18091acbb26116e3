r"""The kind of a column, found from its values, and what training needs to know of them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.tables.date_formats import (
    cycles,
    dates,
    find_format,
    find_odd_date,
    looks_dated,
    out_of_reach,
)
from cutaway.data.tables.numerals import read_notation
from cutaway.data.tables.schema import Column
from cutaway.data.tables.text_columns import AS_IT_CAME, Reading, row_name, row_of, to_numbers
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

# Two values that mean no and yes.
_FLAGS = (("0", "1"), ("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"))
_MANY = 20  # rows from which on "all different" says something
_LARGEST = 1e100  # numbers beyond have no square that float64 could hold with others


def plain_text(value: Any) -> str:
    """A category as text, the same whether a column came as whole numbers or, for a gap in it, as floats.

    >>> plain_text(3.0), plain_text(3), plain_text(" red ")
    ('3', '3', 'red')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return str(value).strip()


def word_codes(series: "pandas.Series") -> tuple[Int[np.ndarray, "n"], list[str]]:
    """For each value its place in the list of distinct values, −1 if missing; and that list, as text."""
    pd = need("pandas", "tables", "reading a table")
    codes, distinct = pd.factorize(series)
    return codes.astype(np.int64), [plain_text(value) for value in distinct]


def find_column(series: "pandas.Series", reading: Reading = AS_IT_CAME) -> Column:
    """The kind of a column; its statistics come from `measure_column`. ``reading`` says how its text was read."""
    if reading.unusable:
        return Column(str(series.name), "ignored", reason=reading.note)
    column = _of_numbers(series) if series.dtype.kind in "iuf" else _of_any(series)
    told = "; ".join(filter(None, [column.reason, reading.note]))
    return replace(column, format=column.format or reading.format, reason=told)


def _of_numbers(series: "pandas.Series") -> Column:
    name, values = str(series.name), series.to_numpy()
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if not len(present):
        return Column(name, "ignored", reason="only missing values")
    distinct = np.unique(present)
    if len(distinct) == 1 and len(present) == len(values):
        return Column(name, "ignored", reason=f"constant: {plain_text(present[0])}")
    if len(distinct) <= 2:
        flag = _flag(name, [plain_text(value) for value in distinct])
        if flag is not None:
            return flag
    whole = values.dtype.kind in "iu" or bool((present % 1 == 0).all())
    low, high = distinct[0], distinct[-1]
    # Row numbers: every whole number from the least to the greatest, once.
    if whole and len(present) == len(distinct) >= _MANY and float(high) - float(low) == len(present) - 1:
        return Column(name, "ignored", reason=f"numbers the rows, {plain_text(low)} to {plain_text(high)}")
    if values.dtype.kind in "iu" and max(abs(int(low)), abs(int(high))) >= 2**53:  # float64 would mix them up: codes
        return _of_words(name, series.astype(str), len(distinct))
    return Column(name, "number")


def _of_any(series: "pandas.Series") -> Column:
    pd = need("pandas", "tables", "reading a table")
    name = str(series.name)
    present = series.dropna()
    if present.empty:
        return Column(name, "ignored", reason="only missing values")
    try:
        distinct = present.nunique()
    except TypeError:  # lists, dicts, arrays
        return Column(name, "ignored", reason="values are not single numbers or words")
    if distinct == 1 and len(present) == len(series):
        return Column(name, "ignored", reason=f"constant: {plain_text(present.iloc[0])}")
    kinds = pd.api.types
    if kinds.is_datetime64_any_dtype(series):
        return _date(name, present, "")
    if distinct <= 2:
        flag = _flag(name, sorted({plain_text(value) for value in present.unique()}))
        if flag is not None:
            return flag
    if isinstance(series.dtype, pd.CategoricalDtype):
        return Column(name, "category")
    if kinds.is_complex_dtype(series):
        return Column(name, "ignored", reason="complex numbers")
    if kinds.is_numeric_dtype(series) and not kinds.is_bool_dtype(series):  # numbers of pandas' own types
        return _of_numbers(series.astype(np.float64))
    return _of_words(name, present.map(plain_text), distinct)


def _flag(name: str, values: list[str]) -> Column | None:
    for no, yes in _FLAGS:
        found = {value.casefold(): value for value in values}
        if set(found) == {no, yes}:
            return Column(name, "flag", categories=(found[no], found[yes]))
    return None


def _of_words(name: str, present: "pandas.Series", distinct: int) -> Column:
    texts, note = list(present.unique()), ""
    if looks_dated(texts):
        found = find_format(texts)
        if found is not None:
            column = _date(name, present, found.format)
            told = f"days and months could be the other way round, {found.other}" if found.other else ""
            return replace(column, reason=told)
        odd = find_odd_date(texts)
        if odd is not None and odd.is_date:
            shown = f"{odd.usual!r} in {row_of(present, odd.usual)}, {odd.text!r} in {row_of(present, odd.text)}"
            return Column(name, "ignored", reason=f"dates written in several ways ({shown}); write all in one")
        if odd is not None:
            note = f"dates but for {odd.text!r} in {row_of(present, odd.text)}, so taken for words"
    if len(present) >= _MANY and distinct > len(present) / 2:
        if present.str.contains(r"\s").mean() > 0.5:
            return Column(name, "text", reason=note or "free text: not used by models of tables")
        if distinct > 0.95 * len(present):
            told = f"names the rows: {distinct:,} different in {len(present):,}"
            return Column(name, "ignored", reason="; ".join(filter(None, [told, note])))
    return Column(name, "category", reason=note)


def _date(name: str, present: "pandas.Series", format: str) -> Column:
    days = dates(present, format)
    expect_none(out_of_reach(days), name, present, "dates from 1678 to 2262")
    return Column(name, "date", format=format, cycles=cycles(days))


def measure_column(column: Column, series: "pandas.Series") -> Column:
    """The same column with what the rows of ``series`` say: the share missing, mean and deviation, the categories."""
    if column.kind == "category":
        _, words = word_codes(series)
        return replace(column, missing=float(series.isna().mean()), categories=tuple(sorted(set(words))))
    if column.kind not in ("number", "flag", "date"):
        return replace(column, missing=float(series.isna().mean()))
    values = column_numbers(column, series)
    missing = float(np.isnan(values).mean())
    values = values[~np.isnan(values)]
    if not len(values):  # none in the training rows, though there are some elsewhere
        return replace(column, missing=missing)
    # A column that does not vary in training is left as it is, not blown up by a deviation of nearly nothing.
    mean, std = float(values.mean()), float(values.std())
    varies = std > 1e-12 * max(abs(mean), 1e-300)
    return replace(
        column,
        missing=missing,
        mean=mean,
        std=std if varies else 1.0,
        low=float(values.min()),
        high=float(values.max()),
    )


def column_numbers(column: Column, series: "pandas.Series") -> Float[np.ndarray, "n"]:
    """The values of a number, flag or date as float64, before standardising; NaN where missing."""
    if column.kind == "flag":
        return _flag_numbers(column, series)
    infinite = np.zeros(len(series), dtype=bool)
    if column.kind == "date":
        values = dates(series, column.format)
        expected = f"dates written {column.format}" if column.format else "dates"
        expect_none(out_of_reach(values), column.name, series, "dates from 1678 to 2262")
    else:
        values = _read_numbers(column, series)
        expected = f"numbers written as {column.format}" if column.format else "numbers"
        infinite = np.isinf(values)
        expect_none(~infinite & (np.abs(values) > _LARGEST), column.name, series, f"numbers of at most {_LARGEST:.0e}")
        values = np.where(infinite, np.nan, values)
    if np.isnan(values).any():
        bad = np.isnan(values) & series.notna().to_numpy() & ~infinite
        expect_none(bad, column.name, series, f"{expected}, as in training")
    return values


def _read_numbers(column: Column, series: "pandas.Series") -> Float[np.ndarray, "n"]:
    if series.dtype.kind in "iufb":
        return series.to_numpy(np.float64)
    pd = need("pandas", "tables", "reading a table")
    if pd.api.types.is_string_dtype(series):
        return to_numbers(series, read_notation(column.format)).to_numpy(np.float64)
    return pd.to_numeric(series, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _flag_numbers(column: Column, series: "pandas.Series") -> Float[np.ndarray, "n"]:
    no, yes = (value.casefold() for value in column.categories)
    meanings = {no: 0.0, yes: 1.0}
    notation = read_notation(column.format)
    codes, words = word_codes(series)

    def meaning(word: str) -> float:
        number = notation.number(word)  # 1.0 is a 1, too
        return meanings.get(word.casefold(), meanings.get(plain_text(number), np.nan))

    values = np.array([meaning(word) for word in words] + [np.nan])[codes]
    bad = np.isnan(values) & (codes >= 0)
    expect_none(bad, column.name, series, f"{' or '.join(column.categories)}, as in training")
    return values


def expect_none(bad: Any, name: str, series: "pandas.Series", expected: str) -> None:
    """No value of a column may be one of the bad ones; the first is named with its row."""
    if bad.any():
        place = int(np.argmax(bad))
        raise ValueError(
            f"column {name!r} must hold {expected}, got {str(series.iloc[place])!r} in {row_name(series, place)}; "
            "mend the value or leave it empty"
        )


__all__ = ["column_numbers", "expect_none", "find_column", "measure_column", "plain_text", "word_codes"]
