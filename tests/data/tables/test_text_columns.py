"""Columns of text that hold numbers: read in one notation, or left as they are with a word about it."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data.tables.reading import read_table
from cutaway.data.tables.text_columns import note_infinite, read_text_columns, row_name
from cutaway.tasks.tables.predict import encode_rows, read_rows

ROWS = 40


def write(path, separator=",", **columns):
    """A CSV file of columns, each a function of the row's number, and a target."""
    columns |= {"y": lambda i: "ab"[i % 2]}
    rows = [[str(column(i)) for column in columns.values()] for i in range(ROWS)]
    lines = [separator.join(f'"{field}"' if separator in field else field for field in row) for row in rows]
    path.write_text("\n".join([separator.join(columns), *lines]) + "\n", encoding="utf-8")
    return path


def column_of(path, name="x", **how):
    return next(column for column in read_table(path, **how).schema.columns if column.name == name)


NOTATIONS = {
    "german": (lambda i: f"{1000 + 37.5 * i:,.2f}".translate(str.maketrans(",.", ".,")), "1.234,56"),
    "english": (lambda i: f"{1000 + 37.5 * i:,.2f}", "1,234.56"),
    "swiss": (lambda i: f"{1000 + 37.5 * i:,.2f}".replace(",", "'"), "1'234.56"),
    "french": (lambda i: f"{1000 + 37.5 * i:,.2f}".replace(",", "\u202f").replace(".", ","), "1 234,56"),
    "dollars": (lambda i: f"${1000 + 37.5 * i:,.2f}", "$1,234.56"),
    "percent": (lambda i: f"{1000 + 37.5 * i:.2f}%", "1234.56%"),
}


@pytest.mark.parametrize("case", NOTATIONS)
def test_a_column_in_one_notation_is_numbers(tmp_path, case):
    written, format = NOTATIONS[case]
    path = write(tmp_path / "t.csv", x=written)
    table = read_table(path, validation=0, test=0)
    (column,) = table.schema.columns
    assert (column.kind, column.format) == ("number", format)
    assert f", written {format}" in str(table.schema)
    values = 1000 + 37.5 * np.arange(ROWS)
    assert table.train.numbers[:, 0] == pytest.approx((values - values.mean()) / values.std(), abs=1e-5)
    # new rows are read in the same notation, from a file as from text in memory
    again = encode_rows(table.schema, read_rows(table.schema, path))
    assert np.array_equal(again.numbers, table.train.numbers)
    frame = pd.DataFrame({"x": [written(i) for i in range(ROWS)]})
    assert np.array_equal(encode_rows(table.schema, frame).numbers, table.train.numbers)


def test_the_decimal_mark_of_other_columns_counts(tmp_path):
    thousands = lambda i: f"{i % 9 + 1}.234"
    path = write(tmp_path / "t.csv", ";", x=thousands, price=lambda i: f"{i},5")
    column = column_of(path)
    assert (column.format, column.low) == ("1.234,56", 1234)
    assert column.reason == "'1.234' is read as 1234, not as 1.234"
    alone = column_of(write(tmp_path / "t.csv", ";", x=thousands))
    assert (alone.format, alone.low, alone.reason) == ("", 1.234, "")


def test_one_comma_alone(tmp_path):
    values = lambda i: f"{i % 9 + 1},234"
    assert column_of(write(tmp_path / "t.csv", ",", x=values)).low == 1234
    column = column_of(write(tmp_path / "t.csv", ";", x=values))
    assert (column.low, column.reason) == (1.234, "'1,234' is read as 1.234, not as 1234")


def test_two_notations_are_not_used_and_told(tmp_path):
    column = column_of(write(tmp_path / "t.csv", x=lambda i: "1,5" if i == 7 else f"{i}.5", z=lambda i: i * i % 13))
    assert column.kind == "ignored"
    assert column.reason == "numbers written in two ways ('0.5' in row 1, '1,5' in row 8); write all in one"


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (lambda i: f"{1000 + i % 9 * 999:05}", "01000"),
        (lambda i: f"+4930{1000000 + i % 8}", "+49301000000"),
        (lambda i: 12345678901234567890 + i % 6, "12345678901234567890"),
        (lambda i: f"{i % 4:03}", "000"),
    ],
)
def test_codes_stay_as_written(tmp_path, written, code):
    path = write(tmp_path / "t.csv", x=written)
    table = read_table(path, validation=0, test=0)
    (column,) = table.schema.columns
    assert column.kind == "category"
    assert set(column.categories) == {str(written(i)) for i in range(ROWS)}
    assert column.reason == f"codes such as {code!r}, kept as written"
    assert np.array_equal(encode_rows(table.schema, read_rows(table.schema, path)).categories, table.train.categories)


def test_huge_whole_numbers_of_a_frame_are_codes():
    ids = [2**60 + i % 5 for i in range(ROWS)]
    column = read_table(pd.DataFrame({"x": ids, "y": [i % 2 for i in range(ROWS)]})).schema.columns[0]
    assert (column.kind, column.categories[0]) == ("category", str(2**60))


