"""Scores by hand, against torch, and at the edges of what a number can be."""

import math

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import AdditiveScores, BilinearScores, attend_open, cosine_scores, dot_scores, scaled_dot_scores
from cutaway.blocks.attention.scores import find_score, unit


def test_by_hand():
    q, k = torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, -4.0]])
    assert torch.equal(dot_scores(q, k), torch.tensor([[3.0, 8.0, -25.0]]))
    torch.testing.assert_close(scaled_dot_scores(q, k), torch.tensor([[3.0, 8.0, -25.0]]) / math.sqrt(2))
    torch.testing.assert_close(cosine_scores(q, k), torch.tensor([[0.6, 0.8, -1.0]]))


def test_cosine_is_torchs(float64):
    q, k = torch.randn(2, 5, 3), torch.randn(2, 7, 3)
    theirs = nn.functional.cosine_similarity(q[:, :, None], k[:, None], dim=-1)
    torch.testing.assert_close(cosine_scores(q, k), theirs)


def test_cosine_does_not_see_lengths(float64):
    q, k = torch.randn(5, 3), torch.randn(7, 3)
    torch.testing.assert_close(cosine_scores(1e-6 * q, 1e6 * k), cosine_scores(q, k))


def test_zero_vector_has_cosine_zero_and_a_modest_gradient():
    q = torch.zeros(1, 3, requires_grad=True)
    k = torch.randn(7, 3)
    e = cosine_scores(q, k)
    assert torch.equal(e, torch.zeros(1, 7))
    e.sum().backward()
    torch.testing.assert_close(q.grad, unit(k).sum(0, keepdim=True))


def test_half_precision_lengths_do_not_overflow():
    # ‖x‖ = 80,000 is beyond float16, whose largest number is 65,504
    x = torch.full((1, 4), 40_000.0, dtype=torch.float16)
    torch.testing.assert_close(unit(x), torch.full((1, 4), 0.5, dtype=torch.float16))


def test_bilinear_with_the_identity_is_the_dot_product(float64):
    score = BilinearScores(3, 3)
    with torch.no_grad():
        score.map.weight.copy_(torch.eye(3))
    q, k = torch.randn(2, 5, 3), torch.randn(2, 7, 3)
    torch.testing.assert_close(score(q, k), dot_scores(q, k))


def test_bilinear_is_torchs(float64):
    ours, theirs = BilinearScores(3, 2), nn.Bilinear(3, 2, 1, bias=False)
    with torch.no_grad():
        theirs.weight.copy_(ours.map.weight[None])
    q, k = torch.randn(5, 3), torch.randn(7, 2)
    pairs = theirs(q[:, None].expand(5, 7, 3).contiguous(), k[None].expand(5, 7, 2).contiguous()).squeeze(-1)
    torch.testing.assert_close(ours(q, k), pairs)


def test_additive_pair_by_pair(float64):
    score = AdditiveScores(3, 2, 11)
    q, k = torch.randn(5, 3), torch.randn(7, 2)
    W, b, U, v = (
        score.map_queries.weight,
        score.map_queries.bias,
        score.map_keys.weight,
        score.map_hidden.weight.squeeze(-1),
    )
    pairs = [[torch.tanh(q[i] @ W + k[j] @ U + b) @ v for j in range(7)] for i in range(5)]
    torch.testing.assert_close(score(q, k), torch.stack([torch.stack(row) for row in pairs]))


@pytest.mark.parametrize(
    "score", [dot_scores, scaled_dot_scores, cosine_scores, BilinearScores(3, 3), AdditiveScores(3, 3, 5)]
)
def test_leading_axes_broadcast_both_ways(score):
    q, k = torch.randn(2, 1, 5, 3), torch.randn(4, 7, 3)
    e = score(q, k)
    assert e.shape == (2, 4, 5, 7)
    for i in range(2):
        for j in range(4):
            torch.testing.assert_close(e[i, j], score(q[i, 0], k[j]))


def test_taps_hold_the_values_of_the_equation():
    q, k = torch.randn(5, 3), torch.randn(7, 2)
    bilinear, additive = BilinearScores(3, 2), AdditiveScores(3, 2, 11)
    with cut.trace(bilinear, "mapped") as seen:
        bilinear(q, k)
    assert torch.equal(seen["mapped"], q @ bilinear.map.weight)
    with cut.patch(additive, {"hidden": 1.0}):
        torch.testing.assert_close(additive(q, k), additive.map_hidden.weight.sum().expand(5, 7))


def test_scores_of_ones_own_enter_attention(float64):
    q, k, v = torch.randn(5, 3), torch.randn(7, 2), torch.randn(7, 4)
    score = AdditiveScores(3, 2, 11)
    done = attend_open(q, k, v, score=score)
    torch.testing.assert_close(done.scores, score(q, k))
    torch.testing.assert_close(done.output, torch.softmax(score(q, k), -1) @ v)
    negative = attend_open(q, q, q, score=lambda a, b: -(a @ b.mT))
    torch.testing.assert_close(negative.weights, torch.softmax(-(q @ q.mT), -1))


def test_names():
    assert find_score("dot") is dot_scores
    assert find_score(cosine_scores) is cosine_scores
    with pytest.raises(
        ValueError, match="score must be one of dot, scaled_dot, cosine, got 'euclid'; pick one of these"
    ):
        find_score("euclid")
    with pytest.raises(ValueError, match=r"'additive' has weights of its own, .* pass a module, score=AdditiveScores"):
        find_score("additive")
    with pytest.raises(ValueError, match=r"'bilinear' has weights of its own, .* pass a module, score=BilinearScores"):
        find_score("bilinear")


def test_bad_sizes():
    with pytest.raises(ValueError, match="inputs must be above 0, got 0"):
        BilinearScores(0, 3)
    with pytest.raises(ValueError, match="outputs must be above 0, got 0"):
        AdditiveScores(3, 2, 0)
