r"""Columns that say which series it is, or when it was: ids, counters, dates. They are no step and no channel.

Where the classes of a table come one after the other, such a column would give them away. A column is left out if

    it is called id, name, index …, or ends in _id, and tells rows apart
    it holds dates, or words that are all different
    it counts the rows, or its whole numbers rise (or fall) all the way
    it has whole numbers, all different, beside steps that are fractions
    other columns are called t0, t1, t2 … and it is not
    it is one number for all steps of a series (long tables and channels)

Real counts can look like that too, so what is left out is told.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from cutaway.data.series.time_columns import are_times

if TYPE_CHECKING:
    import pandas

FIRST_STEP = "step 1"  # of the series of a .ts file, that numbers them

_NAMES: tuple[str, ...] = (
    "series",
    "unique_id",
    "series_id",
    "case",
    "case_id",
    "id",
    "index",
    "idx",
    "row",
    "row_id",
    "sample",
)
_NAMES += ("sample_id", "name", "key", "uuid", "number", "no", "nr", "subject", "patient", "session", "batch")
_DATES = ("date", "datetime", "timestamp", "ds", "time", "day")
_FEW = 5  # rows that a counter must have, to be one
_NUMBERED = re.compile(r"(.*?)[ _.-]*(\d+)")
_MOST = 0.8  # of the columns are called alike


def id_columns(frame: "pandas.DataFrame", used: Sequence[str], group: str) -> tuple[str, ...]:
    """Columns beside those ``used`` that say which series or row it is, or when; ``group`` is that of a long table."""
    free = [c for c in frame.columns if c not in used]
    found = [c for c in free if _is_id(frame, c, free, group)]
    return tuple(found) if len(found) < len(free) else ()


def odd_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names that are not as most are, if those are one word with numbers.

    >>> odd_names(["patient", "t0", "t1", "t2", "t3", "t4"]), odd_names(["low", "high", "end"])
    (('patient',), ())
    """
    matches = [_NUMBERED.fullmatch(name.strip()) for name in names]
    stems = Counter(match[1] for match in matches if match)
    if not stems:
        return ()
    stem, count = stems.most_common(1)[0]
    if count < max(_MOST * len(names), 3):
        return ()
    return tuple(name for name, match in zip(names, matches, strict=True) if not match or match[1] != stem)


def id_channels(values: Sequence[Float[np.ndarray, "_ c"]], names: Sequence[str]) -> tuple[str, ...]:
    """Channels that are one whole number for each series; of one channel, a first step that numbers them."""
    if len(values) < _FEW:
        return ()
    if len(names) == 1:
        first, rest = np.array([x[0, 0] for x in values]), np.concatenate([x[1:, 0] for x in values])
        if not len(rest) or len(set(first.tolist())) < len(first) or not _whole(first):
            return ()
        fractions = np.mean(rest[~np.isnan(rest)] % 1 != 0) > 0.5 if len(rest) else False
        return (FIRST_STEP,) if _counts(first) or (len(first) >= 2 * _FEW and (_rises(first) or fractions)) else ()
    found = []
    for j, name in enumerate(names):
        own = [np.unique(x[:, j]) for x in values]
        if max(map(len, own)) == 1 and _whole(np.concatenate(own)) and len(set(np.concatenate(own).tolist())) > 1:
            found.append(name)
    return tuple(found) if len(found) < len(names) else ()


def numbers_first(values: Sequence[Float[np.ndarray, "_ c"]]) -> bool:
    """Whether new series, of a run that left out a first step, have it too: whole numbers, all different."""
    first = np.array([x[0, 0] for x in values])
    return _whole(first) and len(set(first.tolist())) == len(first)


def left_out_note(frame: "pandas.DataFrame", names: Sequence[str]) -> str:
    """What to say of columns that are left out."""
    shown = ", ".join(f"{name!r} ({frame[name].iloc[0]}, {frame[name].iloc[-1]} …)" for name in names[:3])
    more = f" and {len(names) - 3:,} more" * (len(names) > 3)
    return (
        f"left out: {shown}{more}, which tell series or rows apart and are no values of them; rename such a column to "
        "keep it (as the steps are called: t0, t1 …)"
    )


def left_out_values_note(
    values: Sequence[Float[np.ndarray, "_ c"]], names: Sequence[str], left_out: Sequence[str]
) -> str:
    """What to say of channels, or of a first step, that are left out."""
    places = [0 if name == FIRST_STEP else list(names).index(name) for name in left_out]
    ends = [f"{values[0][0, j]:g}, {values[-1][0, j]:g} …" for j in places]
    shown = ", ".join(f"{name} ({each})" for name, each in zip(left_out, ends, strict=True))
    return f"left out: {shown}, which number the series and are no values of them"


def _is_id(frame: "pandas.DataFrame", name: str, free: Sequence[str], group: str) -> bool:
    column, called = frame[name], name.casefold().strip()
    if column.isna().all():
        return False
    if _is_date(column) and (called in _DATES or not _is_numeric(column)):
        return True
    named = called in _NAMES or called.endswith(("_id", " id")) or name.endswith("Id") or called.startswith("unnamed")
    if group:  # a number that every series has its own of, or one that counts the rows
        alone = frame.groupby(group, sort=False)[name].nunique(dropna=False).le(1).all()
        return _is_counter(column) or (bool(alone) and (named or _are_whole(column)))
    if column.duplicated().any():
        return named and _are_whole(column)
    if named:
        return True
    if len(column) < _FEW:
        return False
    if not _is_numeric(column):
        return column.notna().all() and all(isinstance(value, str) for value in column)
    if _is_counter(column):
        return True
    others = [c for c in free if c != name and _is_numeric(frame[c])]
    fractions = len(others) > 1 and not any(_are_whole(frame[c]) for c in others)
    many = len(column) >= 2 * _FEW and _are_whole(column)
    return many and (fractions or _rises(column.to_numpy(np.float64)))


def _is_counter(column: "pandas.Series") -> bool:
    """Whether a column counts its rows: 0, 1, 2 …, from any number on."""
    if not _is_numeric(column) or len(column) < _FEW or column.isna().any():
        return False
    return _counts(column.to_numpy(np.float64))


def _counts(numbers: Float[np.ndarray, "n"]) -> bool:
    return bool((np.diff(numbers) == 1).all())


def _rises(numbers: Float[np.ndarray, "n"]) -> bool:
    """Whether numbers rise all the way, or fall."""
    steps = np.diff(numbers)
    return bool((steps > 0).all() or (steps < 0).all())


def _are_whole(column: "pandas.Series") -> bool:
    return _is_numeric(column) and _whole(column.to_numpy(np.float64))


def _whole(numbers: Float[np.ndarray, "n"]) -> bool:
    return bool((numbers % 1 == 0).all())  # a missing one is not


def _is_date(column: "pandas.Series") -> bool:
    return column.dtype.kind == "M" or are_times(column.rename("date"))


def _is_numeric(column: "pandas.Series") -> bool:
    return column.dtype.kind in "iufb"


__all__ = [
    "FIRST_STEP",
    "id_channels",
    "id_columns",
    "left_out_note",
    "left_out_values_note",
    "numbers_first",
    "odd_names",
]