def test_a_word_among_numbers_is_told(tmp_path):
    column = column_of(write(tmp_path / "t.csv", x=lambda i: "unknown" if i == 7 else i % 9))
    assert column.kind == "category"
    told = "numbers but for 'unknown' in row 8, so taken for words; leave such fields empty"
    assert column.reason == told


def test_days_and_months_of_digits_alone(tmp_path):
    days = column_of(write(tmp_path / "t.csv", x=lambda i: f"2023{i % 12 + 1:02}{i % 28 + 1:02}"))
    assert (days.kind, days.format) == ("date", "%Y%m%d")
    months = column_of(write(tmp_path / "t.csv", x=lambda i: f"{i % 12 + 1:02}.2023"))
    assert (months.kind, months.format) == ("date", "%m.%Y")


def test_text_of_a_frame_is_meant_to_be_text():
    frame = pd.DataFrame({"zip": ["10115", "80331"] * 20, "price": ["$3", "$1,000.50"] * 20, "y": [0, 1] * 20})
    typed, readings = read_text_columns(frame)
    assert typed["zip"].tolist()[:2] == ["10115", "80331"]
    assert readings["zip"].note == "text, though of numbers; convert it with pandas.to_numeric if it is to count"
    assert typed["price"].tolist()[:2] == [3.0, 1000.5]
    assert readings["price"].format == "$1,234.56"


def test_infinite_numbers_are_missing_and_told(tmp_path):
    column = column_of(write(tmp_path / "t.csv", x=lambda i: "inf" if i == 7 else f"{i}.5"), validation=0, test=0)
    assert (column.missing, column.reason) == (1 / ROWS, "1 infinite, taken for missing")
    commas = column_of(write(tmp_path / "t.csv", ";", x=lambda i: "-inf" if i == 7 else f"{i},5"), validation=0, test=0)
    assert (commas.missing, commas.reason) == (1 / ROWS, "1 infinite, taken for missing")
    assert note_infinite(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})) == {}


def test_numbers_too_large(tmp_path):
    path = write(tmp_path / "t.csv", x=lambda i: "1e160" if i == 8 else f"{i}.5")
    with pytest.raises(
        ValueError, match=r"column 'x' must hold numbers of at most 1e\+100, got '1e\+160' in row 9; mend"
    ):
        read_table(path)
    schema = read_table(write(tmp_path / "t.csv", x=lambda i: f"{i}.5")).schema
    with pytest.raises(
        ValueError, match=r"'x' must hold numbers within 1e\+30 deviations of the mean, got '1e\+60' in row 2"
    ):
        encode_rows(schema, pd.DataFrame({"x": [1.0, 1e60]}))


def test_dates_out_of_reach(tmp_path):
    path = write(tmp_path / "t.csv", x=lambda i: "9999-12-31" if i == 9 else f"2024-01-{i % 28 + 1:02}")
    with pytest.raises(
        ValueError, match=r"'x' must hold dates from 1678 to 2262, got '9999-12-31' in row 10; mend the"
    ):
        read_table(path)


def test_dates_in_several_ways(tmp_path):
    column = column_of(
        write(tmp_path / "t.csv", x=lambda i: "5.1.2024" if i == 3 else f"2024-01-{i % 28 + 1:02}", z=lambda i: i % 7)
    )
    assert column.kind == "ignored"
    told = "dates written in several ways ('2024-01-01' in row 1, '5.1.2024' in row 4); write all in one"
    assert column.reason == told


def test_rows_are_named_by_their_place_in_the_table():
    assert row_name(pd.Series([1, 2, 3], index=[10, 11, 12]), 1) == "row 12"
    assert row_name(pd.Series([1, 2], index=["a", "b"]), 1) == "row 'b'"


LABELS = {
    "leading zeros": (lambda i: f"{i % 3:02}", ("00", "01", "02")),
    "floats": (lambda i: f"{i % 3}.0", ("0.0", "1.0", "2.0")),
    "whole numbers": (lambda i: i % 3, (0, 1, 2)),
    "halves": (lambda i: f"{i % 2}.5", (0.5, 1.5)),
    "loud": (lambda i: ("TRUE", "FALSE")[i % 2], ("FALSE", "TRUE")),
    "bools": (lambda i: ("True", "False")[i % 2], (False, True)),
    "grades": (lambda i: f"{i % 3 + 1},0", ("1,0", "2,0", "3,0")),
    "spelled in two ways": (lambda i: ("1", "2", "2.0")[i % 3], ("1", "2")),
    "words": (lambda i: ("yes", "no")[i % 2], ("no", "yes")),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_are_as_written(tmp_path, case):
    written, labels = LABELS[case]
    rows = ["x;label", *(f"{i * i % 11};{written(i)}" for i in range(ROWS))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    task = "multi-class" if case == "halves" else None
    table = read_table(tmp_path / "t.csv", task=task, test=tmp_path / "t.csv", validation=0)
    assert table.schema.labels == labels
    assert [type(label) for label in table.schema.labels] == [type(label) for label in labels]
    assert np.array_equal(table.open_test().targets, table.train.targets)  # the same labels, read as new rows are
    assert table.schema.counts == tuple(np.bincount(table.train.targets))
