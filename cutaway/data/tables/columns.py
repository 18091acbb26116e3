r"""The kind of a column, found from its values, and what training needs to know of them."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.tables.schema import Column
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

# Two values that mean no and yes.
_FLAGS = (("0", "1"), ("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"))
_DATES = (
    "%Y-%m-%d",
    "%Y-%m",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y-%m-%d %H:%M",
    "%d.%m.%Y %H:%M",
    "ISO8601",
)
_LOOKS_DATED = re.compile(r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?\b")
_MANY = 20  # rows from which on "all different" says something
_PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}  # days


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


def dates(series: "pandas.Series", format: str) -> Float[np.ndarray, "n"]:
    """Days since 1970, with their fraction; NaN where there is no date."""
    pd = need("pandas", "tables", "reading a table")
    when = pd.to_datetime(series, utc=True, errors="coerce", format=format or None)
    return ((when - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(np.float64, na_value=np.nan)


def waves(days: Float[np.ndarray, "n"], cycle: str) -> Float[np.ndarray, "n 2"]:
    """Sine and cosine of the place in a year, week or day, so that its end lies beside its start."""
    angle = 2 * np.pi * days / _PERIODS[cycle]
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def find_column(series: "pandas.Series") -> Column:
    """The kind of a column; its statistics come from `measure_column`."""
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
    if kinds.is_numeric_dtype(series) and not kinds.is_bool_dtype(series):
        if kinds.is_complex_dtype(series):
            return Column(name, "ignored", reason="complex numbers")
        return _number(name, present, distinct)
    return _words(name, present.map(plain_text), distinct)


def _flag(name: str, values: list[str]) -> Column | None:
    for no, yes in _FLAGS:
        found = {value.casefold(): value for value in values}
        if set(found) == {no, yes}:
            return Column(name, "flag", categories=(found[no], found[yes]))
    return None


def _number(name: str, present: "pandas.Series", distinct: int) -> Column:
    low, high = present.min(), present.max()
    # Row numbers: every whole number from the least to the greatest, once.
    if (
        len(present) >= _MANY
        and distinct == len(present)
        and high - low == len(present) - 1
        and (present % 1 == 0).all()
    ):
        return Column(name, "ignored", reason=f"numbers the rows, {plain_text(low)} to {plain_text(high)}")
    return Column(name, "number")


def _words(name: str, present: "pandas.Series", distinct: int) -> Column:
    if present.head(50).str.match(_LOOKS_DATED).all():
        for format in _DATES:
            if not np.isnan(dates(present, format)).any():
                return _date(name, present, format)
    if len(present) >= _MANY and distinct > len(present) / 2:
        if present.str.contains(r"\s").mean() > 0.5:
            return Column(name, "text", reason="free text: not used by models of tables")
        if distinct > 0.95 * len(present):
            return Column(name, "ignored", reason=f"names the rows: {distinct:,} different in {len(present):,}")
    return Column(name, "category")


def _date(name: str, present: "pandas.Series", format: str) -> Column:
    days = dates(present, format)
    span = days.max() - days.min()
    told = {"year": span >= 180, "week": span >= 7, "day": bool((days % 1 != 0).any())}
    return Column(name, "date", format=format, cycles=tuple(cycle for cycle, is_told in told.items() if is_told))


def measure_column(column: Column, series: "pandas.Series") -> Column:
    """The same column with what the rows of ``series`` say: the share missing, mean and deviation, the categories."""
    missing = float(series.isna().mean())
    if column.kind == "category":
        _, words = word_codes(series)
        return replace(column, missing=missing, categories=tuple(sorted(set(words))))
    if column.kind not in ("number", "flag", "date"):
        return replace(column, missing=missing)
    values = column_numbers(column, series)
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
    if column.kind == "date":
        values = dates(series, column.format)
        expected = f"dates written {column.format}" if column.format else "dates"
    else:
        pd = need("pandas", "tables", "reading a table")
        values = pd.to_numeric(series, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        expected = "numbers"
    _expect_none(np.isnan(values) & series.notna().to_numpy(), column, series, expected)
    return values


def _flag_numbers(column: Column, series: "pandas.Series") -> Float[np.ndarray, "n"]:
    no, yes = (value.casefold() for value in column.categories)
    codes, words = word_codes(series)
    meaning = np.array([{no: 0.0, yes: 1.0}.get(word.casefold(), np.nan) for word in words] + [np.nan])
    values = meaning[codes]
    _expect_none(np.isnan(values) & (codes >= 0), column, series, " or ".join(column.categories))
    return values


def _expect_none(bad: Any, column: Column, series: "pandas.Series", expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"column {column.name!r} must hold {expected}, as in training, got {series.iloc[row]!r} in row "
            f"{row + 1:,}; mend the value or leave it empty"
        )


__all__ = ["column_numbers", "dates", "find_column", "measure_column", "plain_text", "waves", "word_codes"]
