"""Kinds of columns, found from values as they come, and their statistics."""

import datetime

import numpy as np
import pandas as pd
import pytest

from cutaway.data.tables.columns import (
    column_numbers,
    find_column,
    measure_column,
    plain_text,
    word_codes,
)

N = 30
CASES = {
    "floats": ([0.5 * i for i in range(N)], "number"),
    "few whole numbers": ([i % 3 for i in range(N)], "number"),
    "numbers with gaps": ([None if i % 4 == 0 else i % 7 for i in range(N)], "number"),
    "zeros and ones": ([i % 2 for i in range(N)], "flag"),
    "zeros and ones with gaps": ([None if i % 5 == 0 else float(i % 2) for i in range(N)], "flag"),
    "bools": ([i % 2 == 0 for i in range(N)], "flag"),
    "yes and no": (["Yes" if i % 3 else "No" for i in range(N)], "flag"),
    "two words": (["left" if i % 3 else "right" for i in range(N)], "category"),
    "one word or nothing": (["x" if i % 3 else None for i in range(N)], "category"),
    "words": ([("red", "green", "blue")[i % 3] for i in range(N)], "category"),
    "iso dates": ([f"2024-01-{i + 1:02}" for i in range(N)], "date"),
    "months": ([f"{1990 + i}-07" for i in range(N)], "date"),
    "german dates": ([f"{i % 28 + 1:02}.12.2023" for i in range(N)], "date"),
    "dates with zones": ([f"2024-01-{i + 1:02}T10:00:00+02:00" for i in range(N)], "date"),
    "timestamps": ([pd.Timestamp(2024, 1, 1) + pd.Timedelta(hours=i) for i in range(N)], "date"),
    "datetimes": ([datetime.datetime(2024, 1, i + 1) for i in range(N)], "date"),
    "sentences": ([f"this is sentence number {i}" for i in range(N)], "text"),
    "codes": ([f"id-{i * 7919 % 1000:04}" for i in range(N)], "ignored"),
    "row numbers": (list(range(N)), "ignored"),
    "row numbers mixed up": ([(i * 7) % N + 100 for i in range(N)], "ignored"),
    "constant": ([7] * N, "ignored"),
    "nothing": ([None] * N, "ignored"),
    "lists": ([[1, 2]] * N, "ignored"),
    "complex": ([1j * i for i in range(N)], "ignored"),
}


@pytest.mark.parametrize("case", CASES)
def test_kinds(case):
    values, kind = CASES[case]
    assert find_column(pd.Series(values, name="x")).kind == kind


def test_pandas_categories_are_categories():
    assert find_column(pd.Series([i % 5 for i in range(N)], name="x").astype("category")).kind == "category"


def test_few_rows_may_differ_without_being_names():
    assert find_column(pd.Series([3, 1, 2], name="x")).kind == "number"
    assert find_column(pd.Series(["a", "b", "c"], name="x")).kind == "category"


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("constant", "constant: 7"),
        ("nothing", "only missing values"),
        ("row numbers mixed up", "numbers the rows, 100 to 129"),
        ("codes", "names the rows: 30 different in 30"),
        ("lists", "values are not single numbers or words"),
        ("sentences", "free text: not used by models of tables"),
    ],
)
def test_reasons(case, reason):
    assert find_column(pd.Series(CASES[case][0], name="x")).reason == reason


def test_statistics_by_hand():
    series = pd.Series([1.0, None, 3.0, 8.0], name="x")
    column = measure_column(find_column(series), series)
    assert (column.missing, column.mean, column.low, column.high) == (0.25, 4.0, 1.0, 8.0)
    assert column.std == pytest.approx(np.sqrt((9 + 1 + 16) / 3))  # of the values that there are
    assert column.numbers == ("x", "x (missing)")


def test_a_number_that_does_not_vary_in_training_keeps_its_scale():
    column = measure_column(find_column(pd.Series([0.1, 0.1, 0.7], name="x")), pd.Series([0.1] * 3, name="x"))
    assert column.std == 1.0
    empty = measure_column(find_column(pd.Series([1.0, 2.0, None], name="x")), pd.Series([None], name="x", dtype=float))
    assert (empty.mean, empty.std, empty.missing) == (0.0, 1.0, 1.0)


def test_categories_are_those_of_the_rows_given():
    whole = pd.Series(["b", "a", None, "c"] * 9, name="x")
    column = measure_column(find_column(whole), pd.Series(["b", "a", None, "b"], name="x"))
    assert column.categories == ("a", "b")
    assert column.missing == 0.25


def test_plain_text_is_the_same_with_and_without_gaps():
    assert word_codes(pd.Series([1, 2, 1]))[1] == word_codes(pd.Series([1.0, 2.0, None]))[1] == ["1", "2"]
    assert plain_text(np.float64(2.5)) == "2.5"
    assert plain_text(True) == "True"
    codes, _ = word_codes(pd.Series(["a", None, "b", "a"]))
    assert codes.tolist() == [0, -1, 1, 0]


def test_cycles_that_the_dates_can_show():
    days = pd.Series(pd.date_range("2020-01-01", periods=400, freq="D"), name="x")
    assert find_column(days).cycles == ("year", "week")
    hours = pd.Series(pd.date_range("2020-01-01", periods=100, freq="h"), name="x")
    assert find_column(hours).cycles == ("day",)
    column = measure_column(find_column(hours), hours)
    assert column.numbers == ("x", "x (day, sine)", "x (day, cosine)")
    assert column.about() == "2020-01-01 to 2020-01-05"


def test_other_values_than_in_training():
    number = find_column(pd.Series([1.5, 2.0, 9.0], name="age"))
    with pytest.raises(
        ValueError, match=r"column 'age' must hold numbers, as in training, got 'old' in row 2; mend the value"
    ):
        column_numbers(number, pd.Series(["3", "old"]))
    flag = find_column(pd.Series(["No", "yes"] * 9, name="smokes"))
    assert column_numbers(flag, pd.Series(["NO", "YES", None])).tolist()[:2] == [0.0, 1.0]
    with pytest.raises(ValueError, match=r"column 'smokes' must hold No or yes, as in training, got 'maybe' in row 1"):
        column_numbers(flag, pd.Series(["maybe"]))
    date = find_column(pd.Series(CASES["german dates"][0], name="day"))
    with pytest.raises(
        ValueError, match=r"column 'day' must hold dates written %d.%m.%Y, as in training, got '2024-01-01'"
    ):
        column_numbers(date, pd.Series(["2024-01-01"]))
