"""`rnn`, `lstm` and `gru`: trained, killed and resumed, tested, looked at."""

from pathlib import Path
from typing import Any

import pytest
import torch
from killing import expect_same_after_death
from little import little_text, same

import cutaway as cut
from cutaway.recipes.index import find_recipe
from cutaway.recipes.texts.recurrent import LSTMRecipe, RNNRecipe
from cutaway.training.run_folder.weights import read_tensors

SIZES: dict[str, Any] = dict(
    width=12, embedding=6, context=16, batch=4, steps=12, evaluate_every=4, checkpoint_every=3, log_every=2,
    sample_tokens=5, evaluate_tokens=200,
)  # fmt: skip


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_trains_writes_and_is_tested(name: str, tmp_path: Path):
    run = cut.train(name, data=str(little_text(tmp_path)), out=tmp_path / "run", show="quiet", **SIZES)
    losses = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert losses[-1] < losses[0]
    assert run.model.spec.cell == name
    assert len(run.generate("the ", tokens=20, seed=0)) == 20
    assert set(run.test()) == {"loss"}
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Markov chain of order 5" in page
    assert "to guess each token by how often it occurs" in page
    assert cut.load(run.path).model(torch.zeros(1, 3).long()).shape == (1, 3, run.model.spec.vocabulary)


@pytest.mark.parametrize("tokenizer", ["bytes", "words-40", "bpe-300"])
def test_other_tokens(tokenizer: str, tmp_path: Path):
    settings = SIZES | dict(steps=3, context=8, tokenizer=tokenizer)
    run = cut.train("lstm", data=str(little_text(tmp_path, 200)), out=tmp_path / "run", show="quiet", **settings)
    assert run.tokenizer.kind == tokenizer.partition("-")[0]
    assert run.generate("the dog", tokens=5, seed=0)


def test_killed_and_resumed_it_ends_the_same(tmp_path: Path):
    """The carried state, dropout and draws of scheduled sampling all go on, bit for bit."""
    settings = SIZES | dict(
        data=str(little_text(tmp_path)), dropout=0.2, scheduled_sampling=0.5, depth=2, accumulate=2, jump=0.2, ema=0.9
    )
    whole, killed = expect_same_after_death(tmp_path, "lstm", settings)
    name = "state/step-12/callback-CarriedTraining.safetensors"
    assert set(read_tensors(whole / name)) == {"hidden", "cell"}
    assert same(read_tensors(whole / name), read_tensors(killed / name))


def test_gates_choose_the_cell():
    kinds = {gates: LSTMRecipe(gates=gates).spec(10).cell for gates in ("plain", "peephole", "coupled")}  # type: ignore[arg-type]
    assert kinds == {"plain": "lstm", "peephole": "peephole-lstm", "coupled": "coupled-lstm"}
    assert RNNRecipe(embedding=0, tied=True).spec(10).embedding is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"jump": 1.5}, r"jump must be from 0 to 1, got 1\.5"),
        ({"scheduled_sampling": -0.1}, r"scheduled_sampling must be from 0 to 1, got -0\.1"),
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"dropout": 1.0}, r"dropout must be from 0 to below 1, got 1\.0"),
        ({"context": 0}, "context must be at least 1, got 0"),
        ({"patience": 3, "validation": 0.0}, "patience needs data to evaluate on"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        find_recipe("lstm").make(**settings)


@pytest.mark.slow
def test_the_stated_quality(data_folder: Path, tmp_path: Path):
    data = data_folder / "text" / "tinyshakespeare.txt.xz"
    settings = dict(validation=0.1, test=0.0, steps=273, evaluate_every=273)
    run = cut.train("lstm", data=str(data), out=tmp_path / "run", show="quiet", **settings)
    (whole,) = [row["loss"] for row in run.metrics if row["split"] == "validation-whole"]
    assert whole < 1.79  # measured: 1.752
