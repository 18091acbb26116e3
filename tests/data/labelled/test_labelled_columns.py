"""The columns of texts and labels are found by name, then by what stands in them; what the caller says counts."""

import pytest

from cutaway.data.labelled.labelled_columns import find_text_and_label

ROWS = {
    "id": ["1", "2", "3", "4"],
    "where": ["here", "there", "here", "there"],
    "words": ["a long and winding text", "another text of words", "so it goes on", "and it ends with this"],
}


def test_by_content():
    assert find_text_and_label(ROWS, "rows.csv") == (("words",), "where")


def test_by_name_first():
    columns = {"Review": ["x"] * 4, "notes": ["a very long note about nothing"] * 4, "Class": ["1", "2", "3", "4"]}
    assert find_text_and_label(columns, "rows.csv") == (("Review",), "Class")


def test_a_constant_column_is_no_label():
    assert find_text_and_label({"same": ["x"] * 4} | ROWS, "rows.csv")[1] == "where"


def test_what_the_caller_says():
    assert find_text_and_label(ROWS, "rows.csv", "where", "id") == (("where",), "id")
    assert find_text_and_label(ROWS, "rows.csv", "where, words") == (("where", "words"), "id")
    assert find_text_and_label(ROWS, "rows.csv", target="id") == (("words",), "id")
    odd = {"a, b": ["x", "y"], "label": ["0", "1"]}
    assert find_text_and_label(odd, "rows.csv", "a, b") == (("a, b",), "label")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "wordz"}, "text must be a column of the table, got 'wordz'; .* in rows.csv are: words"),
        ({"target": "wherre"}, "target must be a column .* got 'wherre'"),
        ({"text": "id", "target": "id"}, "must be different columns, got 'id' for both .* id, where, words"),
        ({"text": "id, where, words"}, "got only id, where, words; name fewer columns as texts"),
    ],
)
def test_refused(options, message):
    with pytest.raises(ValueError, match=message):
        find_text_and_label(ROWS, "rows.csv", **options)


def test_one_column():
    with pytest.raises(ValueError, match=r"got lines.txt with 1 \('column_1'\); put a tab or a comma"):
        find_text_and_label({"column_1": ["a", "b"]}, "lines.txt")
