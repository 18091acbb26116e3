r"""Series of one frequency: their values, times, calendar and covariates, and cuts of them for backtests.

table.values[i]               the i-th series, NaN where a value is missing
table.times(i, a, b)          when its steps a … b − 1 lie, also beyond its end
table.cut(-30)                the same series without their last 30 values: what was known 30 steps ago
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.fingerprints import Fingerprint, fingerprint_bytes
from cutaway.data.series.frequencies import Frequency, read_frequency
from cutaway.data.series.time_zones import NO_ZONE, Zone
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SeriesTable:
    """Series side by side; they may start and end at different times.

    ``starts`` are timestamps, or whole numbers where there are no dates (``frequency`` is None then).
    ``static`` has a number, or the code of a category (its names are in ``levels``), for every series.
    ``known`` has for every series the covariates that are known ahead, a column for each of ``known_names``: as long as
    its values, or longer by the steps that are known beyond its end.
    """

    name: str
    names: list[str]
    values: list[Float[np.ndarray, "_"]]
    starts: list[Any]
    frequency: str | None = None
    anchor: str = ""  # of monthly series: see `Frequency`
    static: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    known: list[Float[np.ndarray, "_ _"]] = field(default_factory=list)
    known_names: tuple[str, ...] = ()
    fingerprint: Fingerprint = field(default_factory=lambda: fingerprint_bytes(b""))
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of a long table: its series, time and target
    notes: tuple[str, ...] = ()  # what was found out about the data, and how to overrule it
    zone: Zone = NO_ZONE  # of its times as they were given; those inside have none

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def grid(self) -> Frequency | None:
        """What its frequency means: seasons, calendar, steps a year."""
        if self.frequency is None:
            return None
        found = read_frequency(self.frequency)
        return replace(found, anchor=self.anchor) if self.anchor else found

    @property
    def has_dates(self) -> bool:
        """Whether its times are dates; series that have a frequency alone all begin in 1970."""
        first = lambda start: start.year == 1970 and start.day_of_year == 1 and start == start.normalize()
        return self.grid is not None and not all(map(first, self.starts))

    @property
    def lengths(self) -> Int[np.ndarray, "n"]:
        """How many values each series has, missing ones counted."""
        return np.array([len(values) for values in self.values], np.int64)

    @property
    def seasons(self) -> tuple[int, ...]:
        """Steps after which series of this frequency are likely to repeat themselves, the shortest first."""
        return () if self.grid is None else self.grid.seasons

    @property
    def season(self) -> int:
        """The shortest season; 1 if there is none."""
        return self.seasons[0] if self.seasons else 1

    @property
    def is_count(self) -> bool:
        """Whether every value is a whole number of at least 0."""
        return all(bool(((v[~np.isnan(v)] % 1 == 0) & (v[~np.isnan(v)] >= 0)).all()) for v in self.values)

    def times(self, i: int, start: int, stop: int) -> Any:
        """When steps ``start`` to ``stop`` − 1 of series ``i`` lie: a DatetimeIndex, or whole numbers."""
        if self.grid is None:
            return self.starts[i] + np.arange(start, stop)
        return self.grid.times(self.starts[i], start, stop - start)

    def zoned_times(self, i: int, start: int, stop: int) -> Any:
        """As `times`, in the time zone that the series came in: what a person is shown."""
        return self.zone.back(self.times(i, start, stop))

    def clock_times(self, i: int, start: int, stop: int) -> Any:
        """As `zoned_times`, as clocks there show them: for pictures and messages."""
        times = self.zoned_times(i, start, stop)
        return times.tz_localize(None) if self.zone.name and self.grid is not None else times

    @property
    def calendar_names(self) -> tuple[str, ...]:
        """What the columns of `calendar` are: the hour of the day, the day of the week …"""
        return () if self.grid is None else self.grid.calendar_names

    def calendar(self, i: int, start: int, stop: int) -> Float[np.ndarray, "_ _"]:
        """Places in the day, week, month and year of some steps of series ``i``, each from −½ to ½."""
        if self.grid is None:
            return np.zeros((stop - start, 0), np.float32)
        return self.grid.calendar(self.times(i, start, stop))

    def cut(self, end: int | Sequence[int]) -> "SeriesTable":
        """The series up to step ``end``, as in ``values[:end]``: negative to drop so many of the last values.

        A list gives an end for each. Covariates that are known ahead stay as long as they are.
        """
        ends = [end] * len(self) if isinstance(end, (int, np.integer)) else list(end)
        return replace(self, values=[values[:e] for values, e in zip(self.values, ends)])

    def select(self, chosen: Sequence[int]) -> "SeriesTable":
        """Only some of the series, by their numbers."""
        return replace(
            self,
            names=[self.names[i] for i in chosen],
            values=[self.values[i] for i in chosen],
            starts=[self.starts[i] for i in chosen],
            static={name: np.asarray(column)[list(chosen)] for name, column in self.static.items()},
            known=[self.known[i] for i in chosen] if self.known else [],
        )

    def longer_than(self, steps: int) -> tuple["SeriesTable", list[str]]:
        """The series with more than ``steps`` values, and the names of the others."""
        kept = [i for i, length in enumerate(self.lengths) if length > steps]
        short = [self.names[i] for i, length in enumerate(self.lengths) if length <= steps]
        return (self if not short else self.select(kept)), short

    def to_frame(self) -> "pandas.DataFrame":
        """The long table of them: unique_id, ds, y, then covariates; beyond the end of a series y is missing."""
        pd = need("pandas", "series", "a table of series")
        parts = []
        for i, name in enumerate(self.names):
            steps = max(len(self.values[i]), len(self.known[i]) if self.known else 0)
            y = np.full(steps, np.nan)
            y[: len(self.values[i])] = self.values[i]
            columns = {"unique_id": np.full(steps, name, object), "ds": self.zoned_times(i, 0, steps), "y": y}
            if self.known:
                ahead = np.full((steps, len(self.known_names)), np.nan)
                ahead[: len(self.known[i])] = self.known[i]
                columns |= {n: ahead[:, j] for j, n in enumerate(self.known_names)}
            for n, values in self.static.items():
                value = self.levels[n][int(values[i])] if n in self.levels else values[i]
                columns[n] = [value] * steps
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> str:
        """What a person should know before training on it."""
        lengths, total = self.lengths, int(self.lengths.sum())
        missing = sum(int(np.isnan(values).sum()) for values in self.values)
        span = f"{lengths.min():,}" if lengths.min() == lengths.max() else f"{lengths.min():,} to {lengths.max():,}"
        first = f"{self.name}: {len(self):,} series of {span} values"
        if self.grid is not None:
            seasons = f", season {' and '.join(map(str, self.seasons))}" if self.seasons else ""
            first += f", frequency {self.frequency}{seasons}"
            first += f", from {min(self.starts):%Y-%m-%d %H:%M}"
        else:
            first += ", without dates"
        gaps = f"; {missing:,} of {total:,} values are missing" if missing else ""
        extra = [f"known ahead: {', '.join(self.known_names)}"] if self.known_names else []
        extra += [f"static: {', '.join(self.static)}"] if self.static else []
        lines = [first + gaps, *(f"{self.name}: {note}" for note in (*extra, *self.notes))]
        return "\n".join([*lines, f"digest: sha256 {self.fingerprint.digest}"])


__all__ = ["SeriesTable"]
