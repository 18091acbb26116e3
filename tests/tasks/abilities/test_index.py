"""The table of abilities: ours, yours by a call, by an entry point and by a file."""

import sys
from pathlib import Path

import pytest

import cutaway as cut
from cutaway import cli
from cutaway.recipes.index import IMPORTED, RECIPES, TUNED, find_recipe
from cutaway.tasks.abilities import index
from cutaway.tasks.abilities.ability import Ability, at_place, offers_of
from cutaway.tasks.abilities.index import all_abilities, find_ability, our_verbs, register_ability

REVERSE = """
import cutaway as cut
from cutaway.recipes import Ability, Flag

def reverse(run, text="abc"):
    return text[::-1] + " " + run.recipe.name

ABILITY = Ability("reverse", "text backwards", call=reverse, inputs=(Flag("text", default="abc", help="a text"),))
"""


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(index, "_own", {})
    monkeypatch.setattr(index, "_read", set())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cut.train("softmax", data="iris", steps=2, out=tmp_path / "run", show="quiet")
    return tmp_path / "run"


def test_a_file_is_its_verb():
    for ability in all_abilities():
        assert ability.help == our_verbs()[ability.verb]
        assert callable(ability.function())
        assert not ability.command or callable(at_place(ability.command))
        assert ability.inputs or ability.verb == "test"
        assert ability.outputs
        assert ability.about
        assert ability.examples
        assert ability.to_dict()["verb"] == ability.verb


@pytest.mark.parametrize("name", [*RECIPES, *TUNED, *IMPORTED])
def test_a_recipe_offers_what_it_does(name: str):
    kind = find_recipe(name)
    for verb, offer in offers_of(kind).items():
        assert offer.verb == verb
        assert find_ability(verb) is not None or verb == "look", (name, verb)
    for ability in all_abilities():  # verbs are those of learners: that they have them, old runs show
        assert not (ability.needs and hasattr(kind, ability.needs)), (name, ability.verb)


def test_a_verb_of_yours(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    space: dict = {}
    exec(REVERSE, space)
    ability = cut.register(space["ABILITY"])
    run = cut.load(folder)
    assert run.reverse("abc") == "cba softmax"
    assert "reverse" in dir(run)
    assert "reverse" in [one.verb for one in cut.abilities(run)]
    assert register_ability(ability) is ability
    for taken in ("predict", "reverse"):
        with pytest.raises(ValueError, match=f"the verb of an ability must be free, got '{taken}'"):
            cut.register(Ability(taken, "", call=print))
    with pytest.raises(ValueError, match="must be a word that Python can call, got 'a b'"):
        Ability("a b", "", call=print)
    assert cli.run(["reverse", str(folder), "--text", "xyz"]) == 0
    assert capsys.readouterr().out == "zyx softmax\n"


def test_a_file_of_yours(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "mine.py"
    file.write_text(f"{REVERSE}\ncut.register(ABILITY)\n", encoding="utf-8")
    assert cli.run(["--with", str(file), "reverse", str(folder), "--json"]) == 0
    assert capsys.readouterr().out == '"cba softmax"\n'
    assert cli.run([f"--with={file}", "--help"]) == 0
    assert "reverse   text backwards" in capsys.readouterr().out
    bad = tmp_path / "bad.py"
    bad.write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    for argv, told in (
        (["--with", "nowhere.py", "list"], "a file to run first must be there, got --with nowhere.py"),
        (["--with", str(bad), "list"], "which raises ZeroDivisionError: division by zero (line 2 of bad.py)"),
        (["--with"], "--with must have a file, got none"),
    ):
        assert cli.run(argv) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("value", ["foreign_verb", "foreign_verb:ABILITY"])
def test_an_entry_point(value: str, folder: Path, tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    site = tmp_path / "site"
    info = site / "foreign-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[cutaway]\nreverse = {value}\n", encoding="utf-8")
    registers = "" if ":" in value else "\ncut.register(ABILITY)\n"
    (site / "foreign_verb.py").write_text(REVERSE + registers, encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "foreign_verb", raising=False)
    assert cli.run(["reverse", str(folder)]) == 0
    assert capsys.readouterr().out == "cba softmax\n"
    assert cut.load(folder).reverse("x") == "x softmax"


def test_a_recipe_of_a_file_is_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = Path(__file__).parents[3] / "examples" / "own_recipe.py"
    assert cli.run(["--with", str(file), "train", "wave", "--help"]) == 0
    assert "usage: cutaway train wave" in capsys.readouterr().out
