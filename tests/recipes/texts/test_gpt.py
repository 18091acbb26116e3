"""A language model of a text: its objective, its evaluation and its settings."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from little import SETTINGS, little_text

import cutaway as cut
from cutaway.data.batches import Window
from cutaway.data.text.token_files import Tokens
from cutaway.models import GPT
from cutaway.recipes.texts.gpt import GPTRecipe, next_token_cost, text_loss
from cutaway.recipes.texts.language_settings import opening


@pytest.fixture
def recipe(tmp_path: Path) -> GPTRecipe:
    return GPTRecipe(data=str(little_text(tmp_path)), **SETTINGS)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))


def uniform(vocabulary: int) -> GPT:
    """A model that finds every token equally likely."""
    model = GPT(vocabulary=vocabulary, width=8, depth=1, heads=2, context=4)
    torch.nn.init.zeros_(model.embed.weight)
    return model.eval()


def test_the_cost_of_knowing_nothing_is_log_v():
    from cutaway.data.batches import Window

    batch = Window(np.zeros((2, 4), np.int64), np.ones((2, 4), np.int64))
    assert next_token_cost(uniform(7), batch).item() == pytest.approx(math.log(7), rel=1e-6)


def test_every_token_counts_once_in_the_evaluation():
    """Against the definition, token by token; the text is no multiple of the context."""
    torch.manual_seed(1)
    model = GPT(vocabulary=5, width=8, depth=1, heads=2, context=4).eval()
    ids = np.random.default_rng(0).integers(0, 5, 23)
    total = 0.0
    with torch.no_grad():
        for i in range(1, 23):
            first = (i - 1) // 4 * 4
            logits = model(torch.from_numpy(ids[first:i])[None])
            total -= logits[0, -1].log_softmax(-1)[ids[i]].item()
    assert text_loss(model, Tokens(ids), 4)["loss"] == pytest.approx(total / 22, rel=1e-5)


def test_a_limited_evaluation_is_spread_over_the_text():
    """The first half is zeros, the second ones, and the model knows only zeros: half of the windows cost more."""

    class Zeros(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(0.0))

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.stack([torch.full(tokens.shape, 9.0), torch.zeros(tokens.shape)], -1)

    tokens = Tokens(np.repeat([0, 1], [4001, 4000]))  # the first token is not predicted
    sure = math.log1p(math.exp(-9.0))
    cost = text_loss(Zeros(), tokens, 10, limit=200)["loss"]
    assert cost == pytest.approx((sure + sure + 9) / 2, rel=1e-4)
    assert text_loss(Zeros(), tokens, 10, limit=10**9) == text_loss(Zeros(), tokens, 10)


def test_no_validation_no_figures():
    assert text_loss(uniform(3), None, 4) == {}


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
    corpus = recipe.dataset()
    assert corpus.tokenizer.decode(opening(corpus)) == "\n"
    (tmp_path / "flat.txt").write_text("abracadabra " * 200)
    flat = GPTRecipe(data=str(tmp_path / "flat.txt"), **SETTINGS)
    assert flat.dataset().tokenizer.decode(opening(flat.dataset())) == "a"
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
