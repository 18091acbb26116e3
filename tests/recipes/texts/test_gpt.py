"""A language model of a text: its model, its samples and its settings."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from little import SETTINGS, little_text

import cutaway as cut
from cutaway.data.batches import Window
from cutaway.models import GPT
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.tasks.texts.next_token import next_token_cost, opening


@pytest.fixture
def recipe(tmp_path: Path) -> GPTRecipe:
    return GPTRecipe(data=str(little_text(tmp_path)), **SETTINGS)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))


def test_a_job_is_the_same_every_time(recipe: GPTRecipe):
    one, two = recipe.job(), recipe.job()
    for name, p in one.model.named_parameters():
        assert torch.equal(p, two.model.get_parameter(name))
    assert np.array_equal(one.batches.at(5).tokens, two.batches.at(5).tokens)
    assert one.data["summary"] == two.data["summary"]


def test_layers_of_the_quick_design_start_as_the_identity(recipe: GPTRecipe):
    model = recipe.job().model
    x = torch.randn(1, 5, 16)
    assert torch.equal(model.blocks[0](x, causal=True), x)
    assert not model(torch.tensor([[0, 1, 2]])).any()  # and all tokens as equally likely


@pytest.mark.parametrize("design", ["quick", "gpt2", "llama"])
def test_every_design_learns_and_drops(design: str, recipe: GPTRecipe, tmp_path: Path):
    job = dataclasses.replace(recipe, design=design, dropout=0.5, test=0.0).job()
    batch = job.batches.at(0)
    first = next_token_cost(job.model, batch)
    assert first.item() == pytest.approx(math.log(job.model.spec.vocabulary), rel=0.2)
    if design != "quick":  # whose layers add nothing at first
        assert next_token_cost(job.model, batch) != first
    job.model.eval()
    assert next_token_cost(job.model, batch) == next_token_cost(job.model, batch)


def test_recomputing_layers_changes_no_gradient(recipe: GPTRecipe):
    gradients = []
    for checkpointing in (False, True):
        job = dataclasses.replace(recipe, design="gpt2", checkpointing=checkpointing).job()
        assert job.model.spec.checkpointing is checkpointing
        job.objective(job.model, job.batches.at(0)).backward()
        gradients.append({name: p.grad for name, p in job.model.named_parameters()})
    for name, g in gradients[0].items():
        torch.testing.assert_close(g, gradients[1][name])


def test_samples_begin_with_a_line_or_with_what_there_is(recipe: GPTRecipe, tmp_path: Path):
    corpus = recipe.read().parts
    assert corpus.tokenizer.decode(opening(corpus)) == "\n"
    (tmp_path / "flat.txt").write_text("abracadabra " * 200)
    flat = GPTRecipe(data=str(tmp_path / "flat.txt"), **SETTINGS)
    corpus = flat.read().parts
    assert corpus.tokenizer.decode(opening(corpus)) == "a"
    sample = flat.job().samples(flat.job().model)["text.txt"]
    assert sample.startswith("a")
    assert len(sample) == 6
    assert dataclasses.replace(flat, sample_tokens=0).job().samples(flat.job().model) == {}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"width": 12, "heads": 5}, "width must be a multiple of heads, got width=12, heads=5; try heads=4"),
        ({"depth": 0}, "depth must be at least 1, got 0; try depth=4"),
        ({"validation": 1.0}, "validation must be from 0 to below 1, got 1.0"),
        ({"validation": 0.0, "patience": 3}, "patience needs data to evaluate on, got patience=3 with validation=0"),
    ],
)
def test_wrong_settings(settings: dict, told: str):
    with pytest.raises(ValueError, match=told):
        GPTRecipe(**settings)


def test_a_text_shorter_than_the_context_is_told_at_once(tmp_path: Path):
    (tmp_path / "short.txt").write_text("ab" * 30)
    with pytest.raises(ValueError, match=r"the train part of short\.txt must hold more tokens than the context"):
        GPTRecipe(data=str(tmp_path / "short.txt")).job()


def test_what_to_lower():
    told = GPTRecipe(batch=8).smaller()
    assert told.startswith("lower batch=8 (a higher accumulate=1 makes up for it), context=128, width=128 or depth=4")
    assert told.endswith(", or turn on checkpointing")
    assert "checkpointing" not in GPTRecipe(checkpointing=True).smaller()


@pytest.mark.slow
def test_the_small_preset_on_tinyshakespeare(data_folder: Path, tmp_path: Path):
    data = data_folder / "text" / "tinyshakespeare.txt.xz"
    run = cut.train("gpt", preset="small", data=str(data), out=tmp_path / "run", show="quiet", evaluate_every=200)
    (whole,) = [row["loss"] for row in run.metrics if row["split"] == "validation-whole"]
    assert whole < 1.88  # nanoGPT's README: 1.88 after ten times as many steps


def test_a_prefix_is_given_and_not_predicted(tmp_path):
    """The cost of what follows it, by hand; the run's prompts are then read in both directions."""
    torch.manual_seed(0)
    model = GPT(vocabulary=9, width=8, depth=1, heads=2, context=8)
    tokens = torch.randint(9, (3, 9)).numpy()
    batch = Window(tokens[:, :-1], tokens[:, 1:])
    logits = model(torch.from_numpy(tokens[:, :-1]), prefix=3)[:, 2:]
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(tokens[:, 3:]).flatten())
    torch.testing.assert_close(next_token_cost(model, batch, prefix=3), expected)
    run = cut.train(
        "gpt", data=str(little_text(tmp_path)), out=tmp_path / "run", show="quiet", **SETTINGS | {"prefix": 4}
    )
    assert run.model.spec.prefix
    assert run.test()["loss"] > 0
    with pytest.raises(ValueError, match="prefix must leave a token to predict, got prefix=9 with context=8; try"):
        GPTRecipe(context=8, prefix=9)
