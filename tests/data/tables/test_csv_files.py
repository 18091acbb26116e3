"""CSV of every make reads to the same table."""

import gzip
import itertools
import lzma

import pandas as pd
import pytest

from cutaway.data.tables import csv_files
from cutaway.data.tables.csv_files import find_layout
from cutaway.data.tables.table_files import load_frame as read_csv

ROWS = [("name", "age", "weight"), ("ann", 31, 60.5), ("bob", 4, 18.25), ("eve", 77, 71.0)]
FRAME = pd.DataFrame(ROWS[1:], columns=ROWS[0])


def write(path, rows, separator=",", decimal="."):
    lines = [separator.join(str(x).replace(".", decimal) for x in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", ", "])
@pytest.mark.parametrize("header", [True, False])
def test_separators_and_headers(tmp_path, separator, header):
    frame = read_csv(write(tmp_path / "t.csv", ROWS if header else ROWS[1:], separator))
    expected = FRAME if header else FRAME.set_axis(["column_1", "column_2", "column_3"], axis=1)
    pd.testing.assert_frame_equal(frame, expected)


def test_decimal_comma(tmp_path):
    pd.testing.assert_frame_equal(read_csv(write(tmp_path / "t.csv", ROWS, ";", ",")), FRAME)
    (tmp_path / "t.csv").write_text("1,5;2,5\n3,25;4,0\n")
    assert read_csv(tmp_path / "t.csv").to_numpy().tolist() == [[1.5, 2.5], [3.25, 4.0]]
    (tmp_path / "t.csv").write_text('a,b\n"1,500",2\n"2,500",3\n')  # thousands
    assert read_csv(tmp_path / "t.csv")["a"].tolist() == [1500, 2500]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed(tmp_path, pack):
    path = write(tmp_path / "t.csv", ROWS)
    path.write_bytes(pack(path.read_bytes()))
    pd.testing.assert_frame_equal(read_csv(path), FRAME)


def test_declared_encoding(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("name,n\nÉve,1\nZoé,2\n".encode("cp1252"))
    assert read_csv(path, encoding="cp1252")["name"].tolist() == ["Éve", "Zoé"]
    with pytest.raises(
        ValueError, match=r"text must be utf-8, got byte 0xc9 at position 7, in line 2 of t.csv; declare its encoding"
    ):
        read_csv(path)


def test_quotes_blank_lines_and_missing_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,c\n"x, y",?,1\n\n"line\nbreak",NA,\n"he said ""no""",3,2\n   \n')
    frame = read_csv(path)
    assert frame["a"].tolist() == ["x, y", "line\nbreak", 'he said "no"']
    assert frame["b"].isna().tolist() == [True, True, False]
    assert frame["c"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("red,small\nblue,small\nred,large\n", False),  # a name would not come again below
        ("colour,size\nred,small\nblue,small\n", True),
        ("a,a\nx,y\n", True),
        (",b\n0,2\n1,4\n", True),  # an index column without a name
        ("a,,b\n1,2,3\n", True),  # a column without a name, over numbers
        ("red,,small\nblue,x,large\n", False),  # a row of words with a gap
        ("a,b,\n1,2,\n", True),  # a separator at the end of every line
        ("$3,4\n$5,6\n", False),
        ('"1,234",4\n"5,678",6\n', False),
        ("x,?\ny,z\n", False),
        ("year,2020\n1,2\n", False),
        ("ds,1,2\n2024-01-01,5,6\n2024-01-02,7,8\n", True),  # numbers for names, beside a word over dates
        ("x,1,2\n0.5,5,6\n1.5,7,8\n", False),
        ("2024-01-01,5,6\n2024-01-02,7,8\n", False),
        ("NA,1,2\n2024-01-02,7,8\n", False),
        ("t,1,2,3\n0,5,6,7\n1,7,8,9\n", True),  # counted columns
        (",0,1,2\n0,5,6,7\n1,7,8,9\n", True),
        ("?,0,1,2\n0,5,6,7\n1,7,8,9\n", False),
    ],
)
def test_header_or_none(text, header):
    assert find_layout(text, "t.csv").header is header
    assert find_layout(text, "t.csv", header=not header).header is not header


def test_names():
    assert find_layout(",b,b\n1,2,3\n", "t.csv", header=True).names == ("column_1", "b", "b_2")
    layout = find_layout("a,a,,a_2,column_3\n1,2,3,4,5\n", "t.csv")
    assert layout.names == ("a", "a_3", "column_4", "a_2", "column_3")
    assert layout.repeated == (("a", "a_3"),)


def test_what_was_found_is_told(tmp_path):
    def notes(text, **how):
        (tmp_path / "t.csv").write_text(text)
        return csv_files.read_csv(tmp_path / "t.csv", **how).notes()

    assert notes("a,b,b\n1,2,3\n") == [
        "header: the first row (a, b, b_2) is taken for names; if it holds data, use --no-header",
        "names that came again got a number: b → b_2",
    ]
    assert notes("2019,2020,2021,2022\n1,2,3,4\n") == [
        "no header: the first row (2019, 2020, 2021, ...) is taken for data, columns are called column_1 to column_4; "
        "if it holds names, use --header"
    ]
    assert notes("2019,2020\n1,2\n", header=True) == []
    assert notes("a,b\n1,2\n", header=False) == []


def test_quoted_line_breaks_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffname,"a\nb",y\nann,"1\n",2\n'.encode())
    frame = read_csv(path)
    assert list(frame.columns) == ["name", "a\nb", "y"]
    assert frame.iloc[0].tolist() == ["ann", 1, 2]


def test_plus_signs_and_points_are_numbers_unless_they_are_codes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d\n+5,0.5,00,20240131\n-3,.5,1,20231231\n")
    frame = read_csv(path)
    assert frame["a"].tolist() == [5, -3]
    assert frame["b"].tolist() == [0.5, 0.5]
    assert frame["c"].tolist() == ["00", "1"]
    assert frame["d"].tolist() == ["20240131", "20231231"]  # days


def test_told_separator_is_taken():
    assert find_layout("a;b,c;d\n1;2,5;3\n", "t.csv", separator=",").separator == ","
    assert find_layout("a;b,c;d\n1;2,5;3\n", "t.csv").separator == ";"


@pytest.mark.parametrize(("row", "count"), [("4,5", 2), ("4,5,6,7", 4)])
def test_ragged_rows(tmp_path, row, count):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n1,2,3\n{row}\n7,8,9\n")
    rule = f"every row must have the 3 fields of the first, got {count} in line 3 of t.csv"
    with pytest.raises(ValueError, match=rf"{rule} \(separator ,\); mend that line, or quote a field that holds"):
        read_csv(path)


def test_a_ragged_row_far_down_is_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\tb\n" + "1\t2\n" * 5000 + "3\n")
    with pytest.raises(ValueError, match=r"got 1 in line 5,002 of t.csv \(separator tab\)"):
        read_csv(path)


def test_no_rows(tmp_path):
    (tmp_path / "t.csv").write_text("\n\n")
    with pytest.raises(ValueError, match=r"a table must hold at least one row, got t.csv which is empty; give a file"):
        read_csv(tmp_path / "t.csv")


def test_a_field_may_be_a_book(tmp_path):
    """Python's csv allows 131,072 characters by default."""
    (tmp_path / "t.csv").write_text('a,b\n1,"' + "x" * 200_000 + '"\n')
    assert len(read_csv(tmp_path / "t.csv")["b"][0]) == 200_000


def test_a_quote_that_nothing_closes(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1,"two\nlines"\n2,"open\n3,x\n')
    with pytest.raises(ValueError, match=r"got one that begins in line 4 of t.csv and goes on to its end; close it"):
        read_csv(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('a,b\n1,"two\nlines"\n')
    assert read_csv(tmp_path / "t.csv")["b"][0] == "two\nlines"


def test_every_row_is_read(data_folder):
    path = data_folder / "tables" / "adult-train.csv.xz"
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    frame = read_csv(path)
    assert frame.shape == (sum(map(bool, lines)), 15)
    for i in itertools.islice(range(0, len(frame), 4001), 9):
        told = [field.strip() for field in lines[i].split(",")]
        assert ["?" if pd.isna(x) else str(x) for x in frame.iloc[i]] == told
