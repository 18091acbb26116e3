"""Help pages: what they say, and that they fit the terminal."""

import inspect
import shlex

import pytest

from cutaway import cli
from cutaway.commands.completion import flags_of_verb
from cutaway.commands.flags import read_flags
from cutaway.commands.train import parse
from cutaway.recipes.index import RECIPES, find_recipe

PAGES = [[], *([verb] for verb in cli.verbs()), *(["train", name] for name in RECIPES)]


@pytest.mark.parametrize("wide", [60, 80, 120, 200])
@pytest.mark.parametrize("argv", PAGES, ids=" ".join)
def test_every_page_fits_and_is_plain_text(
    argv: list[str], wide: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", str(wide))
    assert cli.run([*argv, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("usage: cutaway") for line in lines)
    if wide >= 80:
        assert max(map(len, lines)) <= min(wide, 110)
    assert not set("".join(lines)) & set("│╭╮╰╯─\x1b")


@pytest.mark.parametrize("verb", cli.verbs())
def test_every_verb_shows_examples_that_its_flags_allow(verb: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run([verb, "--help"]) == 0
    examples = capsys.readouterr().out.split("examples:\n")[1].splitlines()
    for example in examples:
        words = shlex.split(example)
        assert words[:2] == ["cutaway", verb]
        if verb == "train":
            parse(find_recipe(words[2]), words[2:])
        else:
            assert read_flags(flags_of_verb(verb), f"cutaway {verb}", words[2:]) is not None


def test_a_page():
    from cutaway.commands.help_pages import help_page
    from cutaway.tasks.abilities.flag import Flag

    class Verb:
        """Does a thing.

        And more.
        """

        examples = ("cutaway verb RUN",)

    flags = [
        Flag("run", positional=True, required=True, help="the run folder"),
        Flag("input", positional=True, help="a text (default: none)", default=""),
        Flag("steps", int, default=1, help="how many"),
        Flag("rate", float, default=0.0, help="how fast", heading="b"),
        Flag("shape", choices=("up", "down"), default="up", help="which way", heading="a"),
        Flag("a_very_long_name_for_a_flag", bool, default=False, help="or not", heading="a"),
        Flag("warm", bool, default=True, help="warm up first", heading="a"),
    ]
    page = inspect.cleandoc("""
        usage: cutaway verb RUN [INPUT] [flags]

        Does a thing.

        And more.

          RUN                   the run folder
          INPUT                 a text (default: none)

        a:
          --shape NAME          which way (one of up, down; default up)
          --a-very-long-name-for-a-flag
                                or not
          --no-warm             turns this off: warm up first

        b:
          --rate X              how fast (default 0)

        examples:
          cutaway verb RUN
        """)
    assert help_page("cutaway verb", Verb, flags, ["a", "b"]) == page
    assert "flags:\n  --steps N             how many (default 1)\n  --rate X" in help_page("cutaway verb", Verb, flags)
