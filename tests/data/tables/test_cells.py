"""Tables as cells: what is known, what is not, and columns that are left out."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data.tables.cells import cell_columns, cell_inputs, encode_cells, read_cells
from cutaway.data.tables.encoding import tidy


def little(rows: int = 60) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": draw.normal(10, 2, rows).round(2),
            "kind": draw.choice(["red", "green", "blue"], rows),
            "sold": pd.date_range("2020-01-01", periods=rows, freq="9D").strftime("%Y-%m-%d"),
            "new": draw.choice(["yes", "no"], rows),
            "constant": 7,
        }
    )


def test_numbers_come_first_and_dates_have_waves():
    table = read_cells(little(), validation=0.0, test=0.0)
    assert [column.name for column in cell_columns(table.schema)] == ["size", "sold", "new", "kind"]
    assert cell_inputs(table.schema) == (1, 5, 1)
    assert table.train.numbers.shape == (60, 7)
    assert table.train.categories.shape == (60, 1)
    assert table.train.known.all()
    frame = little()
    np.testing.assert_allclose(
        table.train.numbers[:, 0], (frame["size"] - frame["size"].mean()) / frame["size"].std(ddof=0), rtol=1e-5
    )
    words = np.array(["blue", "green", "red"])[table.train.categories[:, 0]]
    assert words.tolist() == frame["kind"].tolist()


def test_what_is_not_known():
    frame = little()
    table = read_cells(frame, validation=0.0, test=0.0)
    new = tidy(
        pd.DataFrame(
            {"size": [1.0, np.nan], "sold": [None, "2020-03-01"], "new": ["no", None], "kind": ["pink", "red"]}
        )
    )
    cells = encode_cells(table.schema, new)
    # a category that training never saw says nothing, like one that is missing
    assert cells.known.tolist() == [[True, False, True, False], [False, True, False, True]]
    assert np.isfinite(cells.numbers).all()
    unknown = encode_cells(table.schema, new.drop(columns="size"), unknown=["size"])
    assert not unknown.known[:, 0].any()
    np.testing.assert_array_equal(unknown.known[:, 1:], cells.known[:, 1:])


def test_columns_left_out_and_gaps_of_training():
    frame = little()
    frame.loc[:9, "kind"] = None
    table = read_cells(frame, leave_out=["new"], validation=0.2, test=0.1, seed=3)
    assert [column.name for column in cell_columns(table.schema)] == ["size", "sold", "kind"]
    assert {c.name: c.reason for c in table.schema.columns if c.kind == "ignored"} == {
        "new": "left out by --leave-out",
        "constant": "constant: 7",
    }
    parts = [table.train, table.validation, table.open_test()]
    assert [part.size for part in parts] == [42, 12, 6]
    assert sum(int((~part.known).sum()) for part in parts) == 10
    assert "missing" in table.summary()


def test_whole_numbers_are_noted():
    frame = little().assign(count=range(60, 0, -1), many=np.arange(60) // 2)
    assert read_cells(frame).whole == ("many",)  # count numbers the rows and is ignored


def test_bad_tables():
    with pytest.raises(ValueError, match=r"leave_out must name columns of the table, got 'sise'; .* size"):
        read_cells(little(), leave_out=["sise"])
    with pytest.raises(
        ValueError, match=r"2 columns must vary, got 'size' in table \(constant: constant: 7\); add columns"
    ):
        read_cells(little()[["size", "constant"]])
    with pytest.raises(ValueError, match="2 columns must vary, got none"):
        read_cells(pd.DataFrame({"a": [1, 1, 1], "b": ["x", "x", "x"]}))
    table = read_cells(little())
    with pytest.raises(ValueError, match="must have the columns of training, got one without 'sold'"):
        encode_cells(table.schema, tidy(little().drop(columns="sold")))
    with pytest.raises(ValueError, match="column 'size' must hold numbers"):
        encode_cells(table.schema, tidy(little().astype({"size": object}).assign(size="big")))
