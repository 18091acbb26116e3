"""A Markov chain of a text: its loss, and the baseline of the other language models."""

from pathlib import Path

import numpy as np
import pytest
import torch
from little import little_text

from cutaway.data.text.corpus import read_text
from cutaway.data.text.token_files import Tokens
from cutaway.models import MarkovChain
from cutaway.tasks.texts import markov_chain
from cutaway.tasks.texts.markov_chain import chain_loss, markov_baseline


def test_the_loss_does_not_depend_on_pieces(monkeypatch: pytest.MonkeyPatch):
    ids = np.random.default_rng(0).integers(5, size=500)
    model = MarkovChain.from_tokens(torch.from_numpy(ids), 5, 2)
    whole = chain_loss(model, Tokens(ids))
    monkeypatch.setattr(markov_chain, "_PIECE", 7)
    assert chain_loss(model, Tokens(ids)) == pytest.approx(whole, rel=1e-6)
    assert whole == pytest.approx(model.loss(torch.from_numpy(ids)[None]).mean().item(), rel=1e-6)


def test_the_baseline_of_other_models(tmp_path: Path):
    corpus = read_text(little_text(tmp_path, 100), "characters", 0.1, 0.0)
    ((name, found),) = markov_baseline(corpus).items()
    assert name == "Markov chain of order 5"
    tokens = torch.from_numpy(corpus.train[:].astype(np.int64))
    chain = MarkovChain.from_tokens(tokens, corpus.vocabulary, 5)
    assert found["metrics"]["loss"] == chain_loss(chain, corpus.validation)
    assert markov_baseline(read_text(little_text(tmp_path, 100), "characters", 0.0, 0.0)) == {}
