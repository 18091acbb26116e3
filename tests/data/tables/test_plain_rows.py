"""Large plain CSV texts: the same columns of codes as row by row, and the same words for uneven rows."""

import random
import re

import pytest

from cutaway.data.tables import plain_rows
from cutaway.data.tables.csv_files import CsvFormat, check_rows, parse_csv
from cutaway.data.tables.plain_rows import find_codes

FIELDS = ["7", "0.5", "-3", "1e5", "ann", "ünder", "", "12345678", "a" * 20, "3fa85f64-5717-4562-b3fc-2c963f66afa6"]
CODES = ["007", "-01", "+4412345", "1234567890123456", "20240131", "07.2024", " 007", "007 "]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [True, False])
def test_the_same_codes_as_row_by_row(end: str, header: bool, monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(0)
    monkeypatch.setattr(plain_rows, "_PIECE", 50)
    monkeypatch.setattr(plain_rows, "_FIELDS", 7)  # columns are looked at a few at a time
    for _ in range(60):
        rows = [["a", "b", "c"]] + [[draw.choice(FIELDS) for _ in range(3)] for _ in range(12)]
        rows[draw.randrange(13)][draw.randrange(3)] = draw.choice(CODES)
        text = end.join(",".join(row) for row in rows) + end * draw.randrange(2)
        layout = CsvFormat(",", header, ("a", "b", "c"))
        monkeypatch.setattr(plain_rows, "LARGE", 1 << 20)
        slow = check_rows(text, "t.csv", layout)
        monkeypatch.setattr(plain_rows, "LARGE", 0)
        assert check_rows(text, "t.csv", layout) == slow


@pytest.mark.parametrize("text", ['a,b\n"1",2', "a,b\n1,2,3", "a,b\n1\n2", "a,b\n\n1,2", "a,b\r1,2", "a,b\n1,2\0"])
def test_what_is_not_plain_is_left_to_the_slow_reader(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain_rows, "LARGE", 0)
    assert find_codes(text, ",", 2, True, re.compile("0")) is None


def test_a_large_table_with_an_uneven_row_names_its_line():
    rows = [f"{i},{i + 1}" for i in range(200_000)]
    rows[150_000] += ",9"
    with pytest.raises(ValueError, match=r"the 2 fields of the first, got 3 in line 150,001 of big.csv"):
        parse_csv("\n".join(rows), "big.csv")
    rows[150_000] = "007,8"
    table = parse_csv("\n".join(rows), "big.csv")
    assert table.frame["column_1"].iloc[150_000] == "007"
    assert table.frame["column_2"].dtype.kind == "i"


def test_many_columns_are_looked_at_together(monkeypatch: pytest.MonkeyPatch):
    looks: list[tuple[int, ...]] = []
    real = plain_rows._may_be_code
    monkeypatch.setattr(plain_rows, "LARGE", 0)
    monkeypatch.setattr(plain_rows, "_may_be_code", lambda piece, a, b: (looks.append(a.shape), real(piece, a, b))[1])
    row = ["1.5"] * 3_000
    row[1234] = "007"
    text = "\n".join(",".join(cells) for cells in [[f"c{i}" for i in range(3_000)], row, ["2.5"] * 3_000])
    assert find_codes(text, ",", 3_000, True, re.compile("00[0-9]")) == {1234}
    assert looks == [(2, 3_000)]
