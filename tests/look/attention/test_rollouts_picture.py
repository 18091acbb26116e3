"""The rollout as a picture."""

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import attention_rollout, rollout_map


def test_a_rollout_with_its_tokens():
    weights = torch.rand(3, 2, 5, 5).softmax(-1)
    picture = rollout_map(weights, list("abcde"), residual=0.25, heads="max")
    expect_drawn(picture)
    want = attention_rollout(weights, 0.25, "max")[-1]
    assert np.array([row["values"] for row in rows_of(picture)]) == pytest.approx(want, abs=1e-5)
    assert picture.note.startswith(
        "Through 3 layers, each the largest of its heads, with 25\u00a0% kept by the residual"
    )
    assert words_of(picture).count("c") == 2


def test_one_layer_and_many_tokens():
    assert rollout_map(torch.rand(1, 2, 3, 3)).note.startswith("Through 1 layer, each the mean of its heads, with 50")
    picture = rollout_map(torch.rand(2, 1, 300, 300))
    assert "Drawn as an image" in picture.note
    assert len(picture.to_json()) < 200_000
