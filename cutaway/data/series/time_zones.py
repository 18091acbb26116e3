r"""Time zones of series: times count in UTC inside, so that no hour is missing or double, and come back in their zone.

    2024-03-31T01:00+01:00 · 2024-03-31 01:00 Europe/Berlin · 2024-03-31T01:00+01:00[Europe/Berlin] · 2024-03-31 01:00Z

Times at one hour of the day (a value a day, at midnight for one) count as they are written: a day is a day there, also
when clocks change.
"""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_OFFSET = re.compile(r"(?<=[\d:.])\s*(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)$")
_NAME = re.compile(r"\s*\[?([A-Z][A-Za-z]+(?:/[A-Za-z_+-]+\d*)+|UTC|GMT)\]?$")
_CLOCK = re.compile(r"\d[T ]\d\d?:?\d\d")


class Zone(NamedTuple):
    """A time zone by its name ("Europe/Berlin", "+02:00"); "" for none. ``wall``: times inside are as on its clocks."""

    name: str = ""
    wall: bool = False
    note: str = ""

    def back(self, times: Any) -> Any:
        """Times as they are inside, in this zone; steps without dates stay as they are."""
        if not self.name or not hasattr(times, "tz_localize"):
            return times
        zone = read_zone(self.name)
        if not self.wall:
            return times.tz_localize("UTC").tz_convert(zone)
        need("pandas", "series", "reading series")
        return times.tz_localize(zone, ambiguous=[True] * len(times), nonexistent="shift_forward")


NO_ZONE = Zone()


def read_zone(name: str) -> tzinfo:
    """The zone of a name: Europe/Berlin, UTC, Z, +02:00.

    >>> read_zone("+05:30").utcoffset(None)
    datetime.timedelta(seconds=19800)
    """
    if name in ("Z", "UTC", "GMT", "+00:00"):
        return UTC
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", name)
    if found:
        away = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return timezone(-away if found[1] == "-" else away)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"a time zone must be known, got {name!r}; write it as Europe/Berlin or as +02:00") from None


class ZonedTexts(NamedTuple):
    """Times as text without their zones; ``zone`` of the last, ``offsets`` or names of all, "" where there is none."""

    texts: "pandas.Series"
    names: list[str]
    offsets: list[str]


def split_zones(texts: "pandas.Series") -> ZonedTexts | None:
    """Texts of times without the zones at their ends; None if none has any."""
    if not texts.str.contains(_CLOCK, regex=True).any():
        return None
    bare, names, offsets = [], [], []
    for text in texts:
        named = _NAME.search(text)
        rest = text[: named.start()] if named else text
        away = _OFFSET.search(rest) if _CLOCK.search(rest) else None
        bare.append(rest[: away.start()] if away else rest)
        names.append(named[1] if named else "")
        offsets.append(away[1] if away else "")
    if not any(names) and not any(offsets):
        return None
    pd = need("pandas", "series", "reading series")
    return ZonedTexts(pd.Series(bare, index=texts.index), names, offsets)


def in_utc(walls: "pandas.Series", zoned: ZonedTexts, file: str) -> "tuple[pandas.DatetimeIndex, Zone]":
    """Times without a zone, and the zone that they come back in: as written at one hour of the day, else in UTC."""
    pd = need("pandas", "series", "reading series")
    told = [name or offset for name, offset in zip(zoned.names, zoned.offsets, strict=True)]
    kinds = list(dict.fromkeys(_spelled(each) for each in told))
    if "" in kinds:
        row = told.index("")
        raise ValueError(
            f"all times must have a zone, or none of them, got none in row {row + 1:,} of {file} where others have "
            f"{next(kind for kind in kinds if kind)}; write all in one way"
        )
    # one name for all, else the offset of the latest time
    index = pd.DatetimeIndex(walls)
    last = int(index.argmax())
    name = _spelled(told[last])
    shown = ", ".join(sorted(kinds)[:3])
    note = f"times are of {len(kinds)} zones ({shown}): they come back in that of the last, {name}" * (len(kinds) > 1)
    if one_clock(index):
        return index.as_unit("us"), Zone(name, True, note)
    if len(kinds) == 1 and not any(zoned.offsets):
        try:
            local = index.tz_localize(read_zone(name), ambiguous="infer", nonexistent="shift_forward")
        except ValueError:  # an hour that comes twice, and no order that says which
            local = index.tz_localize(read_zone(name), ambiguous=[True] * len(index), nonexistent="shift_forward")
        return local.tz_convert("UTC").tz_localize(None).as_unit("us"), Zone(name, False, note)
    away = [_away(offset or each, when) for offset, each, when in zip(zoned.offsets, told, index, strict=True)]
    return (index - pd.to_timedelta(away)).as_unit("us"), Zone(name, False, note)


def without_zone(when: "pandas.DatetimeIndex") -> "tuple[pandas.DatetimeIndex, Zone]":
    """Times without their zone, and the zone; in UTC, but as on the clock if that is at one hour of the day."""
    if when.tz is None:
        return when.as_unit("us"), NO_ZONE
    name, local = _zone_name(when.tz), when.tz_localize(None)
    if one_clock(local):
        return local.as_unit("us"), Zone(name, True)
    return when.tz_convert("UTC").tz_localize(None).as_unit("us"), Zone(name)


def one_clock(times: "pandas.DatetimeIndex") -> bool:
    """Whether all times are of one time of the day."""
    return len(times) > 0 and bool(((times - times.normalize()) == times[0] - times[0].normalize()).all())


def _zone_name(zone: Any) -> str:
    """A name that `read_zone` knows: Europe/Berlin, or how far it is from UTC."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None) or str(zone)
    if name.startswith("UTC") and len(name) > 3:  # UTC+02:00
        name = name[3:]
    return "+00:00" if name in ("UTC", "Z", "GMT") else name


def _spelled(name: str) -> str:
    """+0200, +02 and Z as +02:00 and +00:00; names as they are."""
    if name in ("Z", "UTC", "GMT"):
        return "+00:00"
    found = re.fullmatch(r"([+-]\d\d):?(\d\d)?", name)
    return f"{found[1]}:{found[2] or '00'}" if found else name


def _away(name: str, when: "pandas.Timestamp") -> timedelta:
    found = read_zone(_spelled(name)).utcoffset(when.to_pydatetime(warn=False))
    return timedelta(0) if found is None else found


__all__ = ["NO_ZONE", "Zone", "ZonedTexts", "in_utc", "one_clock", "read_zone", "split_zones", "without_zone"]
