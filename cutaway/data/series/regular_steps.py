r"""Rows with times → series at regular steps: sorted, gaps filled with missing values, duplicate times named or merged.

step of a row = (time − first time) / length of a step
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.series.frequencies import KNOWN, Frequency, infer_frequency
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

MERGES = ("mean", "sum", "first", "last")  # what becomes of values of one time
_NAMED = 3  # gaps that a note names
_DAY = 86_400 * 10**6  # microseconds
_STEPS_A_ROW, _STEPS_AT_LEAST = 20, 10_000  # steps that a series may have, most of them without a row


class Steps(NamedTuple):
    """For every row the number of its step in its series; where each series starts and how many steps it has."""

    series: Int[np.ndarray, "rows"]
    step: Int[np.ndarray, "rows"]
    starts: list[Any]
    lengths: Int[np.ndarray, "series"]
    frequency: Frequency | None
    notes: list[str]


def find_steps(
    times: Any, series: Int[np.ndarray, "rows"], names: list[str], given: Frequency | None, file: str
) -> Steps:
    """The step of every row. ``times`` are dates or whole numbers, ``series`` the number of a row's series."""
    if isinstance(times, np.ndarray):
        return _of_numbers(times, series, names, file)
    frequency = given or _common(times, series, len(names), file)
    step = np.zeros(len(times), np.int64)
    starts, lengths, notes = [], np.zeros(len(names), np.int64), []
    order = np.lexsort((times.asi8, series))
    bounds = np.searchsorted(series[order], np.arange(len(names) + 1))
    rough = 0
    for i in range(len(names)):
        rows = order[bounds[i] : bounds[i + 1]]
        own = times[rows]
        phase = frequency.phase(own[0])
        ordinals = frequency.ordinals(own, phase)
        off = _off_grid(frequency, own, phase)
        if off.any() and given is None:
            raise ValueError(_irregular(own[int(np.argmax(off))], names[i], frequency, file))
        if off.any():
            rough += 1
            ordinals = frequency.ordinals(own)
        step[rows] = ordinals - ordinals[0]
        starts.append(own[0] if not off.any() else _floor(frequency, own[0]))
        lengths[i] = ordinals[-1] - ordinals[0] + 1
        if lengths[i] > _STEPS_A_ROW * len(rows) + _STEPS_AT_LEAST:
            raise ValueError(_too_far(own, int(lengths[i]), names[i], frequency, file))
    if rough:
        notes.append(f"times of {rough:,} series lie between the steps of {frequency.name!r}: each counts for its step")
    return Steps(series, step, starts, lengths, frequency, notes)


def _floor(frequency: Frequency, time: "pandas.Timestamp") -> "pandas.Timestamp":
    """The beginning of the step that a time lies in."""
    pd = need("pandas", "series", "reading series")
    if frequency.kind == "fixed":
        ticks = int(time.to_datetime64().astype("datetime64[us]").astype(np.int64))
        return pd.Timestamp(np.datetime64(ticks - ticks % frequency.step, "us"))
    if frequency.kind == "business":
        return frequency.times(time.normalize(), 0, 1)[0]
    return time.normalize()


def _off_grid(frequency: Frequency, times: "pandas.DatetimeIndex", phase: int) -> "np.ndarray":
    """Which times lie between the steps."""
    if frequency.kind == "fixed":
        ticks = times.to_numpy("datetime64[us]").astype(np.int64)
        return (ticks - phase) % frequency.step != 0
    if frequency.kind == "business":
        return times.day_of_week.to_numpy() > 4
    if frequency.kind == "months":
        months = times.year.to_numpy() * 12 + times.month.to_numpy() - 1
        return (months - phase) % frequency.step != 0
    return np.zeros(len(times), bool)


def _common(times: "pandas.DatetimeIndex", series: Int[np.ndarray, "rows"], count: int, file: str) -> Frequency:
    """The frequency that the series share: that of the longest, if the others' times fit it."""
    longest = np.argsort(-np.bincount(series, minlength=count), kind="stable")[:20]
    found = []
    for i in longest:
        own = times[series == i].unique().sort_values()
        if len(own) > 1:
            frequency = infer_frequency(own)
            if frequency is None:
                raise ValueError(_unknown(own, file))
            found.append(frequency)
    if not found:
        raise ValueError(
            f"the frequency of series must be known, got one time for each series of {file}; say it, for instance "
            f"--frequency D (known: {KNOWN})"
        )
    # B beside D: some series have weekends. Else the finest, in which all others have whole steps.
    return min(found, key=lambda frequency: (-frequency.steps_a_year, frequency.anchor))


def _unknown(times: "pandas.DatetimeIndex", file: str) -> str:
    apart, counts = np.unique(np.diff(_ticks(times)), return_counts=True)
    first = np.argsort(-counts, kind="stable")[:3]
    shown = ", ".join(f"{_span(int(apart[j]))} ({counts[j]:,}×)" for j in first)
    usual = float(np.median(np.diff(_ticks(times)))) / _DAY
    names = ((300, "YS"), (80, "QS"), (26, "MS"), (6, "W"), (0.9, "D"), (1 / 30, "h"), (0, "min"))
    name = next(name for days, name in names if usual >= days)
    return (
        f"times must lie at a regular distance, got {len(apart):,} different ones in {file}: {shown}; give the "
        f"length of a step, for instance --frequency {name} --duplicates mean"
    )


