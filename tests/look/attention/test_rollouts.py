"""Attention through all layers, against a walk over paths and by hand."""

import itertools

import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.look import attention_rollout, merged_attention


def causal(*shape: int) -> torch.Tensor:
    n = shape[-1]
    scores = torch.randn(*shape, n, dtype=torch.float64)
    return scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf).softmax(-1)


def test_one_layer_by_hand():
    weights = torch.tensor([[[[1.0, 0.0], [0.25, 0.75]]]])
    assert attention_rollout(weights)[0].tolist() == [[1.0, 0.0], [0.125, 0.875]]  # ½ A + ½ I
    assert attention_rollout(weights, residual=0.0)[0].tolist() == weights[0, 0].tolist()


def test_against_the_sum_over_all_paths():
    """R_ij is the sum, over all ways from i to j with one step a layer, of the product of their weights."""
    weights = causal(3, 2, 4)
    mixed = 0.7 * weights.mean(1).numpy() + 0.3 * np.eye(4)
    rolled = attention_rollout(weights, residual=0.3)
    assert rolled.shape == (3, 4, 4)
    for i, j in itertools.product(range(4), repeat=2):
        paths = itertools.product(range(4), repeat=2)
        total = sum(mixed[2, i, a] * mixed[1, a, b] * mixed[0, b, j] for a, b in paths)
        assert rolled[-1, i, j] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("heads", ["mean", "max", "min"])
def test_rows_add_up_to_one_and_nothing_comes_from_the_future(heads: str):
    rolled = attention_rollout(causal(4, 3, 6), heads=heads)
    np.testing.assert_allclose(rolled.sum(-1), 1, atol=1e-12)
    assert np.triu(rolled[-1], 1).max() == 0


def test_a_full_residual_moves_nothing():
    np.testing.assert_array_equal(attention_rollout(causal(2, 2, 3), residual=1.0)[-1], np.eye(3))


def test_a_query_that_may_look_nowhere_keeps_its_own():
    assert attention_rollout(torch.zeros(1, 1, 2, 2))[-1].tolist() == [[1, 0], [0, 1]]
    assert attention_rollout(torch.zeros(1, 1, 2, 2), residual=0.0)[-1].tolist() == [[1, 0], [0, 1]]


def test_merged():
    weights = causal(2, 3, 4)
    np.testing.assert_allclose(merged_attention(weights), weights.mean((0, 1)))
    np.testing.assert_allclose(merged_attention(weights, "max"), weights.amax((0, 1)))
    np.testing.assert_allclose(merged_attention(weights[0][None], "min"), weights[0].amin(0))
    one = merged_attention({"a.weights": weights[0]})  # one layer by its name
    np.testing.assert_allclose(one, weights[0].mean(0))


def test_from_a_trace():
    model = cut.models.GPT(vocabulary=7, width=8, depth=2, heads=2, context=5)
    with cut.trace(model, "blocks.*.attention.weights", detach=True) as seen:
        model(torch.tensor([[1, 2, 3, 4]]))
    assert attention_rollout(seen).shape == (2, 4, 4)


def test_messages():
    with pytest.raises(ValueError, match=r"residual must be a share from 0 to 1, got 1\.5; try residual=0\.5"):
        attention_rollout(causal(1, 1, 2), residual=1.5)
    with pytest.raises(ValueError, match="heads are merged by mean, max, min, got 'sum'; pick one"):
        attention_rollout(causal(1, 1, 2), heads="sum")
    with pytest.raises(ValueError, match=r"the same queries as keys, got shape \(2, 3\); use self-attention"):
        attention_rollout(torch.rand(1, 1, 2, 3))
    with pytest.raises(ValueError, match=r"as many queries and keys, got \(2, 2\), \(3, 3\); pass the layers of one"):
        merged_attention({"a": torch.rand(1, 2, 2), "b": torch.rand(1, 3, 3)})
