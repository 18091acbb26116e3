r"""Columns beside the values of series: those known ahead (price, holiday) and those of a whole series (region)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.series.regular_steps import Steps, place
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


__all__ = ["known_columns", "static_columns"]
