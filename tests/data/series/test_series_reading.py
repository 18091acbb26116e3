"""Files and objects that hold series: long, wide, a row a series; gaps, duplicates, short series and mistakes."""

import gzip

import numpy as np
import pandas as pd
import pytest

from cutaway.data import read_series
from cutaway.data.series.series_reading import extend

LONG = "unique_id,ds,y\na,2024-01-02,2\na,2024-01-01,1\nb,2024-01-01,5\na,2024-01-03,3\nb,2024-01-02,6\n"


def _file(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_long_table_is_known_at_sight_and_sorted(tmp_path):
    table = read_series(_file(tmp_path, LONG))
    assert table.names == ["a", "b"]
    assert [values.tolist() for values in table.values] == [[1, 2, 3], [5, 6]]
    assert table.frequency == "D"
    assert table.starts[0] == pd.Timestamp("2024-01-01")


def test_columns_of_any_name(tmp_path):
    text = LONG.replace("unique_id,ds,y", "shop,day,sold")
    table = read_series(_file(tmp_path, text), series="shop", time="day", target="sold")
    assert table.names == ["a", "b"]
    assert read_series(_file(tmp_path, text)).names == ["a", "b"]  # found, too
    with pytest.raises(
        ValueError, match=r"--series must name a column, got 'shp' for x.csv; the nearest of its 3 are: shop"
    ):
        read_series(_file(tmp_path, text), series="shp")


def test_a_packed_file_and_parquet(tmp_path):
    packed = tmp_path / "x.csv.gz"
    packed.write_bytes(gzip.compress(LONG.encode()))
    parquet = tmp_path / "x.parquet"
    pd.read_csv(_file(tmp_path, LONG)).to_parquet(parquet)
    for path in (packed, parquet):
        assert read_series(path).values[1].tolist() == [5, 6]


def test_a_wide_table_has_a_column_a_series(tmp_path):
    table = read_series(_file(tmp_path, "date;a;b\n2024-01-01;1,5;\n2024-01-02;2,5;7\n2024-01-03;;8\n"))
    assert [values.tolist() for values in table.values] == [[1.5, 2.5], [7, 8]]
    assert table.starts == [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")]
    assert read_series(_file(tmp_path, "date,a,b\n2024-01-01,1,3\n2024-01-02,2,4\n"), target="b").names == ["b"]


def test_a_row_a_series_as_in_m4(tmp_path):
    table = read_series(_file(tmp_path, '"V1","V2","V3","V4"\n"W1","3","4","5"\n"W2","6","7",\n'), frequency="W")
    assert table.names == ["W1", "W2"]
    assert table.lengths.tolist() == [3, 2]
    assert table.season == 52
    more = read_series(_file(tmp_path, '"V1","V2","V3"\n"W2","8","9"\n"W1","6","7"\n', "t.csv"), frequency="W")
    assert extend(table, more).values[1].tolist() == [6, 7, 8, 9]
    with pytest.raises(ValueError, match=r"got t.csv without 'W1' \(1 of 2 are not there\)"):
        extend(table, more.select([0]))


def test_numbers_without_times_or_names(tmp_path):
    table = read_series(_file(tmp_path, "0.5,1.5\n0.6,1.6\n0.7,1.7\n"))
    assert (table.names, table.frequency, table.starts) == (["column_1", "column_2"], None, [0, 0])
    dated = read_series(_file(tmp_path, "0.5,1.5\n0.6,1.6\n0.7,1.7\n"), frequency="B", start="2024-01-05")
    assert dated.times(0, 0, 2).tolist() == [pd.Timestamp("2024-01-05"), pd.Timestamp("2024-01-08")]
    assert "no dates" in dated.summary()


def test_what_python_users_hold():
    index = pd.date_range("2024-01-01", periods=3, freq="h")
    for source in (
        pd.Series([1.0, 2, 3], index), pd.DataFrame({"y": [1.0, 2, 3]}, index), {"y": [1.0, 2, 3]},
        np.array([1.0, 2, 3]), np.array([[1.0], [2], [3]]), pd.Series([1, 2, 3], index.to_period("h"), name="y"),
    ):  # fmt: skip
        assert read_series(source).values[0].tolist() == [1, 2, 3]
    assert read_series({"ds": index, "y": [1, 2, 3]}).frequency == "h"
    with pytest.raises(
        ValueError, match=r"an array of series must be numbers of \(steps,\) or \(steps, series\), got float64"
    ):
        read_series(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="series must be a path, a DataFrame, a dict of arrays or an array, got int"):
        read_series(3)


def test_gaps_are_named_and_kept_as_missing(tmp_path):
    table = read_series(_file(tmp_path, "ds,y\n2024-01-01,1\n2024-01-02,2\n2024-01-05,5\n2024-01-06,6\n"))
    np.testing.assert_array_equal(table.values[0], [1, 2, np.nan, np.nan, 5, 6])
    assert "2 steps of 1 series have no row and count as missing (the first: y at 2024-01-03" in table.summary()
    assert read_series(_file(tmp_path, LONG), missing="zero").values[0].tolist() == [1, 2, 3]


def test_duplicate_times_are_named_and_merged_if_asked(tmp_path):
    path = _file(tmp_path, LONG + "a,2024-01-02,4\n")
    with pytest.raises(ValueError, match=r"got 2 for 2024-01-02 00:00:00 of series 'a' \(1 times have more than one\)"):
        read_series(path)
    for rule, value in {"mean": 3, "sum": 6, "first": 2, "last": 4}.items():
        assert read_series(path, duplicates=rule).values[0].tolist() == [1, value, 3]


def test_minutes_become_hours_if_asked():
    index = pd.date_range("2024-01-01", periods=12, freq="10min")
    table = read_series(pd.Series(np.arange(12.0), index), frequency="h", duplicates="mean")
    assert table.values[0].tolist() == [2.5, 8.5]
    uneven = pd.DatetimeIndex(["2024-01-01 00:03", "2024-01-01 00:40", "2024-01-01 01:17", "2024-01-01 03:00"])
    with pytest.raises(ValueError, match="times must lie at a regular distance, got 2 different ones"):
        read_series(pd.Series(np.arange(4.0), uneven))
    np.testing.assert_array_equal(
        read_series(pd.Series(np.arange(4.0), uneven), frequency="h", duplicates="sum").values[0], [1, 2, np.nan, 3]
    )


def test_one_time_a_series_has_no_frequency(tmp_path):
    with pytest.raises(
        ValueError, match=r"the frequency of series must be known, got one time for each series of x.csv"
    ):
        read_series(_file(tmp_path, "unique_id,ds,y\na,2024-01-01,1\nb,2024-01-01,5\n"))


def test_covariates_known_ahead_go_beyond_the_values(tmp_path):
    text = "unique_id,ds,y,price,holiday,region\n" + "".join(
        f"{name},2024-01-0{day},{'' if day > 3 else day},{day * 10},{'Easter' if day == 2 else 'none'},{name}\n"
        for name in "ab"
        for day in range(1, 6)
    )
    table = read_series(_file(tmp_path, text), known="price,holiday", static="region")
    assert table.known_names == ("price", "holiday: Easter", "holiday: none")
    assert table.lengths.tolist() == [3, 3]
    assert table.known[0][:, 0].tolist() == [10, 20, 30, 40, 50]
    assert table.known[0][:, 1].tolist() == [0, 1, 0, 0, 0]
    assert (table.static["region"].tolist(), table.levels["region"]) == ([0, 1], ("a", "b"))
    with pytest.raises(ValueError, match="a static column must have one value for a whole series, got 10"):
        read_series(_file(tmp_path, text), static="price")
    with pytest.raises(ValueError, match="--known must name a column, got 'prize'"):
        read_series(_file(tmp_path, text), known="prize")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ds,y\n2024-01-01,1\n2024-01-02,two\n", "the values of series must be numbers"),
        ("ds,y\n2024-01-01,1\n2024-01-02,inf\n", "must be finite, got inf in row 2"),
        ("ds,y\n2024-01-01,\n2024-01-02,\n", "series need values, got only missing ones"),
        (
            "ds,name\n2024-01-01,red\n2024-01-02,blue\n",
            "a table of series must have columns of numbers, got none in x.csv",
        ),
        ("unique_id,ds,p,q\na,2024-01-01,1,2\na,2024-01-02,1,2\n", "got 2 that could be it in x.csv"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(tmp_path, text, told):
    with pytest.raises(ValueError, match=told):
        read_series(_file(tmp_path, text), target="y" if ",y" in text.split("\n")[0] else ())


def test_a_series_that_is_empty_is_left_out_by_name(tmp_path):
    table = read_series(_file(tmp_path, "ds,a,b\n2024-01-01,1,\n2024-01-02,2,\n"))
    assert table.names == ["a"]
    assert "left out 1 series without any value (b)" in table.summary()


def test_real_files(data_folder):
    folder = data_folder / "series"
    ett = read_series(folder / "ETTh1.csv.xz")
    assert (len(ett), ett.frequency, ett.lengths.max()) == (7, "h", 17_420)
    exchange = read_series(folder / "exchange_rate.txt.gz", frequency="B")
    assert (len(exchange), exchange.season, exchange.lengths.max()) == (8, 5, 7_588)
    hourly = read_series(folder / "m4/Hourly-train.csv.xz", frequency="h")
    assert (len(hourly), sorted(set(hourly.lengths))) == (414, [700, 960])
    air = read_series(folder / "pollution.csv.xz", target="pm2.5")
    assert (air.frequency, int(np.isnan(air.values[0]).sum())) == ("h", 2_043)
    days = read_series(folder / "daily-min-temperatures.csv")
    assert "Temp at 1984-12-31" in days.summary()


@pytest.mark.parametrize(
    "name", ["NA", "null", "nan", "None", "N/A", "1e5", "007", "True", "NaN", "?", "-", "1.0", "#N/A"]
)
def test_names_of_series_are_text(name: str, tmp_path):
    file = tmp_path / "long.csv"
    rows = [f"{each},2024-01-0{day},{day}" for each in (name, "DE") for day in range(1, 6)]
    file.write_text("unique_id,ds,y\n" + "\n".join(rows))
    assert read_series(file).names == [name, "DE"]
    frame = pd.DataFrame({"unique_id": [name] * 3, "ds": pd.date_range("2024", periods=3), "y": [1.0, 2.0, 3.0]})
    assert read_series(frame).names == [name]
    wide = tmp_path / "wide.csv"
    wide.write_text(f"ds,{name},DE\n" + "\n".join(f"2024-01-0{day},{day},{day}" for day in range(1, 6)))
    assert read_series(wide).names == [name, "DE"]
    rows = tmp_path / "rows.csv"
    rows.write_text("id,V1,V2,V3,V4\n" + "\n".join(f"{each},1,2,3,4" for each in (name, "nil", "DE")))
    assert read_series(rows).names[0] == name


def test_series_of_a_wide_table_may_be_called_by_numbers(tmp_path):
    file = tmp_path / "shops.csv"
    rows = "\n".join(f"2024-01-0{day},{day},{day + 1},{day + 2}" for day in range(1, 6))
    file.write_text("ds,01,1,2\n" + rows)
    assert read_series(file).names == ["01", "1", "2"]
    file.write_text(rows)  # no header at all
    assert read_series(file).names == ["column_2", "column_3", "column_4"]
    assert len(read_series(file).values[0]) == 5


def test_rows_of_a_table_may_be_series_with_numbers_for_names(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("id,V1,V2,V3,V4\n1,1,2,3,4\n01,5,6,7,8\nNA,1,1,1,\n")
    table = read_series(file)
    assert table.names == ["1", "01", "NA"]
    assert [len(values) for values in table.values] == [4, 4, 3]
    file.write_text("shop,V1,V2\n" + "\n".join(f"{shop},1,2" for shop in range(7, 17)))
    assert read_series(file, series="shop").names == [str(shop) for shop in range(7, 17)]


@pytest.mark.parametrize("names", [[1, "1"], ["a", "a"], [None, "None"]])
def test_columns_of_one_name_are_refused(names):
    frame = pd.DataFrame(np.arange(20.0).reshape(10, 2))
    frame.columns = pd.Index(names, dtype=object)
    with pytest.raises(ValueError, match=r"must have a name of its own, got '\w+' for 2 of 2; rename them"):
        read_series(frame)


def test_series_of_a_dict_with_one_name_as_text_are_refused():
    with pytest.raises(ValueError, match=r"a name of its own as text, got 1, '1'; rename them"):
        read_series({1: [1.0, 2.0], "1": [3.0, 4.0]})


def test_an_index_that_names_series_or_times_is_read():
    times = pd.date_range("2024-01-01", periods=5)
    long = pd.DataFrame({"unique_id": ["NA"] * 5 + ["b"] * 5, "ds": [*times, *times], "y": np.arange(10.0)})
    assert read_series(long.set_index("unique_id")).names == ["NA", "b"]
    unnamed = long.set_index("unique_id").rename_axis(None)
    assert read_series(unnamed).names == ["NA", "b"]
    texts = pd.DataFrame({"y": np.arange(5.0)}, index=times.astype(str))
    assert read_series(texts).frequency == "D"
    assert read_series(texts.rename_axis("day of sale")).frequency == "D"
    filtered = pd.DataFrame({"y": np.arange(10.0)}).iloc[[3, 5, 8]]  # row numbers say nothing
    assert read_series(filtered).names == ["y"]


def test_a_column_that_counts_the_rows_is_no_series(tmp_path):
    file = tmp_path / "indexed.csv"
    file.write_text(pd.DataFrame({"a": np.arange(5.0) ** 2, "b": np.ones(5)}).to_csv())
    table = read_series(file)
    assert table.names == ["a", "b"]
    assert table.notes == ("'column_1' counts the rows and is no series",)


def test_names_of_digits_stay_as_written(tmp_path):
    file = tmp_path / "codes.csv"
    rows = [f"{each},2024-01-0{day},{day}" for each in ("007", "012") for day in range(1, 6)]
    file.write_text("unique_id,ds,y\n" + "\n".join(rows))
    assert read_series(file).names == ["007", "012"]


def test_a_row_without_the_name_of_its_series_is_told(tmp_path):
    file = tmp_path / "gap.csv"
    file.write_text("unique_id,ds,y\nA,2024-01-01,1\n,2024-01-02,2\nA,2024-01-03,3\n")
    with pytest.raises(ValueError, match=r"every row must name its series, got none in 1 of 3 rows of 'unique_id'"):
        read_series(file)


def test_one_date_far_off_is_told_before_its_gap_is_filled():
    times = [*pd.date_range("2000-01-01", periods=50, freq="h"), pd.Timestamp("2024-01-01")]
    with pytest.raises(
        ValueError, match=r"got 210,385 steps of 'h' for 51 rows .* a gap of 24 years goes from 2000-01-03"
    ):
        read_series(pd.DataFrame({"ds": times, "y": 1.0}))


def test_dates_from_the_first_year_to_the_last_have_no_overflow():
    with pytest.raises(ValueError, match=r"got 3,652,059 steps of 'D' for 3 rows .* --frequency MS --duplicates mean"):
        read_series(pd.DataFrame({"ds": ["0001-01-01", "0001-01-02", "9999-12-31"], "y": [1, 2, 3]}))
    for days in (["0001-01-01", "0001-01-02", "0001-01-03"], ["9999-12-29", "9999-12-30", "9999-12-31"]):
        table = read_series(pd.DataFrame({"ds": days, "y": [1, 2, 3]}))
        assert table.has_dates
        assert table.calendar(0, 0, 5).shape == (5, 3)
    months = read_series(pd.DataFrame({"ds": ["0001-01-01", "9999-12-01"], "y": [1, 2]}), frequency="YS")
    assert len(months.values[0]) == 9999


def test_the_longest_gap_is_named():
    days = pd.date_range("2024-01-01", periods=40).delete([5, *range(10, 20)])
    table = read_series(pd.DataFrame({"ds": days, "y": np.arange(29.0)}))
    assert "the longest gap: 10 steps of y from 2024-01-10 00:00:00 to 2024-01-21 00:00:00" in table.summary()


@pytest.mark.parametrize("column", ["date", "Monat"])
def test_dates_that_cannot_be_read_are_named(column: str):
    texts = [f"Smarch-{n}" for n in range(1, 6)]
    with pytest.raises(ValueError, match=rf"times must be dates or whole numbers, got 'Smarch-1' in '{column}' of"):
        read_series(pd.DataFrame({column: texts, "y": np.arange(5.0)}))


def test_columns_of_words_that_are_not_read_are_named():
    days = pd.date_range("2024-01-01", periods=5)
    table = read_series(pd.DataFrame({"ds": days, "y": np.arange(5.0), "weather": list("rsrss")}))
    assert "columns of words are not read: 'weather' (r); name what they are" in table.summary()


def test_what_is_advised_for_irregular_times_fits_their_distance():
    times = pd.to_datetime(["2024-01-03", "2024-02-11", "2024-03-09", "2024-04-22", "2024-05-01", "2024-06-13"])
    with pytest.raises(ValueError, match="--frequency MS --duplicates mean"):
        read_series(pd.DataFrame({"ds": times, "y": 1.0}))


@pytest.mark.parametrize("way", ["%d/%m/%y", "%m/%d/%y", "%d/%m/%Y", "%m/%d/%Y"])
def test_days_and_months_that_could_change_places_are_read_as_is_more_regular(way, tmp_path):
    months = pd.date_range("2010-01-01", periods=30, freq="MS")
    rows = "\n".join(f"{month.strftime(way)},{i}" for i, month in enumerate(months))
    table = read_series(_file(tmp_path, "date,y\n" + rows))
    assert (table.frequency, len(table.values[0])) == ("MS", 30)
    order = "day, month, year" if way.startswith("%d") else "month, day, year"
    assert f"'date' is read as {order} (" in table.notes[0]


def test_years_of_two_digits(tmp_path):
    rows = "\n".join(f"{month.strftime('%d-%b-%y')},1" for month in pd.date_range("1949", periods=144, freq="MS"))
    assert read_series(_file(tmp_path, "date,y\n" + rows)).starts == [pd.Timestamp("1949-01-01")]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["Jan-10", "Feb-10", "Foo-10", "Apr-10"], "Foo-10"),
        (["2018-W51", "2018-W52", "2018-W53"], "2018-W53"),
        (["2010.01", "2010.02", "2010.03"], "2010.01"),  # a column of numbers, and no series
    ],
)
def test_the_date_that_cannot_be_read_is_named(texts, named, tmp_path):
    rows = "\n".join(f"{text},{i}" for i, text in enumerate(texts))
    with pytest.raises(ValueError, match=rf"times must be dates or whole numbers, got '{named}' in 'date' of x.csv"):
        read_series(_file(tmp_path, "date,y\n" + rows))
