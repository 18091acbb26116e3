"""Files that hold a table, and new rows read as those of training were."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data.tables.encoding import encode
from cutaway.data.tables.reading import read_table
from cutaway.data.tables.table_files import as_frame, load_frame, load_rows


def write(path, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")
    return path


ROWS = [(i * i % 13, "red" if i % 3 else "blue", i % 2, i * 1.5) for i in range(30)]


def test_rows_without_names_and_without_the_target(tmp_path):
    """The target is in the middle: columns of new rows must not move into its place."""
    schema = read_table(write(tmp_path / "train.csv", ROWS), target="column_3").schema
    whole = encode(schema, load_rows(schema, write(tmp_path / "new.csv", ROWS[:4])).drop(columns="column_3"))
    bare = encode(schema, load_rows(schema, write(tmp_path / "bare.csv", [(a, b, d) for a, b, _, d in ROWS[:4]])))
    assert np.array_equal(whole.numbers, bare.numbers)
    assert np.array_equal(whole.categories, bare.categories)
    rule = "a table without names must have the 4 columns of training, or 3 without the target, got 2 in two.csv"
    with pytest.raises(ValueError, match=rule):
        load_rows(schema, write(tmp_path / "two.csv", [row[:2] for row in ROWS]))


def test_rows_need_the_names_of_training(tmp_path):
    schema = read_table(write(tmp_path / "train.csv", [("a", "b", "c", "d"), *ROWS]), target="c").schema
    told = "must hold the names of its columns, as in training, got 0, blue, 0_2, 0.0 in new.csv; the names are: a, b"
    with pytest.raises(ValueError, match=told):
        load_rows(schema, write(tmp_path / "new.csv", ROWS[:1]))


def test_numbers_for_names(tmp_path):
    path = write(tmp_path / "train.csv", [(2019, 2020, 2021, 2022), *ROWS])
    schema = read_table(path, target="2021", header=True).schema
    assert [column.name for column in schema.columns] == ["2019", "2020", "2022"]
    assert len(load_rows(schema, path)) == 30


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("t.xlsx", "got the spreadsheet t.xlsx; save its sheet as CSV"),
        ("t.json", r"got the JSON file t.json; write it as CSV: pandas.read_json\('t.json'\).to_csv"),
        ("t.jsonl", r"got the JSON file t.jsonl; write it as CSV: pandas.read_json\('t.jsonl', lines=True\)"),
        ("t.feather", r"got the Arrow file t.feather; write it as Parquet"),
    ],
)
def test_other_kinds_of_files(tmp_path, name, told):
    (tmp_path / name).write_text("[]")
    with pytest.raises(ValueError, match=f"a table must be CSV or Parquet, {told}"):
        load_frame(tmp_path / name)


def test_damaged_parquet(tmp_path):
    pd.DataFrame({"a": range(100)}).to_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    for damaged in (content[: len(content) // 2], b"PAR1"):
        (tmp_path / "t.parquet").write_bytes(damaged)
        with pytest.raises(
            ValueError,
            match=r"a Parquet file must be whole, got t.parquet, whose .* bytes do not read; write or copy it",
        ):
            load_frame(tmp_path / "t.parquet")


def test_a_dict_of_columns():
    frame = as_frame({"a": [1, 2, 3], "b": np.array([0.5, 1.0, 2.0]), 7: ("x", "y", "z")})
    assert list(frame.columns) == ["a", "b", "7"]
    assert as_frame(frame) is frame
    with pytest.raises(ValueError, match="columns must have one length, got 3 values in 'a' and 1 in 'b'; fill the"):
        as_frame({"a": [1, 2, 3], "b": [1]})
    with pytest.raises(ValueError, match="must have a list of values for each, got 5 for 'b'; give"):
        as_frame({"a": [1, 2, 3], "b": 5})
    with pytest.raises(ValueError, match="a table must be a path, a DataFrame or a dict of columns, got int; give it"):
        as_frame(3)
