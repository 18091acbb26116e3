"""The confusion matrix: counts and shares in the cells, and the worst mistake in words."""

import numpy as np
import pytest
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import confusion_matrix

COUNTS = [[8, 2, 0], [1, 9, 0], [0, 0, 5]]


def test_numbers_stand_in_the_cells():
    picture = confusion_matrix(COUNTS, ["cat", "dog", "owl"], title="Animals")
    expect_drawn(picture)
    words = words_of(picture)
    for text in ("8", "80%", "2", "20%", "9", "90%", "100%", "cat", "owl", "truth", "prediction"):
        assert text in words, text
    assert [row["count"] for row in rows_of(picture)] == [8, 2, 0, 1, 9, 0, 0, 0, 5]
    assert picture.caption == (
        "Right answers lie on the diagonal: 22 of 25. The most frequent mistake takes cat for dog (2 times)."
    )


def test_no_mistake_and_a_class_without_examples():
    assert confusion_matrix([[3, 0], [0, 0]]).caption.endswith("3 of 3. There is no mistake.")
    assert [row["share"] for row in rows_of(confusion_matrix([[3, 0], [0, 0]]))] == [1, 0, 0, 0]


def test_the_note_speaks_of_percentages_where_there_are_some():
    assert confusion_matrix(np.eye(3)).note.startswith("Colours and percentages:")
    assert confusion_matrix(np.eye(10)).note.startswith("Colours:")


def test_many_classes_are_a_heat_map():
    picture = confusion_matrix(np.eye(30) * 4 + np.eye(30, k=1))
    assert "Right answers lie on the diagonal: 120 of 149." in picture.caption
    assert picture.alt.startswith("Heat map of rows: 30 × 30")


def test_messages():
    with pytest.raises(ValueError, match=r"must be square, got shape \(1, 2\)"):
        confusion_matrix([[1, 2]])
    with pytest.raises(ValueError, match="a label for every class, got 1 for 2"):
        confusion_matrix([[1, 2], [3, 4]], ["a"])
