"""What joins by `cut.register`: blocks, recipes and views, told apart by what comes with them."""

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import cutaway as cut
from cutaway import registry
from cutaway.look import Picture
from cutaway.recipes import Recipe, Subject, index
from cutaway.recipes.index import find_recipe, known_recipes


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    registry.entries(), registry.views()  # ours are there
    kept = [dict(known) for known in (registry._entries, registry._views, index._own)]
    yield
    for known, before in zip((registry._entries, registry._views, index._own), kept):
        known.clear()
        known.update(before)


def a_run(recipe: str) -> Any:
    return SimpleNamespace(recipe=SimpleNamespace(name=recipe, task_kind="texts/next_token"))


def mine(run: Any, subject: Subject) -> Picture:
    """A square. And more words."""
    return Picture("<svg></svg>", "Square", "A square.")


def test_a_view_joins_with_the_recipes_that_it_suits():
    assert cut.register(mine, suits=("gpt", "own"), section="Mine") is mine
    view = registry.views()[-1]
    assert (view.name, view.section, view.summary, view.runs) == ("mine", "Mine", "A square.", "gpt, own")
    assert view.fits(a_run("own"))
    assert not view.fits(a_run("mlp"))
    assert [picture.title for picture in view.pictures(a_run("own"), Subject())] == ["Square"]


def test_a_view_may_be_marked_for_the_report():
    cut.register(mine, suits="gpt")
    assert not registry.views()[-1].report
    cut.register(mine, suits="gpt", report=True)
    assert registry.views()[-1].report
    assert {view.name for view in registry.views() if view.report} > {"attention", "results", "gradient_flow"}


def test_a_view_may_say_by_itself_which_runs_it_suits():
    def has_long_name(run: Any) -> bool:
        """Runs with long names."""
        return len(run.recipe.name) > 3

    cut.register(mine, suits=has_long_name, name="long")
    view = registry.views()[-1]
    assert (view.name, view.runs, view.section) == ("long", "Runs with long names", "More views")
    assert view.fits(a_run("perceptron"))
    assert not view.fits(a_run("gpt"))
    cut.register(mine, suits="mlp", name="one")
    assert registry.views()[-1].suits == ("mlp",)


def test_ours_have_all_that_a_list_shows():
    ours = registry.views()
    assert len(ours) > 10
    for view in ours:
        assert view.summary.endswith((".", ":", ";")), view.name
        assert view.section
        assert view.runs, view.name


def test_a_view_gives_pictures():
    cut.register(lambda run, subject: ["no picture"], suits="gpt", name="words")
    with pytest.raises(
        ValueError, match="a view gives a Picture or a list of them, got str from 'words'; wrap a chart"
    ):
        registry.views()[-1].pictures(a_run("gpt"), Subject())


def test_a_recipe_joins_with_its_own_name():
    class Mine(Recipe):
        name = "registered-here"

    assert cut.register(Mine) is Mine
    assert find_recipe("registered-here") is Mine
    assert known_recipes()[-1] == "registered-here"
    with pytest.raises(ValueError, match="has its name inside, got name='other' for 'registered-here'"):
        cut.register(Mine, name="other")

    class Taken(Recipe):
        name = "gpt"

    with pytest.raises(ValueError, match="a recipe needs a name of its own, got 'gpt' for Taken"):
        cut.register(Taken)


def test_a_name_is_registered_once():
    cut.register(mine, suits="gpt")
    cut.register(mine, suits="mlp")  # again, with another mind
    with pytest.raises(
        ValueError, match=r"registered once, got 'mine' for .*\.another but it is .*\.mine; pass another"
    ):

        def another(run: Any, subject: Subject) -> list[Picture]:
            return []

        cut.register(another, suits="gpt", name="mine")


def test_what_joins_must_say_what_it_is():
    with pytest.raises(
        ValueError, match=r"a block is registered with example=, a view with suits=.* got neither for 'mine'"
    ):
        cut.register(mine)
    with pytest.raises(ValueError, match="got both for 'mine'; pass one of the two"):
        cut.register(mine, suits="gpt", example=lambda: (mine,))


def test_registering_needs_no_torch():
    code = (
        "import sys, cutaway as cut\n"
        "class Mine(cut.recipes.Recipe):\n    name = 'mine'\n"
        "cut.register(Mine); cut.register(lambda run, subject: [], suits='mine', name='view')\n"
        "print('torch' in sys.modules, 'altair' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]
