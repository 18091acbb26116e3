"""Texts to classify: from a text, lists, lines and tables."""

from pathlib import Path

import pandas
import pytest

from cutaway.tasks.texts.classified_inputs import texts_to_classify


def test_kinds(tmp_path: Path):
    assert texts_to_classify("one", ["text"]) == ["one"]
    assert texts_to_classify(["one", "two"], ["text"]) == ["one", "two"]
    assert texts_to_classify({"review": ["a b", "c d"], "n": ["1", "2"]}, ["review"]) == ["a b", "c d"]
    lines = tmp_path / "lines.txt"
    lines.write_text("one, of them\n\ntwo\n")
    assert texts_to_classify(lines, ["text"]) == ["one, of them", "", "two"]
    table = tmp_path / "table.csv"
    table.write_text('n,words\n1,"one, of them"\n2,two and more\n')
    assert texts_to_classify(table, ["review"]) == ["one, of them", "two and more"]  # found by its length


def test_joined_columns():
    frame = pandas.DataFrame({"title": ["A"], "body": ["b"]})
    assert texts_to_classify(frame, ["title", "body"]) == ["A\nb"]
    with pytest.raises(ValueError, match=r"got a table in memory without 'bodi'; .* 2 columns are: body"):
        texts_to_classify(frame, ["title", "bodi"])
