"""The messages of the data part, and the nearest of the known names."""

import pytest

from cutaway.data.checks import expect_choice, nearest


def test_a_choice_is_one_of_those_known():
    expect_choice("task", "regression", ["regression", "classification"])
    with pytest.raises(ValueError, match="task must be one of regression, classification, got 'sorting'; pick one"):
        expect_choice("task", "sorting", ["regression", "classification"])


def test_the_nearest_names():
    known = ["Price", "colour", "weight", "size"]
    assert nearest("price", known) == "Price"
    assert nearest("color", known) == "colour"
    assert nearest("zzz", known) == "Price, colour, weight"  # none is near: the first few
    assert nearest("zzz", known, count=1) == "Price"
    assert nearest("x", []) == ""
