"""Recipes by name: ours, and those of users."""

import pytest

from cutaway.recipes.base import Recipe
from cutaway.recipes.index import find_recipe, register_recipe


def test_an_unknown_recipe_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"a recipe must be one of gpt.*, got 'gtp'; did you mean gpt?"):
        find_recipe("gtp")
    with pytest.raises(ValueError, match="got 'quux'; `cutaway list recipes` tells what each does"):
        find_recipe("quux")


def test_an_own_recipe_needs_a_name_of_its_own():
    class Nameless(Recipe): ...

    class Taken(Recipe):
        name = "gpt"

    class Mine(Recipe):
        name = "mine"

    assert register_recipe(Mine) is Mine
    assert find_recipe("mine") is Mine
    for kind in (Nameless, Taken):
        with pytest.raises(
            ValueError, match=f"a recipe needs a name of its own, got '{kind.name}' for {kind.__name__}"
        ):
            register_recipe(kind)
