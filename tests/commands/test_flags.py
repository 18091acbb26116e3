"""Flags that cannot be read are told in one line."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
import tyro

from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class Flags:
    """Some flags."""

    run: Annotated[str, tyro.conf.Positional]
    """a folder"""
    steps: int = 3
    """how many"""
    shape: Literal["linear", "cosine"] = "linear"
    """which"""
    fast: bool = False
    """or not"""


def test_flags():
    assert parse_flags(Flags, "cutaway x", ["here", "--steps", "5", "--fast"]) == Flags("here", 5, "linear", True)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "RUN"),
        (["here", "--steps", "x"], "--steps"),
        (["here", "--step", "4"], "--step"),
        (["here", "--shape", "up"], "linear"),
        (["here", "there"], "there"),
    ],
)
def test_mistakes(argv: list[str], told: str):
    with pytest.raises(ValueError, match=r"; see `cutaway x --help`$") as error:
        parse_flags(Flags, "cutaway x", argv)
    message = str(error.value)
    assert told in message
    assert "\n" not in message
    assert not set(message) & set("│╭╮╰╯─")


def test_help_exits(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parse_flags(Flags, "cutaway x", ["--help"])
    assert "how many" in capsys.readouterr().out
