"""Words of a command line become settings; mistakes are told in one line, whatever the terminal."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from cutaway.commands.flag_types import PLACE
from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class Flags:
    """Some flags."""

    run: Annotated[str, PLACE]
    """a folder"""
    steps: int = 3
    """how many"""
    shape: Literal["linear", "cosine"] = "linear"
    """which"""
    fast: bool = False
    """or not"""
    warm: bool = True
    """or cold"""
    header: bool | None = None
    """whether there is one"""
    rate: float = 0.1
    """how fast"""
    low_rank: int | None = None
    """of a matrix"""
    text: str = field(default="", metadata={"metavar": "WORDS"})
    """what to read"""
    stop: tuple[str, ...] = ()
    """where to end"""


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "RUN, a folder, must be given, got none; write `cutaway x RUN`"),
        (["here", "--steps", "ten"], "--steps must be a whole number, got 'ten'; try --steps 3"),
        (["here", "--steps", "1,000"], "--steps must be a whole number, got '1,000'; try --steps 1000"),
        (["here", "--steps", "1e3"], "--steps must be a whole number, got '1e3'; try --steps 1000"),
        (["here", "--steps", "2.5"], "--steps must be a whole number, got '2.5'; try --steps 3"),
        (["here", "--steps", "9" * 5000], f"--steps must be a whole number, got '{'9' * 40}…'; try --steps 3"),
        (["here", "--rate", "0,5"], "--rate must be a finite number, got '0,5'; try --rate 0.5"),
        (["here", "--rate", "5%"], "--rate must be a finite number, got '5%'; try --rate 0.05"),
        (["here", "--rate", "nan"], "--rate must be a finite number, got 'nan'; try --rate 0.1"),
        (["here", "--steps="], "--steps must have a value, got none; try --steps 3"),
        (["here", "--steps"], "--steps must have a value, got none; try --steps 3"),
        (["here", "--steps", "--fast"], "--steps must have a value, got none; try --steps 3"),
        (["here", "--text", "--fast"], "--text must have a value, got none; write --text WORDS"),
        (["here", "--steps", "3", "--steps=4"], "a flag must be given once, got --steps twice; leave one out"),
        (["here", "--fast", "--fast"], "a flag must be given once, got --fast twice; leave one out"),
        (["here", "--step", "4"], "a flag must be one that `cutaway x` has, got --step; did you mean --steps?"),
        (["here", "--STEPS", "4"], "a flag must be one that `cutaway x` has, got --STEPS; did you mean --steps?"),
        (["here", "-s", "4"], "a flag must be one that `cutaway x` has, got -s; did you mean --steps?"),
        (["here", "--xyz"], "a flag must be one that `cutaway x` has, got --xyz; `cutaway x --help` lists them"),
        (["here", "--no-fast"], "a flag must be one that `cutaway x` has, got --no-fast; did you mean --fast?"),
        (
            ["here", "--shape", "cosin"],
            "--shape must be one of linear, cosine, got 'cosin'; did you mean --shape cosine?",
        ),
        (["here", "--shape", "up"], "--shape must be one of linear, cosine, got 'up'; try --shape linear"),
        (["here", "--fast=yes"], "--fast must stand alone, got '--fast=yes'; write --fast, or leave it out"),
        (["here", "there"], "`cutaway x` takes RUN and flags, got the word 'there' too; leave it out"),
        (["here", "steps", "5"], "`cutaway x` takes RUN and flags, got the word 'steps' too; did you mean --steps N?"),
        (
            ["here", "--text", "To", "be"],
            "`cutaway x` takes RUN and flags, got the word 'be' too; "
            "put a value of several words in quotes: --text 'To be'",
        ),
    ],
)
def test_mistakes(argv: list[str], told: str):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        parse_flags(Flags, "cutaway x", argv)


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["here", "--steps", "5", "--fast"], Flags("here", 5, fast=True)),
        (["--steps=5", "here"], Flags("here", 5)),
        (["--fast", "--", "--odd"], Flags("--odd", fast=True)),
        (["here", "--steps", "-5", "--rate", "-.5"], Flags("here", -5, rate=-0.5)),
        (["-", "--text", "- a list"], Flags("-", text="- a list")),
        (["here", "--text=--x", "--shape=cosine"], Flags("here", text="--x", shape="cosine")),
        (["here", "--text", ""], Flags("here", text="")),
        (["here", "--stop", "a", "b", "--fast", "--stop=c"], Flags("here", stop=("a", "b", "c"), fast=True)),
        (["here", "--no-warm", "--no-header"], Flags("here", warm=False, header=False)),
        (["here", "--header", "--low_rank", "2"], Flags("here", header=True, low_rank=2)),
    ],
)
def test_flags(argv: list[str], found: Flags):
    assert parse_flags(Flags, "cutaway x", argv) == found


@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_help_exits(asked: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parse_flags(Flags, "cutaway x", ["here", asked])
    assert "--steps N             how many (default 3)" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"got the word '--help' too"):
        parse_flags(Flags, "cutaway x", ["here", "--", "--help"])
