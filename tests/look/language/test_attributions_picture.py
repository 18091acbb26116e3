"""Attributions as coloured text, bars or a heat map."""

import numpy as np
import pytest
import torch
from look.languages import TOKENS, ours
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import gradient_times_input, integrated_gradients, saliency, saliency_map
from cutaway.look.language.attributions import Attributions


def test_tokens():
    found = integrated_gradients(ours(), TOKENS, 7)
    picture = saliency_map(found, [f"t{i}" for i in TOKENS])
    expect_drawn(picture)
    assert [row["value"] for row in rows_of(picture)] == pytest.approx(found.values.sum(-1), rel=1e-4)
    assert picture.title == "Integrated gradients"
    assert "at the baseline: a difference of" in picture.note
    assert "which the attributions miss by" in picture.note
    assert {"t3", "t14"} <= set(words_of(picture))
    assert {"0", "6"} <= set(words_of(saliency_map(found)))  # without names, positions


def test_features():
    weights = torch.tensor([1.0, -2.0, 0.0, 3.0])
    found = gradient_times_input(lambda x: x @ weights, torch.ones(1, 4))
    picture = saliency_map(found, ["age", "income", "income", "a name that is very long indeed, and goes on"])
    expect_drawn(picture, colours=5)
    assert [row["value"] for row in rows_of(picture)] == [1, -2, 0, 3]
    assert {"age", "income (1)", "income (2)", "a name that is very long in…"} <= set(words_of(picture))
    assert picture.note == "The score is 2. Strongest: a name that is very long indeed, and goes on, 3."
    assert "input 3" in words_of(saliency_map(found))


def test_images():
    found = saliency(lambda x: (x**2).flatten(1).sum(1), torch.randn(1, 3, 8, 9))
    picture = saliency_map(found)
    expect_drawn(picture)
    assert np.array([row["values"] for row in rows_of(picture)]) == pytest.approx(
        found.values.sum(0), rel=1e-4, abs=1e-5
    )
    assert len(rows_of(saliency_map(Attributions(np.ones((4, 5)), "gradient", 1.0)))) == 4


def test_messages():
    with pytest.raises(ValueError, match="a name for every input, got 1 for 2; give them all"):
        saliency_map(Attributions(np.ones(2), "gradient", 1.0), ["a"])
    with pytest.raises(ValueError, match=r"for features, tokens or images, got shape \(1, 2, 3, 4\); sum over an axis"):
        saliency_map(Attributions(np.ones((1, 2, 3, 4)), "gradient", 1.0))
    with pytest.raises(ValueError, match="at most 200 bars, got 201; pass a part of them"):
        saliency_map(Attributions(np.ones(201), "gradient", 1.0))