def _too_far(times: "pandas.DatetimeIndex", steps: int, name: str, frequency: Frequency, file: str) -> str:
    gaps = np.diff(_ticks(times))
    at = int(gaps.argmax())
    longer = "D" if frequency.steps_a_year > 400 else "MS" if frequency.steps_a_year > 13 else "YS"
    return (
        f"times must leave few steps without a row, got {steps:,} steps of {frequency.name!r} for {len(times):,} rows "
        f"of series {name!r} of {file}, where a gap of {_span(int(gaps[at]))} goes from {times[at]} to "
        f"{times[at + 1]}; mend the date, leave out what is before the gap, or give a longer step: --frequency "
        f"{longer} --duplicates mean"
    )


def _ticks(times: "pandas.DatetimeIndex") -> Int[np.ndarray, "n"]:
    return times.to_numpy("datetime64[us]").astype(np.int64)


def _span(ticks: int) -> str:
    """A length of time in words.

    >>> _span(24 * 366 * 86_400 * 10**6), _span(90 * 60 * 10**6), _span(31 * 86_400 * 10**6)
    ('24 years', '1.5 hours', '31 days')
    """
    for words, size in (("years", 365.25 * _DAY), ("days", _DAY), ("hours", _DAY // 24), ("minutes", _DAY // 1440)):
        if ticks >= 2 * size or (ticks >= size and words == "hours"):
            return f"{ticks / size:,.1f}".removesuffix(".0") + f" {words}"
    return f"{ticks / 10**6:g} seconds"


def _irregular(time: "pandas.Timestamp", name: str, frequency: Frequency, file: str) -> str:
    return (
        f"times must lie at the steps of one frequency, got {time} of series {name!r} of {file}, which lies between "
        f"those of {frequency.name!r}; mend it, or give the length of a step: --frequency {frequency.name}"
    )


def _of_numbers(times: Int[np.ndarray, "rows"], series: Int[np.ndarray, "rows"], names: list[str], file: str) -> Steps:
    first = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(first, series, times)
    apart = times - first[series]
    length = int(np.gcd.reduce(apart)) or 1
    step = apart // length
    last = np.zeros(len(names), np.int64)
    np.maximum.at(last, series, step)
    if last.max() > 50 * len(times) + 1000:
        raise ValueError(
            f"times must be dates or the numbers of steps, got whole numbers from {times.min()} to {times.max()} for "
            f"{len(times):,} rows of {file}; name another column: --time COLUMN"
        )
    notes = [f"times are whole numbers, {length} apart: they are counted as steps"] if length > 1 else []
    return Steps(series, step, [int(t) // length for t in first], last + 1, None, notes)


def place(
    steps: Steps, column: Float[np.ndarray, "rows"], names: list[str], merge: str, time_of: Callable[[int, int], Any]
) -> list[Float[np.ndarray, "_"]]:
    """The values of each series at its steps, NaN where there is none; values of one step are merged, or refused."""
    where = np.concatenate([[0], np.cumsum(steps.lengths)])
    place = where[steps.series] + steps.step
    flat = np.full(where[-1], np.nan)
    counts = np.bincount(place, minlength=len(flat))
    twice = counts > 1
    if not twice.any() or merge in ("first", "last"):
        rows = slice(None, None, -1) if merge == "first" else slice(None)
        flat[place[rows]] = column[rows]
    elif merge == "refuse":
        raise ValueError(_duplicates(np.flatnonzero(twice), counts, where, names, time_of))
    else:
        there = ~np.isnan(column)
        sums = np.bincount(place[there], weights=column[there], minlength=len(flat))
        n = np.bincount(place[there], minlength=len(flat))
        with np.errstate(invalid="ignore", divide="ignore"):
            flat = sums / n if merge == "mean" else np.where(n > 0, sums, np.nan)
    return [flat[where[i] : where[i + 1]] for i in range(len(names))]


def _duplicates(
    places: Int[np.ndarray, "n"],
    counts: Int[np.ndarray, "steps"],
    where: Int[np.ndarray, "bounds"],
    names: list[str],
    time_of: Callable[[int, int], Any],
) -> str:
    i = int(np.searchsorted(where, places[0], side="right")) - 1
    when = time_of(i, int(places[0] - where[i]))
    return (
        f"a series must have one value for each time, got {int(counts[places[0]])} for {when} of series {names[i]!r} "
        f"({len(places):,} times have more than one); say what to do: --duplicates mean, sum, first or last "
        "(if these rows are of different series, name their column: --series COLUMN)"
    )


def gap_note(values: list[Float[np.ndarray, "_"]], present: Any, names: list[str], time_of: Any) -> str:
    """What to say of steps that no row has: how many, and the first few by series and time; "" if there are none."""
    total, longest, where = 0, 0, ""
    told: list[str] = []
    for i, there in enumerate(present):
        absent = np.flatnonzero(~there)
        total += len(absent)
        if len(absent) and len(told) < _NAMED:
            told.append(f"{names[i]} at {time_of(i, int(absent[0]))}")
        rows = np.flatnonzero(there)
        if len(absent) and len(rows) > 1 and np.diff(rows).max() - 1 > longest:
            at = int(np.diff(rows).argmax())
            longest = int(rows[at + 1] - rows[at]) - 1
            first, last = (time_of(i, int(rows[j])) for j in (at, at + 1))
            where = f"{longest:,} steps of {names[i]} from {first} to {last}"
    if not total:
        return ""
    series = sum(1 for there in present if not there.all())
    return (
        f"{total:,} steps of {series:,} series have no row and count as missing (the first: {'; '.join(told)}"
        f"{f'; the longest gap: {where}' * (longest > 1)}); "
        "--missing zero takes them for 0"
    )


__all__ = ["MERGES", "Steps", "find_steps", "gap_note", "place"]
