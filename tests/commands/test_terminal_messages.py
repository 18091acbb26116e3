"""What a person sees at a real terminal: the same one line as in a pipe, at any width."""

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)
from terminal import at_terminal


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["train", "gpt", "--step", "5"], "got --step; did you mean --steps?"),
        (["train", "gpt", "--steps", "ten"], "--steps must be a whole number, got 'ten'; try --steps 800"),
        (["train", "gpt", "--optimizer", "sgdd"], "got 'sgdd'; did you mean --optimizer sgd?"),
        (["train", "mlp", "table.csv"], "`cutaway train mlp` takes flags alone, got the word 'table.csv' too"),
        (["generate"], "RUN, the run folder, must be given, got none; write `cutaway generate RUN`"),
        (["train", "gpt", "--steps", "-5"], "--steps must be at least 1, got -5; try --steps 800"),
    ],
)
def test_a_mistake_is_one_plain_line(argv: list[str], told: str, columns: int, tmp_path: Path):
    code, shown = at_terminal(argv, tmp_path, columns)
    assert code == 2
    assert shown.startswith(f"cutaway {argv[0]}: ")
    assert shown.count("\n") == 1
    assert told in shown
    assert not set(shown) & set("│╭╮╰╯─\x1b")


@pytest.mark.parametrize("columns", [80, 120])
def test_help_fills_the_terminal(columns: int, tmp_path: Path):
    code, shown = at_terminal(["train", "gpt", "--help"], tmp_path, columns)
    longest = max(map(len, shown.splitlines()))
    assert code == 0
    assert columns - 15 < longest <= columns
