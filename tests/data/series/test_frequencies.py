"""Frequencies: names, inference with gaps, times of steps, seasons and calendars."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cutaway.data.series.frequencies import infer_frequency, read_frequency


@pytest.mark.parametrize(
    "name", ["s", "15min", "h", "2h", "D", "B", "W-SUN", "W-WED", "MS", "ME", "QS", "QE", "YS", "YE", "2MS", "BME"]
)
def test_times_are_those_of_pandas(name: str):
    expected = pd.date_range("2019-12-28 00:00", periods=40, freq=name).as_unit("us")
    frequency = read_frequency(name)
    assert frequency.times(expected[0], 0, 40).equals(expected)
    assert frequency.times(expected[0], 7, 5).equals(expected[7:12])
    steps = frequency.ordinals(expected, frequency.phase(expected[0]))
    np.testing.assert_array_equal(steps - steps[0], np.arange(40))


@pytest.mark.parametrize("name", ["s", "15min", "h", "6h", "D", "B", "W-SUN", "MS", "ME", "QS-JAN", "QE-DEC", "YS-JAN"])
def test_a_frequency_is_found_in_spite_of_gaps(name: str):
    times = pd.date_range("2018-01-01", periods=60, freq=name).as_unit("us").delete([5, 6, 31])
    found = infer_frequency(times)
    assert found is not None
    assert found.name.split("-")[0] == name.split("-")[0]
    np.testing.assert_array_equal(np.diff(found.ordinals(times, found.phase(times[0]))), _jumps())


def _jumps() -> np.ndarray:
    jumps = np.ones(56, np.int64)
    jumps[4], jumps[28] = 3, 2
    return jumps


def test_months_may_begin_on_any_day():
    times = pd.DatetimeIndex(["2023-01-31", "2023-02-28", "2023-03-31", "2023-05-31"])
    assert infer_frequency(times).name == "ME"
    times = pd.DatetimeIndex(["2023-01-15", "2023-02-15", "2023-03-15", "2023-05-15"]).as_unit("us")
    found = infer_frequency(times)
    assert found.anchor == "day"
    assert found.times(times[0], 3, 2).equals(pd.DatetimeIndex(["2023-04-15", "2023-05-15"]).as_unit("us"))


def test_a_daily_series_over_weekends_is_not_business():
    assert infer_frequency(pd.date_range("2024-01-01", periods=30)).name == "D"
    assert infer_frequency(pd.bdate_range("2024-01-01", periods=30)).name == "B"


def test_irregular_times_have_no_frequency():
    times = pd.DatetimeIndex(["2024-01-01 00:00", "2024-01-01 00:07", "2024-01-01 01:13", "2024-01-01 02:02"])
    assert infer_frequency(times) is None
    assert infer_frequency(times[:1]) is None


def test_a_daylight_saving_shift_is_a_step_of_hours():
    times = pd.date_range("2024-01-01", periods=100, freq="h").delete(50)
    assert infer_frequency(times).name == "h"


@pytest.mark.parametrize(
    ("name", "seasons", "year"),
    [
        ("h", (24, 168), 8766), ("D", (7,), 365), ("B", (5,), 261), ("W", (52,), 52), ("MS", (12,), 12),
        ("QS", (4,), 4), ("YS", (), 1), ("30min", (48, 336), 17532), ("4h", (6, 42), 2191), ("SMS", (24,), 24),
    ],
)  # fmt: skip
def test_seasons_and_steps_a_year(name: str, seasons: tuple[int, ...], year: float):
    assert read_frequency(name).seasons == seasons
    assert read_frequency(name).steps_a_year == pytest.approx(year, rel=0.02)


def test_names_of_older_pandas():
    assert read_frequency("M").name == "ME"
    assert read_frequency("15T").name == "15min"
    assert read_frequency("H").name == "h"


@pytest.mark.parametrize("name", ["fortnight", "", "-1D", "0h"])
def test_an_unknown_frequency_is_named(name: str):
    with pytest.raises(ValueError, match=rf"frequency must be one that pandas knows, got '{name}'; try one of s, min"):
        read_frequency(name)


def test_the_calendar_goes_from_minus_a_half_to_a_half():
    frequency = read_frequency("h")
    times = pd.date_range("2023-01-01", "2023-12-31 23:00", freq="h")
    calendar = frequency.calendar(times)
    assert calendar.shape == (8760, len(frequency.calendar_names))
    assert calendar.dtype == np.float32
    assert calendar.min() == -0.5
    assert calendar[:, :3].max() == 0.5
    assert calendar[0].tolist() == [-0.5, 0.5, -0.5, -0.5]  # midnight, a Sunday, the first of January
    assert read_frequency("YS").calendar(times[:3]).shape == (3, 0)


@pytest.mark.parametrize(
    "name",
    [
        "BME", "BMS", "2BME", "BQE", "BQS", "BYE", "BYS", "WOM-3FRI", "LWOM-FRI", "SME-15", "SMS-15", "SMS-16",
        "SME-10",
    ],
)  # fmt: skip
def test_places_in_the_month_are_found_and_go_on(name: str):
    whole = pd.date_range("2019-01-01", periods=40, freq=name).as_unit("us")
    found = infer_frequency(whole[:30])
    assert found is not None
    assert found.name == name
    assert found.times(whole[0], 0, 40).equals(whole)
    assert found.times(whole[10], -10, 10).equals(whole[:10])  # before the start too
    again = replace(read_frequency(found.name), anchor=found.anchor)
    np.testing.assert_array_equal(np.diff(again.ordinals(whole, again.phase(whole[0]))), 1)
    gaps = infer_frequency(whole[:30].delete([4, 9, 10]))
    assert gaps is not None
    assert gaps.name == name
