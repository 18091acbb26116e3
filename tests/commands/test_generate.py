"""`cutaway generate`: a text goes on, or is translated; the flags say how."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutaway import cli
from cutaway.runs import execution
from cutaway.runs import run as opened


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, trained: Callable[[str], Path]) -> Path:
    """A folder with a run that writes, and one that translates."""
    folder = tmp_path_factory.mktemp("generating")
    for recipe in ("gpt", "transformer"):
        (folder / recipe).symlink_to(trained(recipe))
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What runs are asked for."""
    kept: list[dict[str, Any]] = []

    def generate(self: Any, prompt: str, **how: Any) -> str:
        kept.append(how)
        return "an answer"

    monkeypatch.setattr(opened.Run, "generate", generate, raising=False)
    return kept


def say(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert cli.run(["generate", *argv]) == 0
    return capsys.readouterr().out


def test_a_text_goes_on_and_a_translation_stands_alone(place: Path, capsys: pytest.CaptureFixture[str]):
    assert say(capsys, str(place / "gpt"), "--prompt", "the ", "--tokens", "3").startswith("the ")
    written = execution.load(place / "transformer").generate("I see 5")
    assert say(capsys, str(place / "transformer"), "--prompt", "I see 5") == f"{written}\n"
    told = json.loads(say(capsys, str(place / "transformer"), "--prompt", "I see 5", "--json"))
    assert (told["prompt"], told["text"]) == ("I see 5", written)


@pytest.mark.parametrize(
    ("kind", "flags", "expected"),
    [
        ("gpt", [], {"temperature": 0.8}),
        ("gpt", ["--temperature", "0"], {"temperature": 0.0}),
        ("gpt", ["--beams", "3"], {"beams": 3}),  # a search draws nothing
        ("gpt", ["--top-k", "5", "--seed", "1"], {"temperature": 0.8, "top_k": 5, "seed": 1}),
        ("transformer", [], {}),  # by the run's own search
        ("transformer", ["--beams", "1"], {"beams": 1}),
        ("transformer", ["--temperature", "0.5"], {"temperature": 0.5}),
    ],
)
def test_what_is_asked_of_the_run(
    kind: str, flags: list[str], expected: dict[str, Any], place: Path, asked: list[dict[str, Any]], capsys: Any
):
    say(capsys, str(place / kind), "--prompt", "the", *flags)
    assert asked == [expected | {"tokens": 200, "stop": ()}]


def test_beams_of_a_language_model(place: Path, capsys: pytest.CaptureFixture[str]):
    how = ["--prompt", "the ", "--tokens", "4", "--beams", "2"]
    assert say(capsys, str(place / "gpt"), *how) == say(capsys, str(place / "gpt"), *how)
    assert cli.run(["generate", str(place / "gpt"), *how, "--temperature", "1"]) == 2
    assert "beam search does not sample, got temperature too" in capsys.readouterr().err


def test_a_chat_needs_a_template(place: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["generate", str(place / "gpt"), "--prompt", "Hi", "--chat"]) == 2
    assert "needs the chat template of its tokenizer, got a tokenizer without one" in capsys.readouterr().err


def test_special_tokens_are_asked_for(place: Path, asked: list[dict[str, Any]]):
    cli.run(["generate", str(place / "gpt"), "--special"])
    assert asked[-1]["special"] is True


def test_guessing_ahead_writes_the_same_text(trained: Callable[[str], Path], capsys: pytest.CaptureFixture[str]):
    """Greedily, from a prompt that repeats itself, so that there is something to guess."""
    prompt = "the cat the cat the"
    asked = [str(trained("gpt")), "--prompt", prompt, "--temperature", "0", "--tokens", "40"]
    plain, guessed = say(capsys, *asked), say(capsys, *asked, "--speculate", "8")
    assert guessed == plain
    assert len(plain) > len(prompt) + 30
