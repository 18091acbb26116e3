"""Runs that were made before equal texts were kept in one part."""

from types import SimpleNamespace
from typing import Any

import pytest

from cutaway.tasks.texts.equal_texts import TOGETHER, expect_same_parts, kept_together


def run_with(**data: Any) -> Any:
    return SimpleNamespace(path="runs/old", about={"data": data})


def test_the_rule_of_a_run():
    assert kept_together(None)
    assert kept_together(run_with(**{TOGETHER: True}))
    assert not kept_together(run_with())


def test_a_run_does_not_go_on_with_other_parts():
    old = run_with()
    expect_same_parts(old, lambda made: ["a", "b"])
    expect_same_parts(run_with(**{TOGETHER: True}), lambda made: made)
    with pytest.raises(ValueError, match="with the parts of its data, got runs/old, which was begun when equal"):
        expect_same_parts(old, lambda made: ["a"] if made is old else ["b"])
