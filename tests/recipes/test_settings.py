"""Settings with their headings and explanations."""

from dataclasses import dataclass

import pytest

from cutaway.recipes.index import RECIPES, find_recipe
from cutaway.recipes.settings import FIRST, HEADINGS, MODEL, OPTIMIZER, explanations, headings, setting


@dataclass
class Parent:
    steps: int = setting(10, FIRST)
    """how many"""
    rate: float = setting(0.1, OPTIMIZER)
    """how fast"""


@dataclass
class Child(Parent):
    rate: float = 0.2
    steps: int = 20
    """how many,
    at most"""
    width: int = 3


def test_a_subclass_keeps_headings_and_words_that_it_does_not_change():
    assert Child() == Child(steps=20, rate=0.2, width=3)
    assert headings(Child) == {"steps": FIRST, "rate": OPTIMIZER, "width": MODEL}
    assert explanations(Child) == {"steps": "how many, at most", "rate": "how fast", "width": ""}


def test_a_class_without_a_file_has_no_words():
    names: dict[str, type] = {}
    exec(
        "from dataclasses import dataclass\n@dataclass\nclass Typed:\n    steps: int = 1\n    'how many'",
        {"__name__": "nowhere"},
        names,
    )
    assert explanations(names["Typed"]) == {"steps": ""}


@pytest.mark.parametrize("name", RECIPES)
def test_every_setting_of_a_recipe_is_explained_and_ten_at_most_come_first(name: str):
    kind = find_recipe(name)
    assert all(explanations(kind).values())
    found = headings(kind)
    assert set(found.values()) <= set(HEADINGS)
    assert 5 <= sum(heading == FIRST for heading in found.values()) <= 9  # --out is the tenth
