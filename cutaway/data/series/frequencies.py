r"""The frequency of a series: how far apart its steps are, the seasons that repeat, and its calendar.

    step k of a series that starts at t₀ lies at     t₀ + k · length          seconds … weeks
                                                     the k-th business day    B
                                                     t₀ + k · n months        months, quarters, years
                                                     two days of each month   half-months

Names are those of pandas: "h", "15min", "D", "B", "W-SUN", "MS", "BME", "LWOM-FRI", "SME", "QS", "YS" …
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

SECOND, MINUTE, HOUR, DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86_400 * 10**6  # microseconds
# Names that pandas no longer takes, and that files and books are full of.
_OLD_NAMES = {"H": "h", "T": "min", "M": "ME", "Q": "QE", "Y": "YE", "A": "YE", "S": "s", "L": "ms", "BM": "BME"}
KNOWN = "s, min, 15min, h, D, B, W, MS, ME, BME, SMS, QS, QE, YS, YE"
_WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


@dataclass(frozen=True)
class Frequency:
    """A pandas frequency: ``kind`` says what its step is counted in, ``step`` how many of those.

    ``kind`` is "fixed" (microseconds), "business" (days from Monday to Friday), "months", "half-months", or "listed":
    any other frequency that pandas can list. ``anchor`` is the place in a month: "start", "end", "business start",
    "business end", "day", the day that the series starts on, or a weekday: "3FRI" for the third Friday, "LFRI" for the
    last. Of half-months it is "start 15", the 1st and the 15th, or "end 15", the 15th and the last.
    """

    name: str
    kind: str
    step: int
    anchor: str = ""

    def ordinals(self, times: "pandas.DatetimeIndex", phase: int = 0) -> Int[np.ndarray, "n"]:
        """The number of each time's step, counted from 1970; ``phase`` shifts the steps, in units of the kind."""
        if self.kind == "fixed":
            return (_ticks(times) - phase) // self.step
        if self.kind == "business":
            return (np.busday_count("1970-01-01", times.to_numpy("datetime64[D]")) - phase) // self.step
        if self.kind == "months":
            return (times.year.to_numpy(np.int64) * 12 + times.month.to_numpy(np.int64) - 1 - phase) // self.step
        if self.kind == "half-months":
            months = times.year.to_numpy(np.int64) * 12 + times.month.to_numpy(np.int64) - 1
            place, day = self.anchor.split()
            second = times.day.to_numpy() >= int(day) if place == "start" else times.day.to_numpy() > int(day)
            return (2 * months + second - phase) // self.step
        pd = need("pandas", "series", "reading series")
        steps = pd.date_range(
            times.min() - 2 * pd.tseries.frequencies.to_offset(self.name), times.max(), freq=self.name
        )
        return np.searchsorted(steps.to_numpy(), times.to_numpy(), side="right").astype(np.int64)

    def phase(self, time: "pandas.Timestamp") -> int:
        """What is left of a time after whole steps from 1970: times of one series share it."""
        pd = need("pandas", "series", "reading series")
        one = Frequency(self.name, self.kind, 1, self.anchor)
        return 0 if self.kind == "listed" else int(one.ordinals(pd.DatetimeIndex([time]))[0]) % self.step

    def times(self, start: "pandas.Timestamp", first: int, count: int) -> "pandas.DatetimeIndex":
        """The times of steps ``first`` to ``first`` + ``count`` − 1 of a series that starts at ``start``."""
        pd = need("pandas", "series", "reading series")
        steps = np.arange(first, first + count)
        if self.kind == "fixed":
            return pd.DatetimeIndex(
                np.datetime64(start.to_datetime64(), "us") + steps * np.timedelta64(self.step, "us")
            )
        if self.kind == "business":
            day = np.datetime64(start.to_datetime64(), "D")
            clock = start - start.normalize()
            return pd.DatetimeIndex(np.busday_offset(day, steps * self.step, roll="forward")).as_unit("us") + clock
        if self.kind == "months":
            return self._months(start, steps * self.step)
        if self.kind == "half-months":
            return self._half_months(start, steps * self.step)
        listed = pd.date_range(start, periods=max(first + count, 1), freq=self.name)
        return listed[first : first + count]

    def _months(self, start: "pandas.Timestamp", ahead: Int[np.ndarray, "n"]) -> "pandas.DatetimeIndex":
        pd = need("pandas", "series", "reading series")
        months = np.datetime64(start.to_datetime64(), "M") + ahead
        starts = pd.DatetimeIndex(months.astype("datetime64[D]")).as_unit("us")
        if self.anchor == "start":
            return starts
        if self.anchor == "end":
            return pd.DatetimeIndex((months + 1).astype("datetime64[D]") - 1).as_unit("us")
        if self.anchor == "business start":
            return pd.DatetimeIndex(np.busday_offset(starts.to_numpy("datetime64[D]"), 0, roll="forward")).as_unit("us")
        if self.anchor == "business end":
            ends = (months + 1).astype("datetime64[D]") - 1
            return pd.DatetimeIndex(np.busday_offset(ends, 0, roll="backward")).as_unit("us")
        if self.anchor[-3:] in _WEEKDAYS:
            return self._weekdays(starts)
        days = np.minimum(start.day, starts.days_in_month.to_numpy()) - 1
        return starts + pd.to_timedelta(days, unit="D") + (start - start.normalize())

    def _weekdays(self, starts: "pandas.DatetimeIndex") -> "pandas.DatetimeIndex":
        """The third Friday (or the last) of each month."""
        pd = need("pandas", "series", "reading series")
        weekday, week = _WEEKDAYS.index(self.anchor[-3:]), self.anchor[:-3]
        first = (weekday - starts.day_of_week.to_numpy()) % 7  # days from the first of a month
        days = first + 7 * ((starts.days_in_month.to_numpy() - 1 - first) // 7 if week == "L" else int(week) - 1)
        return starts + pd.to_timedelta(days, unit="D")

    def _half_months(self, start: "pandas.Timestamp", ahead: Int[np.ndarray, "n"]) -> "pandas.DatetimeIndex":
        pd = need("pandas", "series", "reading series")
        place, day = self.anchor.split()
        halves = int(self.ordinals_of_one(start)) + ahead
        months = (halves // 2 - 1970 * 12).astype("datetime64[M]")
        starts = months.astype("datetime64[D]")
        middle = starts + int(day) - 1
        ends = (months + 1).astype("datetime64[D]") - 1
        found = np.where(halves % 2 == 1, *((middle, starts) if place == "start" else (ends, middle)))
        return pd.DatetimeIndex(found).as_unit("us") + (start - start.normalize())

    def ordinals_of_one(self, time: "pandas.Timestamp") -> int:
        """The number of a time's step, counted from year 0 in single units."""
        pd = need("pandas", "series", "reading series")
        return int(Frequency(self.name, self.kind, 1, self.anchor).ordinals(pd.DatetimeIndex([time]))[0])

    @property
    def seasons(self) -> tuple[int, ...]:
        """Steps after which a series is likely to repeat itself, the shortest first; () if none is known.

        >>> read_frequency("h").seasons, read_frequency("15min").seasons, read_frequency("B").seasons
        ((24, 168), (96, 672), (5,))
        """
        if self.kind == "business":
            return (5 // self.step,) if 5 % self.step == 0 and self.step < 5 else ()
        if self.kind == "months":
            return (12 // self.step,) if 12 % self.step == 0 and self.step < 12 else ()
        if self.kind == "half-months":
            return (24 // self.step,) if 24 % self.step == 0 and self.step < 24 else ()
        if self.kind == "listed":
            return ()
        if self.step % (7 * DAY) == 0:
            return (max(52 * 7 * DAY // self.step, 1),) if self.step < 182 * DAY else ()
        spans = (MINUTE, HOUR) if self.step < SECOND * 10 else (DAY, 7 * DAY)
        return tuple(span // self.step for span in spans if span % self.step == 0 and span > self.step)

    @property
    def usual_horizon(self) -> int:
        """Steps that people forecast at this frequency; those of the M4 competition (Makridakis et al. 2020).

        >>> [read_frequency(name).usual_horizon for name in ("h", "D", "W", "MS", "QS", "YS")]
        [48, 14, 13, 18, 8, 6]
        """
        if self.kind == "months":
            return {1: 18, 3: 8}.get(self.step, 6)
        if self.kind == "business":
            return 10
        if self.kind in ("listed", "half-months") or self.step % (7 * DAY) == 0:
            return 13
        return 14 if self.step % DAY == 0 else 48

    @property
    def steps_a_year(self) -> float:
        """How many steps a year has, about."""
        if self.kind == "months":
            return 12 / self.step
        if self.kind == "half-months":
            return 24 / self.step
        if self.kind == "business":
            return 365.2425 * 5 / 7 / self.step
        if self.kind == "fixed":
            return 365.2425 * DAY / self.step
        pd = need("pandas", "series", "reading series")
        return len(pd.date_range("2000-01-01", "2004-01-01", freq=self.name)) / 4

    @property
    def calendar_names(self) -> tuple[str, ...]:
        """The places in the calendar that steps of this length go through."""
        if self.kind == "months":
            return ("month of year",) if self.step < 12 else ()
        if self.kind in ("listed", "half-months") or (self.kind == "fixed" and self.step % (7 * DAY) == 0):
            return ("day of month", "day of year")
        days = ("day of week", "day of month", "day of year")
        if self.kind == "business" or self.step % DAY == 0:
            return days
        finer = ("second of minute", "minute of hour", "hour of day", *days)
        return finer[2:] if self.step % HOUR == 0 else finer[1:] if self.step % MINUTE == 0 else finer

    def calendar(self, times: "pandas.DatetimeIndex") -> Float[np.ndarray, "n features"]:
        """The place of each time in the cycles of `calendar_names`, from −½ (the first) to ½ (the last)."""
        columns = [_PLACES[name](times) for name in self.calendar_names]
        return np.stack(columns, 1).astype(np.float32) if columns else np.zeros((len(times), 0), np.float32)


_PLACES: dict[str, Any] = {
    "second of minute": lambda t: t.second.to_numpy() / 59 - 0.5,
    "minute of hour": lambda t: t.minute.to_numpy() / 59 - 0.5,
    "hour of day": lambda t: t.hour.to_numpy() / 23 - 0.5,
    "day of week": lambda t: t.day_of_week.to_numpy() / 6 - 0.5,
    "day of month": lambda t: (t.day.to_numpy() - 1) / 30 - 0.5,
    "day of year": lambda t: (t.day_of_year.to_numpy() - 1) / 365 - 0.5,
    "month of year": lambda t: (t.month.to_numpy() - 1) / 11 - 0.5,
}


def _ticks(times: "pandas.DatetimeIndex") -> Int[np.ndarray, "n"]:
    return times.to_numpy("datetime64[us]").astype(np.int64)


def read_frequency(name: str) -> Frequency:
    """The frequency of a pandas name; names of older versions (H, M, Q …) are taken too."""
    pd = need("pandas", "series", "reading series")
    text = name.strip()
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    offset = None
    for spelled in (text, digits + _OLD_NAMES.get(text[len(digits) :], text[len(digits) :])):
        try:
            offset = pd.tseries.frequencies.to_offset(spelled)
            break
        except (ValueError, TypeError):
            continue
    if offset is None or offset.n < 1:
        raise ValueError(f"frequency must be one that pandas knows, got {name!r}; try one of {KNOWN}")
    kinds, n, code = pd.offsets, int(offset.n), offset.freqstr
    lengths = {
        kinds.Micro: 1, kinds.Milli: 1000, kinds.Second: SECOND, kinds.Minute: MINUTE, kinds.Hour: HOUR,
        kinds.Day: DAY, kinds.Week: 7 * DAY,
    }  # fmt: skip
    if type(offset) in lengths:
        return Frequency(code, "fixed", n * lengths[type(offset)])
    if type(offset) is kinds.BusinessDay:
        return Frequency(code, "business", n)
    for part, months in (("Month", 1), ("Quarter", 3), ("Year", 12)):
        for before, business in (("B", "business "), ("", "")):
            for anchor in ("Begin", "End"):
                if type(offset).__name__ in (f"{before}{part}{anchor}", f"Business{part}{anchor}" * bool(before)):
                    place = business + {"Begin": "start", "End": "end"}[anchor]
                    return Frequency(code, "months", n * months, place)
    if isinstance(offset, kinds.WeekOfMonth):
        return Frequency(code, "months", n, f"{offset.week + 1}{_WEEKDAYS[offset.weekday]}")
    if isinstance(offset, kinds.LastWeekOfMonth):
        return Frequency(code, "months", n, f"L{_WEEKDAYS[offset.weekday]}")
    if isinstance(offset, (kinds.SemiMonthBegin, kinds.SemiMonthEnd)):
        place = "start" if isinstance(offset, kinds.SemiMonthBegin) else "end"
        return Frequency(code, "half-months", n, f"{place} {offset.day_of_month}")
    return Frequency(code, "listed", 1)


def infer_frequency(times: "pandas.DatetimeIndex") -> Frequency | None:
    """The frequency of sorted, distinct times, which may have gaps; None if they lie at no regular distance."""
    if len(times) < 2:
        return None
    ticks = _ticks(times)
    apart = np.diff(ticks)
    lengths, counts = np.unique(apart, return_counts=True)
    usual = int(lengths[np.argmax(counts)])
    clocks = ticks % DAY
    if (clocks == clocks[0]).all():
        calendar = _of_days(times, apart // DAY, usual // DAY)
        if calendar is not None:
            return calendar
    if (apart % usual).any():  # a few shorter steps: the greatest length that all are a multiple of
        shortest = int(np.gcd.reduce(apart))
        if counts[np.argmax(counts)] < 0.5 * len(apart) or usual // shortest > 12:
            return None
        usual = shortest
    return read_frequency(_fixed_name(usual, times[0]))


def _fixed_name(length: int, first: "pandas.Timestamp") -> str:
    if length % (7 * DAY) == 0:
        n = length // (7 * DAY)
        return f"{n if n > 1 else ''}W-{first.day_name()[:3].upper()}"
    for unit, size in (("D", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND), ("ms", 1000), ("us", 1)):
        if length % size == 0:
            n = length // size
            return f"{n if n > 1 else ''}{unit}"
    raise AssertionError(length)


def _of_days(times: "pandas.DatetimeIndex", apart: Int[np.ndarray, "n"], usual: int) -> Frequency | None:
    """Months, weeks and days."""
    days, last = times.day.to_numpy(), times.days_in_month.to_numpy()
    at_start, at_end, same = (days == 1).all(), (days == last).all(), (days == np.minimum(days.max(), last)).all()
    if apart.min() >= 28 and (at_start or at_end or same):
        months = np.diff(times.year.to_numpy() * 12 + times.month.to_numpy())
        found, counts = np.unique(months, return_counts=True)
        n = int(found[np.argmax(counts)])
        n = n if not (months % n).any() else int(np.gcd.reduce(months))
        anchor = "start" if at_start else "end" if at_end else "day"
        letter = "S" if at_start or not at_end else "E"
        code, count = ("Y", n // 12) if n % 12 == 0 else ("Q", n // 3) if n % 3 == 0 else ("M", n)
        return Frequency(f"{count if count > 1 else ''}{code}{letter}", "months", n, anchor)
    if apart.min() >= 26:
        monthly = _of_business_months(times)
        if monthly is not None:
            return monthly
    half = _of_half_months(days, last, apart)
    if half is not None:
        return half
    if usual < 1:
        return None
    if usual == 1 and len(times) > 10 and not (times.day_of_week.to_numpy() > 4).any():
        return read_frequency("B")
    return read_frequency(_fixed_name(usual * DAY, times[0])) if not (apart % usual).any() else None


def _of_business_months(times: "pandas.DatetimeIndex") -> Frequency | None:
    """The first or last business day of months, or a weekday such as the third or the last Friday of them."""
    months = times.to_numpy("datetime64[M]")
    found = times.to_numpy("datetime64[D]")
    starts, ends = months.astype("datetime64[D]"), (months + 1).astype("datetime64[D]") - 1
    apart = np.diff(months.astype(np.int64))
    if not (apart > 0).all():
        return None
    n = int(np.gcd.reduce(apart))
    letter, count = ("Y", n // 12) if n % 12 == 0 else ("Q", n // 3) if n % 3 == 0 else ("M", n)
    many = f"{count if count > 1 else ''}"
    if (found == np.busday_offset(ends, 0, roll="backward")).all():
        return Frequency(f"{many}B{letter}E", "months", n, "business end")
    if (found == np.busday_offset(starts, 0, roll="forward")).all():
        return Frequency(f"{many}B{letter}S", "months", n, "business start")
    weekdays, weeks = times.day_of_week.to_numpy(), (times.day.to_numpy() - 1) // 7 + 1
    if len(times) < 4 or (weekdays != weekdays[0]).any():
        return None
    day, many = _WEEKDAYS[int(weekdays[0])], f"{n if n > 1 else ''}"
    if (ends - found < np.timedelta64(7, "D")).all():
        return Frequency(f"{many}LWOM-{day}", "months", n, f"L{day}")
    if (weeks == weeks[0]).all() and weeks[0] < 5:
        return Frequency(f"{many}WOM-{weeks[0]}{day}", "months", n, f"{weeks[0]}{day}")
    return None


def _of_half_months(
    days: Int[np.ndarray, "n"], last: Int[np.ndarray, "n"], apart: Int[np.ndarray, "m"]
) -> Frequency | None:
    """Two days of each month: the 1st and another, or one and the last."""
    if len(days) < 4 or apart.min() < 10:
        return None
    for place, edge in (("start", days == 1), ("end", days == last)):
        others = np.unique(days[~edge])
        if edge.any() and len(others) == 1 and 2 <= others[0] <= 27:
            return Frequency(f"SM{place[0].upper()}-{others[0]}", "half-months", 1, f"{place} {others[0]}")
    return None


__all__ = ["KNOWN", "Frequency", "infer_frequency", "read_frequency"]
