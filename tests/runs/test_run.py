"""A run that is opened: its model is built after its sizes were counted, and what it is asked is checked."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import cutaway as cut


def change_spec(run: Any, **sizes: Any) -> Any:
    """The run, opened anew, with other sizes in the spec of its config.json."""
    path = Path(run.path) / "config.json"
    about = json.loads(path.read_text())
    for name, value in sizes.items():
        part, _, inner = name.partition("__")
        about["spec"][part] = about["spec"][part] | {inner: value} if inner else value
    path.write_text(json.dumps(about))
    return cut.load(run.path)


HUGE = 10**9
SIZES: list[tuple[str, dict[str, Any], str]] = [
    ("gpt", {"depth": HUGE}, r"must have its tensors, got 1000000000 layers and .*model.safetensors of \d+ tensors;"),
    ("transformer", {"depth": HUGE}, r"got 1000000000 layers and .*model.safetensors of \d+ tensors;"),
    ("mlp", {"depth": HUGE}, r"got 1000000000 layers and .*model.safetensors of \d+ tensors;"),
    ("gpt", {"width": HUGE}, r"the width of config.json must be that of its tensors, got 1000000000 and axes of at"),
    ("mlp", {"width": HUGE}, r"the width of config.json must be that of its tensors, got 1000000000 and axes of at"),
    ("gpt", {"vocabulary": HUGE}, r"with embed.weight of shape .* where the model has \(1000000000, 16\)"),
    ("gpt", {"vocabulary": 10**20}, r"config.json must state sizes of a real model, got others \(.*\); take the file"),
    ("gpt", {"mlp__hidden": 1 << 62}, r"config.json must state sizes of a real model, got others \(.*\); take the f"),
    ("logistic", {"numbers": HUGE}, r"of shape .* where the model has .*1000000"),
]


@pytest.mark.parametrize(("recipe", "sizes", "told"), SIZES)
def test_sizes_beyond_the_weights_are_told_at_once(
    own_run: Callable[[str], Any], recipe: str, sizes: dict[str, Any], told: str
):
    run = change_spec(own_run(recipe), **sizes)
    with pytest.raises(ValueError, match=told):
        run.model  # noqa: B018


def test_a_linear_model_has_no_width(own_run: Callable[[str], Any]):
    """Its spec has one all the same, which is not held against the weights."""
    assert change_spec(own_run("logistic"), width=4096).model.spec.depth == 0


def test_weights_are_read_without_drawing_others(trained: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch):
    before = torch.random.get_rng_state()
    for name in ("normal_", "uniform_"):
        monkeypatch.setattr(torch.Tensor, name, lambda *_, **__: pytest.fail("a weight was drawn"))
    model = cut.load(trained("gpt")).model
    assert isinstance(model, nn.Module)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))


QUESTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("gpt", {"prompt": None}, r"a prompt must be a text or a list of chat messages, got None; try '\n'"),
    ("gpt", {"prompt": 3}, "a prompt must be a text or a list of chat messages, got 3;"),
    ("gpt", {"prompt": ["the", None]}, "a prompt must be a text or a list of chat messages, got None;"),
    ("gpt", {"tokens": "ten"}, "tokens must be a whole number above 0, got 'ten'; try tokens=10"),
    ("gpt", {"tokens": 2.5}, "tokens must be a whole number above 0, got 2.5; try tokens=10"),
    ("gpt", {"tokens": 0}, "tokens must be above 0, got 0; try tokens=1"),
    ("gpt", {"beams": "two"}, "beams must be a whole number above 0, got 'two'; try beams=10"),
    ("gpt", {"temprature": 0.5}, "got 'temprature'; did you mean temperature?"),
    ("gpt", {"stopp": "."}, "got 'stopp'; did you mean stop?"),
    ("gpt", {"colour": 1}, "repetition_penalty, seed, got 'colour'; leave it out"),
    ("gpt", {"temperature": "hot"}, "temperature must be a number, got 'hot'; leave it out for the default, 1.0"),
    ("gpt", {"seed": 1.5}, "seed must be a whole number, got 1.5; leave it out for the default, None"),
    ("gpt", {"stop": 3}, "a stop string must be a text, got 3; for the number of a token use end=3"),
    ("gpt", {"end": "."}, "an end token is given by its number, got '.'; a text ends before stop='.'"),
    ("transformer", {"prompt": None}, "a text to translate must be a text, got None; give a sentence"),
    ("transformer", {"prompt": "I see", "tokens": "ten"}, "tokens must be a whole number above 0, got 'ten'"),
    ("transformer", {"prompt": "I see", "special": True}, "got 'special'; leave it out"),
    ("transformer", {"prompt": "I see", "end": 3}, "got 'end'; leave it out"),
]


@pytest.mark.untyped
@pytest.mark.parametrize(("recipe", "asked", "told"), QUESTIONS)
def test_questions_that_make_no_sense(trained: Callable[[str], Path], recipe: str, asked: dict[str, Any], told: str):
    with pytest.raises(ValueError, match=re.escape(told)):
        cut.load(trained(recipe)).generate(**asked)
