"""Tables: schemas of real ones, arrays against scikit-learn's encoders, the way back, and every bad table."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from cutaway.data.tables import reading, text_columns
from cutaway.data.tables.encoding import decode, encode, tidy
from cutaway.data.tables.reading import fingerprint_frame, read_table
from cutaway.data.tables.schema import FIRST, MISSING, UNSEEN, Column, Schema
from cutaway.data.tables.table_files import load_frame


def make_frame(count=100, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 70, count).astype(float),
            "height": random.normal(170, 10, count),
            "city": random.choice(["Rome", "Oslo", "Lima"], count),
            "smokes": random.choice(["yes", "no"], count),
            "constant": 1,
            "risk": random.choice(["low", "mid", "high"], count),
        }
    )
    frame.loc[::7, "height"] = np.nan
    frame.loc[::9, "city"] = None
    return frame


def test_schema_of_a_small_table():
    table = read_table(make_frame())
    assert {column.name: column.kind for column in table.schema.columns} == {
        "age": "number",
        "height": "number",
        "city": "category",
        "smokes": "flag",
        "constant": "ignored",
    }
    assert table.schema.task == "multi-class"
    assert table.schema.labels == ("high", "low", "mid")
    assert table.schema.outputs == 3
    assert table.schema.numbers == ("age", "height", "height (missing)", "smokes")
    assert table.schema.cardinalities == (5,)
    assert table.counts == {"train": 80, "validation": 10, "test": 10}


def test_arrays_are_those_of_scikit_learn():
    from sklearn.preprocessing import OrdinalEncoder, StandardScaler

    frame = make_frame()
    table = read_table(frame, validation=0, test=0)
    numbers = frame[["age", "height"]].to_numpy()
    expected = StandardScaler().fit_transform(numbers)
    assert table.train.numbers[:, 0] == pytest.approx(expected[:, 0], abs=1e-6)
    assert table.train.numbers[:, 1] == pytest.approx(np.nan_to_num(expected[:, 1]), abs=1e-6)
    assert np.array_equal(table.train.numbers[:, 2], frame["height"].isna())
    codes = OrdinalEncoder(encoded_missing_value=-1).fit_transform(frame[["city"]])[:, 0]
    assert np.array_equal(table.train.categories[:, 0], np.where(codes < 0, MISSING, codes + FIRST))
    assert table.train.numbers.dtype == np.float32
    assert table.train.categories.dtype == np.int64


def test_statistics_are_those_of_the_training_rows_alone():
    frame = make_frame(200).assign(age=np.arange(200) / 3)  # a row is known by its age
    first = read_table(frame)
    # whatever the rows outside of training hold, the schema is the same
    kept = {tuple(row) for row in first.train.numbers.tolist()}
    changed = frame.copy()
    outside = [tuple(row) not in kept for row in encode(first.schema, frame).numbers.tolist()]
    assert sum(outside) == 40
    changed.loc[outside, "age"] = 1e6
    changed.loc[outside, "city"] = "Atlantis"
    second = read_table(changed)
    assert second.schema == first.schema
    assert np.array_equal(second.train.numbers, first.train.numbers)
    assert set(second.open_test().categories[:, 0]) == {UNSEEN}


def test_parts_are_disjoint_and_stratified():
    frame = make_frame(1000)
    frame["age"] = np.arange(1000) / 3  # so that a row is known by its age
    table = read_table(frame)
    ages = [part.numbers[:, 0] for part in (table.train, table.validation, table.open_test())]
    assert len(np.unique(np.concatenate(ages))) == 1000
    for part in (table.train, table.validation, table.open_test()):
        shares = np.bincount(part.targets) / len(part.targets)
        expected = frame["risk"].value_counts(normalize=True).sort_index()
        assert shares == pytest.approx(expected.to_numpy(), abs=2 / len(part.targets))
    assert np.array_equal(read_table(frame).train.numbers, table.train.numbers)
    assert not np.array_equal(read_table(frame, seed=1).train.numbers, table.train.numbers)


def test_decoding_gives_back_the_labels():
    frame = make_frame()
    table = read_table(frame, validation=0, test=0)
    assert decode(table.schema, table.train.targets) == frame["risk"].tolist()
    whole = read_table(frame.assign(risk=np.arange(100) % 4 * 10), validation=0, test=0)
    assert whole.schema.labels == (0, 10, 20, 30)  # numbers stay numbers
    assert decode(whole.schema, [3, 0]) == [30, 0]


def test_regression_is_standardised_and_decoded_to_its_units():
    frame = make_frame().drop(columns="risk")
    frame["price"] = np.random.default_rng(0).normal(1000, 50, 100)
    table = read_table(frame, validation=0, test=0)
    assert table.schema.task == "regression"
    assert table.train.targets.shape == (100,)
    assert table.train.targets.mean() == pytest.approx(0, abs=1e-5)
    assert table.train.targets.std() == pytest.approx(1, abs=1e-5)
    assert decode(table.schema, table.train.targets) == pytest.approx(frame["price"].tolist(), rel=1e-6)
    both = read_table(frame, target="price,age", validation=0, test=0)
    assert (both.schema.task, both.schema.outputs) == ("regression", 2)
    assert np.array(decode(both.schema, both.train.targets)) == pytest.approx(
        frame[["price", "age"]].to_numpy(), rel=1e-6
    )


def test_multi_label():
    frame = make_frame().drop(columns="risk")
    frame["sunny"] = np.arange(100) % 2 == 0
    frame["windy"] = np.where(np.arange(100) % 3 == 0, "yes", "no")
    table = read_table(frame, target=["sunny", "windy"], validation=0, test=0)
    assert (table.schema.task, table.schema.outputs) == ("multi-label", 2)
    assert table.train.targets[:4].tolist() == [[1, 1], [0, 0], [1, 0], [0, 1]]
    assert decode(table.schema, table.train.targets[:4]) == [("sunny", "windy"), (), ("sunny",), ("windy",)]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.arange(100) % 2, "binary"),
        (np.where(np.arange(100) % 2, "a", "b"), "binary"),
        (np.arange(100) % 2 == 0, "binary"),
        (np.arange(100) % 20, "multi-class"),
        (np.arange(100) % 21, "regression"),
        (np.arange(100) % 4 + 0.5, "regression"),
        (np.arange(100).astype(float) * 3, "regression"),
        (np.array(list("abcd"))[np.arange(100) % 4], "multi-class"),
    ],
)
def test_tasks(values, task):
    table = read_table(make_frame().assign(risk=values), target="risk")
    assert table.schema.task == task


def test_a_task_can_be_told():
    frame = make_frame().assign(risk=np.arange(100) % 5)
    assert read_table(frame).schema.task == "multi-class"
    assert read_table(frame, task="regression").schema.task == "regression"
    assert read_table(make_frame().assign(risk=np.arange(100) % 25), task="multi-class").schema.outputs == 25


def test_rows_without_a_target_are_left_out_and_counted():
    frame = make_frame()
    frame.loc[:9, "risk"] = None
    table = read_table(frame)
    assert table.dropped == 10
    assert sum(table.counts.values()) == 90
    assert "left out 10 rows without a target" in table.summary()


def test_the_target_is_the_one_so_called_else_the_last():
    frame = make_frame()
    assert read_table(frame).schema.targets[0].name == "risk"
    named = frame[["risk", *frame.columns[:-1]]].rename(columns={"risk": "Label"})
    assert read_table(named).schema.targets[0].name == "Label"
    assert read_table(frame, target="smokes").schema.task == "binary"


def test_schema_through_json_and_shown():
    table = read_table(make_frame())
    again = Schema.from_dict(json.loads(json.dumps(table.schema.to_dict())))
    assert again == table.schema
    assert np.array_equal(encode(again, make_frame()).numbers, encode(table.schema, make_frame()).numbers)
    lines = str(table.schema).splitlines()
    assert lines[0].split() == ["column", "kind", "missing", "values"]
    assert re.fullmatch(r"age +number +2\d to [67]\d, mean [\d.]+, std [\d.]+", lines[1])
    assert re.fullmatch(r"city +category +1\d\.\d% +3: Lima, Oslo, Rome", lines[3])
    assert re.fullmatch(r"smokes +flag +2: no, yes", lines[4])
    assert re.fullmatch(r"constant +ignored +constant: 1", lines[5])
    assert re.fullmatch(r"risk +target +multi-class, 3: high 3\d\.\d%, low 3\d\.\d%, mid 3\d\.\d%", lines[6])
    with pytest.raises(ValueError, match="a schema must have version 1, got version 2; update cutaway"):
        Schema.from_dict({**table.schema.to_dict(), "version": 2})


def test_rich_shows_names_with_brackets():
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(Schema((Column("length [cm]", "number"),), (Column("y", "number"),), "regression"))
    assert "length [cm]" in console.export_text()


def test_prediction_rows_need_no_target_and_may_be_in_any_order():
    frame = make_frame()
    table = read_table(frame, validation=0, test=0)
    rows = encode(table.schema, frame.drop(columns=["risk", "constant"])[["smokes", "city", "height", "age"]])
    assert rows.targets is None
    assert np.array_equal(rows.numbers, table.train.numbers)
    with pytest.raises(
        ValueError, match="must have the columns of training, got one without 'age'; the nearest of its 5"
    ):
        encode(table.schema, frame.drop(columns="age"))
    with pytest.raises(
        ValueError, match=r"one of the 3 labels of training \(high, low, mid\), got 'huge' in row 1 of 'risk'; mend"
    ):
        encode(table.schema, frame.assign(risk="huge"))


def test_blank_and_infinite_values_are_missing():
    frame = make_frame()
    frame.loc[0, "age"] = np.inf
    frame.loc[1, "city"] = "  "
    frame.loc[2, "city"] = " Rome "
    table = read_table(frame, validation=0, test=0)
    assert table.train.numbers[0, :2].tolist() == [0.0, 1.0]
    assert table.train.categories[1, 0] == MISSING
    assert table.schema.categories[0].categories == ("Lima", "Oslo", "Rome")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files(tmp_path, ending):
    frame = make_frame()
    path = tmp_path / f"table.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    table, expected = read_table(path), read_table(frame)
    assert table.schema == expected.schema
    assert np.array_equal(table.train.numbers, expected.train.numbers)
    assert table.name == f"table.{ending}"


def test_a_test_file_is_read_when_the_test_is_opened(tmp_path):
    make_frame().to_csv(tmp_path / "train.csv", index=False)
    make_frame(31, seed=5).to_csv(tmp_path / "test.csv", index=False)
    table = read_table(tmp_path / "train.csv", test=tmp_path / "test.csv")
    assert table.counts == {"train": 90, "validation": 10, "test": 0}
    assert "test in a file of its own" in table.summary()
    assert len(table.open_test().numbers) == 31
    (tmp_path / "test.csv").write_text("age,height\n1,2\n")
    with pytest.raises(
        ValueError,
        match=r"test_file must have the target, got test.csv without the column 'risk'; the nearest of its 2",
    ):
        table.open_test()
    with pytest.raises(
        ValueError, match=r"test_file must be a file or folder that exists, got .*tset.csv; did you mean test.csv"
    ):
        read_table(tmp_path / "train.csv", test=tmp_path / "tset.csv")


def test_the_columns_of_a_test_file_are_looked_at_first(tmp_path):
    """Its rows are not: one that does not read waits for the test."""
    frame = make_frame()
    frame.to_csv(tmp_path / "train.csv", index=False)
    test = tmp_path / "test.csv"
    frame.drop(columns="age").to_csv(test, index=False)
    told = r"test_file must have the columns of training, got test.csv without the column 'age'; the nearest of its"
    with pytest.raises(ValueError, match=told):
        read_table(tmp_path / "train.csv", test=test)
    frame.drop(columns="risk").to_parquet(tmp_path / "test.parquet")
    with pytest.raises(ValueError, match=r"the target, got test.parquet without the column 'risk'"):
        read_table(tmp_path / "train.csv", test=tmp_path / "test.parquet")
    test.write_text(",".join(frame.columns) + "\n1,2\n")
    table = read_table(tmp_path / "train.csv", test=test)
    with pytest.raises(ValueError, match=r"test\.csv"):
        table.open_test()


def test_the_columns_of_a_test_file_without_names(tmp_path):
    rows = "".join(f"{i}.5,{i % 7},{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "train.csv").write_text(rows)
    (tmp_path / "test.csv").write_text(rows[:40])
    assert len(read_table(tmp_path / "train.csv", test=tmp_path / "test.csv", header=False).open_test().numbers) == 5
    (tmp_path / "test.csv").write_text("1.5,2\n2.5,3\n")
    with pytest.raises(ValueError, match=r"have the 3 columns of training, the target among them, got 2 in test\.csv"):
        read_table(tmp_path / "train.csv", test=tmp_path / "test.csv", header=False)


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 and no more", b"PAR1" + bytes(100) + b"PAR1"])
def test_a_damaged_parquet_file_is_named(tmp_path, content):
    make_frame().to_csv(tmp_path / "train.csv", index=False)
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    told = rf"a Parquet file must be whole, got bad.parquet, whose {len(content)} bytes do not read; write or copy it"
    for read in (lambda: read_table(path), lambda: read_table(tmp_path / "train.csv", test=path)):
        with pytest.raises(ValueError, match=told):
            read()


def test_adult(data_folder):
    folder = data_folder / "tables"
    table = read_table(folder / "adult-train.csv.xz", test=folder / "adult-test.csv.xz")
    kinds = [column.kind for column in table.schema.columns]
    assert [i for i, kind in enumerate(kinds) if kind == "number"] == [0, 2, 4, 10, 11, 12]
    assert kinds.count("category") == 8
    assert table.schema.labels == ("<=50K", ">50K")
    # the columns with question marks in the file, and no others
    assert [column.name for column in table.schema.columns if column.missing] == ["column_2", "column_7", "column_14"]
    raw = load_frame(folder / "adult-train.csv.xz")
    assert raw.isna().sum().sum() == 1836 + 1843 + 583  # as UCI's description counts them
    test = table.open_test()
    assert len(test.numbers) == 16_281
    assert test.targets.mean() == pytest.approx(3846 / 16_281)  # its labels end in a full stop
    assert np.isfinite(test.numbers).all()


def test_fingerprints_of_tables(tmp_path):
    frame = make_frame()
    assert fingerprint_frame(frame).digest == fingerprint_frame(frame.copy()).digest
    other = frame.copy()
    other.loc[5, "age"] += 1
    assert fingerprint_frame(other).digest != fingerprint_frame(frame).digest
    assert fingerprint_frame(frame.rename(columns={"age": "years"})).digest != fingerprint_frame(frame).digest


BAD = {
    "absent target": (
        lambda f: f,
        dict(target="rsik"),
        r"target must be a column of the table, got 'rsik'; the nearest of its 6 columns are: risk",
    ),
    "constant target": (
        lambda f: f.assign(risk="low"),
        {},
        r"a target must vary, got 'low' in all 100 rows of 'risk';",
    ),
    "no target values": (
        lambda f: f.assign(risk=None),
        {},
        r"a target must have values, got only missing ones in 'risk'",
    ),
    "only missing values": (
        lambda f: f.map(lambda x: None),
        {},
        r"a table must hold values, got only missing ones in the 100 rows of table; fill it",
    ),
    "no rows": (lambda f: f.iloc[:0], {}, r"a table must hold at least one row, got table with 0 rows of 6 columns"),
    "one column": (lambda f: f[["risk"]], {}, r"a column besides its target, got table with 1 column \('risk'\)"),
    "all targets": (
        lambda f: f[["age", "height"]],
        dict(target="age,height"),
        r"got 2 columns, all targets; leave out",
    ),
    "nothing to predict from": (
        lambda f: f[["constant", "risk"]],
        {},
        r"a column to predict from, got none of use in table \(constant: constant: 1\); add columns that vary",
    ),
    "free text as target": (
        lambda f: f.assign(risk=[f"word{i}" for i in range(100)]),
        {},
        r"several rows for each, got 100 different values in 100 rows of 'risk'; pick another target",
    ),
    "words as numbers": (
        lambda f: f,
        dict(task="regression"),
        r"numbers as its target, got '\w+' in row 1 of 'risk'; use task=",
    ),
    "binary of three": (lambda f: f, dict(task="binary"), r"must have 2 different targets, got 3 in 'risk'; use task="),
    "labels of one": (
        lambda f: f,
        dict(task="multi-label"),
        r"got task='multi-label' for risk, which asks for multi-class",
    ),
    "no such task": (lambda f: f, dict(task="guess"), r"task must be one of regression, binary, .*, got 'guess'; pick"),
    "mixed targets": (
        lambda f: f,
        dict(target="age,city"),
        r"several targets must all be numbers or all be yes or no, got 'city' which is a category; predict it",
    ),
    "no validation rows": (
        lambda f: f.iloc[:4].assign(risk=["low", "low", "mid", "mid"]),
        {},
        r"every part must have a row, got none for validation=0.1 of 4 rows; use more rows or validation=0",
    ),
    "same names": (
        lambda f: pd.concat([f, f[["age"]]], axis=1),
        {},
        r"columns must have different names, got 'age' twice; rename one of them",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables(case):
    change, options, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        read_table(change(make_frame()), **options)


def test_bad_files(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n?,NA,\n,,\n")
    with pytest.raises(ValueError, match=r"a table must hold values, got only missing ones in the 2 rows of t.csv"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n4,5\n")
    with pytest.raises(ValueError, match=r"every row must have the 3 fields of the first, got 2 in line 3 of t.csv"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(
        ValueError, match=r"a table must be CSV or Parquet, got the spreadsheet t.xlsx; save its sheet as CSV"
    ):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match=r"a table must be one file, got the folder .* with 2; give one of them"):
        read_table(tmp_path)


def test_what_is_not_installed_is_named(monkeypatch, tmp_path):
    import sys

    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"reading a table needs pandas, .* run pip install 'cutaway\[tables\]'"
    ):
        load_frame(tmp_path / "t.csv")


def test_a_label_that_training_has_not_is_found_before_training(tmp_path):
    frame = make_frame()
    frame.to_csv(tmp_path / "train.csv", index=False)
    odd = frame.head(5).copy()
    odd["risk"] = odd["risk"].astype(object)
    odd.loc[odd.index[3], "risk"] = "never seen"
    odd.to_csv(tmp_path / "held_out.csv", index=False)
    told = (
        r"test_file must have the labels of training, got held_out\.csv: the target must be one of .* got 'never seen'"
    )
    with pytest.raises(ValueError, match=told):
        read_table(tmp_path / "train.csv", test=tmp_path / "held_out.csv")


def test_too_many_columns_of_words_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "TEXTS", 2)
    table = {f"c{i}": ["a", "b", "c"] * 10 for i in range(4)} | {"x": range(30)}
    with pytest.raises(ValueError, match=r"up to 2 columns of words, got 4 in table \(c0, c1, c2, \.\.\.\); leave out"):
        read_table(table, "x")


def test_infinite_numbers_are_found_a_few_columns_at_a_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text_columns, "_TOGETHER", 20)
    frame = pd.DataFrame({f"c{i}": np.arange(10) * 0.1 for i in range(9)} | {"w": list("abcdefghij")})
    frame.loc[3, "c4"], frame.loc[7, "c8"] = np.inf, -np.inf
    assert text_columns.find_infinite(frame) == [4, 8]
    assert [text_columns.note_infinite(frame)[name].note for name in ("c4", "c8")] == [
        "1 infinite, taken for missing"
    ] * 2
    tidied = tidy(frame)
    assert tidied.isna().sum().sum() == 2
    assert np.isnan(tidied.loc[3, "c4"])
