"""Texts of a file: line i is text i, whatever the pieces in which it is read."""

import gzip

import pytest

from cutaway.data import files
from cutaway.data.labelled import unlabelled_texts
from cutaway.data.labelled.unlabelled_texts import read_texts


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\n\nb\n\n", ["a", "", "b", ""]),
        ("", []),
        ("\n", [""]),
        ("\ufeffa\r\nb c\r\n", ["a", "b c"]),
        (" spaces stay \n", [" spaces stay "]),
    ],
)
@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_lines(content, expected, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIECE", piece)
    path = tmp_path / "texts.txt"
    path.write_bytes(content.encode())
    assert list(read_texts(path)) == expected


def test_packed_and_other_encodings(tmp_path):
    path = tmp_path / "texts.txt.gz"
    path.write_bytes(gzip.compress("café\nthé\n".encode("latin-1")))
    assert list(read_texts(path, encoding="latin-1")) == ["café", "thé"]
    with pytest.raises(ValueError, match=r"must be utf-8, got byte 0xe9 at position 3, in line 1"):
        list(read_texts(path))


def test_a_huge_line_is_kept_short(tmp_path, monkeypatch):
    monkeypatch.setattr(unlabelled_texts, "LONGEST", 10)
    monkeypatch.setattr(files, "PIECE", 7)
    path = tmp_path / "texts.txt"
    path.write_text("x" * 100 + "\nshort\n", encoding="utf-8")
    assert list(read_texts(path)) == ["x" * 10, "short"]


def test_columns(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text('id,review,stars\n1,"so, good",5\n2,bad film,1\n', encoding="utf-8")
    assert list(read_texts(path)) == ["so, good", "bad film"]
    assert list(read_texts(path, "stars")) == ["5", "1"]
    with pytest.raises(ValueError, match=r"which has 'id', 'review', 'stars', got 'revew'; try column='review'"):
        read_texts(path, "revew")


def test_lines_are_read_as_they_are_needed(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b"first\n" + b"more\n" * 40_000 + b"\xff\n")
    lines = read_texts(path)
    assert next(lines) == "first"  # the bad byte at the end is far away
    with pytest.raises(ValueError, match="0xff"):
        list(lines)


def test_mistakes(tmp_path):
    with pytest.raises(ValueError, match="texts must be a file, got the folder"):
        read_texts(tmp_path)
    with pytest.raises(ValueError, match=r"texts must be a file or folder that exists, got .*none\.txt"):
        read_texts(tmp_path / "none.txt")
    with pytest.raises(ValueError, match=r"encoding must be .*, got 'utf8x'"):
        read_texts(tmp_path / "none.txt", encoding="utf8x")
