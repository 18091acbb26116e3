r"""Columns beside the values of series: those known ahead (price, holiday) and those of a whole series (region)."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.checks import nearest
from cutaway.data.series.regular_steps import Steps, place
from cutaway.data.series.series_table import SeriesTable
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_WORDS = 50  # different words that a column known ahead may have


def known_columns(
    frame: "pandas.DataFrame",
    columns: list[str],
    steps: Steps,
    names: list[str],
    duplicates: str,
    time_of: Callable[[int, int], Any],
) -> tuple[list[Float[np.ndarray, "_ _"]], tuple[str, ...]]:
    """For each series a column for every number known ahead, and one of 0 and 1 for every word; steps without: NaN."""
    pd = need("pandas", "series", "reading series")
    found: list[list[Float[np.ndarray, "_"]]] = []
    labels: list[str] = []
    merge = "last" if duplicates == "sum" else duplicates
    for name in columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            found.append(place(steps, column.to_numpy(np.float64, na_value=np.nan), names, merge, time_of))
            labels.append(name)
            continue
        words = sorted(str(word) for word in column.dropna().unique())
        if len(words) > _WORDS:
            raise ValueError(
                f"a column known ahead must be of numbers or of at most {_WORDS} words, got {len(words):,} different "
                f"ones in {name!r}; leave it out of --known"
            )
        for word in words:
            is_it = (column.astype(str) == word).to_numpy(np.float64)
            found.append(place(steps, is_it, names, merge, time_of))
            labels.append(f"{name}: {word}")
    if not found:
        return [], ()
    return [np.stack([part[i] for part in found], 1) for i in range(len(names))], tuple(labels)


def static_columns(
    frame: "pandas.DataFrame", columns: list[str], ids: Int[np.ndarray, "rows"], names: list[str], file: str
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """For each static column a number or a category's code for every series, and the names of categories."""
    pd = need("pandas", "series", "reading series")
    first = np.full(len(names), len(ids))
    np.minimum.at(first, ids, np.arange(len(ids)))
    static: dict[str, Any] = {}
    levels: dict[str, tuple[str, ...]] = {}
    for name in columns:
        column = frame[name]
        own = column.iloc[first[ids]].to_numpy()
        differ = (column.to_numpy() != own) & ~(column.isna().to_numpy() & pd.isna(own))
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"a static column must have one value for a whole series, got {own[row]} and {column.iloc[row]} in "
                f"{name!r} for series {names[ids[row]]!r} of {file}; say --known for what changes over time"
            )
        values = column.iloc[first]
        if pd.api.types.is_float_dtype(values):
            static[name] = values.to_numpy(np.float64)
        else:
            codes, words = pd.factorize(values.astype(str), sort=True)
            static[name], levels[name] = codes.astype(np.int64), tuple(str(word) for word in words)
    return static, levels


def as_in_training(table: SeriesTable, about: dict[str, Any]) -> SeriesTable:
    """New series with the covariates of training, in their order; words that training never saw are named."""
    static, levels = dict(table.static), dict(table.levels)
    for name, words in about.get("levels", {}).items():
        codes = {word: code for code, word in enumerate(words)}
        own = [levels[name][int(code)] for code in static[name]]
        new = [word for word in own if word not in codes]
        if new:
            raise ValueError(
                f"a static column must have the words of training, got {new[0]!r} in {name!r}; the nearest are: "
                f"{nearest(new[0], codes)}"
            )
        static[name], levels[name] = np.array([codes[word] for word in own], np.int64), tuple(words)
    wanted = about.get("known_names", [])
    if tuple(wanted) == table.known_names:
        return replace(table, static=static, levels=levels)
    absent = [name for name in wanted if name not in table.known_names and ": " not in name]
    if absent:
        raise ValueError(f"new series must have the covariates of training, got none called {absent[0]!r}; add it")
    places = {name: j for j, name in enumerate(table.known_names)}
    known = [
        np.stack([x[:, places[name]] if name in places else np.zeros(len(x)) for name in wanted], 1)
        for x in table.known
    ]
    return replace(table, static=static, levels=levels, known=known, known_names=tuple(wanted))


def expect_known_ahead(table: SeriesTable, horizon: int) -> None:
    """Covariates that are known ahead must reach to the end of the forecast."""
    for i, known in enumerate(table.known):
        reach = known[len(table.values[i]) : len(table.values[i]) + horizon]
        there = len(reach) - int(np.isnan(reach).any(1).sum())
        if there < horizon:
            raise ValueError(
                f"covariates known ahead must reach to the end of the forecast, got {there} of {horizon} steps of "
                f"{', '.join(table.known_names)} for series {table.names[i]!r}; give them in rows without a value, or "
                "as future (--future FILE)"
            )


__all__ = ["as_in_training", "expect_known_ahead", "known_columns", "static_columns"]
