"""Texts to predict for: as they are given, and from files."""

from pathlib import Path

import pytest

from cutaway.tasks.texts.text_inputs import as_texts, first_line, read_lines


def test_a_file_or_a_text(tmp_path: Path):
    path = tmp_path / "lines.txt"
    path.write_text("one line\n\nanother é\n", encoding="utf-8")
    assert read_lines(str(path)) == ["one line", "", "another é"]
    assert read_lines("no file of that name") == ["no file of that name"]
    assert read_lines("x" * 5000) == ["x" * 5000]  # longer than any name of a file
    assert read_lines("a\0b") == ["a\0b"]
    path.write_bytes("é\n".encode("cp1252"))
    assert read_lines(str(path), "cp1252") == ["é"]


def test_what_python_may_give(tmp_path: Path):
    (tmp_path / "lines.txt").write_text("a\nb\n")
    assert as_texts("a [MASK]") == ["a [MASK]"]
    assert as_texts(["a", "b"]) == as_texts(("a", "b")) == as_texts(tmp_path / "lines.txt") == ["a", "b"]


def test_mistakes(tmp_path: Path):
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(ValueError, match=r"one a line, got .*empty\.txt, which has none; give a file with lines"):
        read_lines(str(tmp_path / "empty.txt"))
    with pytest.raises(ValueError, match="a path must lead to a file of texts, got 'nowhere'; give a text as a str"):
        as_texts(Path("nowhere"))
    with pytest.raises(ValueError, match="texts must be a str, a list of them or the Path of a file, got int"):
        as_texts(3)


@pytest.mark.parametrize("content", [b"\none\n\n \t\ntwo\n\n", b"\xef\xbb\xbf\r\none\r\n\r\n \r\ntwo\r\n\r\n"])
def test_blank_lines_are_empty_texts_so_that_answers_line_up(content: bytes, tmp_path: Path):
    (tmp_path / "texts.txt").write_bytes(content)
    assert read_lines(str(tmp_path / "texts.txt")) == ["", "one", "", "", "two", ""]
    assert as_texts(tmp_path / "texts.txt") == ["", "one", "", "", "two", ""]
    assert first_line(str(tmp_path / "texts.txt")) == "one"
