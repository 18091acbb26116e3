"""Time zones: UTC inside, the zone of the input outside."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data.series.series_reading import read_series
from cutaway.data.series.series_table import SeriesTable
from cutaway.data.series.time_zones import NO_ZONE, Zone, read_zone

HOURS = pd.date_range("2024-10-26 20:00", periods=12, freq="h", tz="Europe/Berlin")  # clocks go back at 3:00


def read(times) -> SeriesTable:
    return read_series(pd.DataFrame({"ds": times, "y": np.arange(float(len(times)))}))


@pytest.mark.parametrize("way", ["{:%Y-%m-%d %H:%M} Europe/Berlin", "{:%Y-%m-%dT%H:%M%z}[Europe/Berlin]", "zoned"])
def test_hours_over_a_change_of_clocks_come_back_in_their_zone(way: str):
    table = read(HOURS if way == "zoned" else [way.format(hour) for hour in HOURS])
    assert table.frequency == "h"
    assert len(table.values[0]) == 12  # no hour is missing or double
    assert table.zone == Zone("Europe/Berlin")
    ahead = table.zoned_times(0, 12, 14)
    assert ahead.tolist() == [HOURS[-1] + pd.Timedelta(hours=n) for n in (1, 2)]
    assert str(ahead[0]) == "2024-10-27 07:00:00+01:00"
    assert table.clock_times(0, 12, 13)[0] == pd.Timestamp("2024-10-27 07:00")
    assert read(table.to_frame()["ds"]).zone.name == "Europe/Berlin"


@pytest.mark.parametrize(
    ("offset", "name"), [("Z", "+00:00"), (" UTC", "+00:00"), ("+0530", "+05:30"), ("-08", "-08:00")]
)
def test_offsets_come_back(offset: str, name: str):
    table = read([f"2024-01-01 0{hour}:00{offset}" for hour in range(5)])
    assert table.zone == Zone(name)
    assert str(table.zoned_times(0, 5, 6)[0]) == f"2024-01-01 05:00:00{name}"


def test_of_several_offsets_the_last_is_taken_and_told():
    table = read([hour.isoformat() for hour in HOURS])
    assert len(table.values[0]) == 12
    assert table.zone.name == "+01:00"
    assert "times are of 2 zones (+01:00, +02:00): they come back in that of the last, +01:00" in table.summary()


@pytest.mark.parametrize("clock", ["00:00", "08:00"])
def test_a_time_a_day_is_a_day_also_when_clocks_change(clock: str):
    days = pd.date_range(f"2024-03-28 {clock}", periods=6, freq="D", tz="Europe/Berlin")
    for times in (days, [day.isoformat() for day in days]):
        table = read(times)
        assert table.frequency == "D"
        assert str(table.zoned_times(0, 6, 7)[0]) == f"2024-04-03 {clock}:00+02:00"


def test_without_a_zone_there_is_none():
    table = read(["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:00"])
    assert table.zone == NO_ZONE
    assert table.zoned_times(0, 3, 4).tz is None


def test_zones_that_are_unknown_or_missing_in_a_row_are_told():
    with pytest.raises(ValueError, match=r"all times must have a zone, or none of them, got none in row 2"):
        read(["2024-01-01T00:00Z", "2024-01-01T01:00", "2024-01-01T02:00Z"])
    with pytest.raises(ValueError, match=r"a time zone must be known, got 'Mars/Base'"):
        read_zone("Mars/Base")
