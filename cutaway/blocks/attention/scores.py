r"""Attention scores a(q, k) say how well a query and a key fit, one number for each pair.

    dot           a(q, k) = q·k
    scaled dot    a(q, k) = q·k / √d                Vaswani et al. 2017
    cosine        a(q, k) = q·k / (‖q‖ ‖k‖)         Graves et al. 2014
    bilinear      a(q, k) = q W kᵀ                  Luong et al. 2015 ("general")
    additive      a(q, k) = v·tanh(q W + k U + b)   Bahdanau et al. 2015 (an MLP with one hidden layer)

Notes: N0 §2.2, N3 §5.5.2. Axis letters: docs/notation.md.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap
from cutaway.overriding import override

Score = Callable[[Tensor, Tensor], Tensor]


def dot_scores(q: Float[Tensor, "*#b q d"], k: Float[Tensor, "*#b k d"]) -> Float[Tensor, "*b q k"]:
    """E = Q Kᵀ."""
    return q @ k.mT


def scaled_dot_scores(q: Float[Tensor, "*#b q d"], k: Float[Tensor, "*#b k d"]) -> Float[Tensor, "*b q k"]:
    """E = Q Kᵀ / √d: of variance one if the entries of Q and K are.

    >>> scaled_dot_scores(torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.eye(4))
    tensor([[1., 0., 0., 0.]])
    """
    return q @ k.mT / math.sqrt(q.shape[-1])


def cosine_scores(q: Float[Tensor, "*#b q d"], k: Float[Tensor, "*#b k d"]) -> Float[Tensor, "*b q k"]:
    """E = Q Kᵀ / (‖q‖ ‖k‖): the cosine of the angle, in [−1, 1]; zero vectors fit nothing.

    >>> cosine_scores(torch.tensor([[3.0, 0.0]]), torch.tensor([[0.1, 0.0], [0.0, 7.0], [-2.0, 0.0], [0.0, 0.0]]))
    tensor([[ 1.,  0., -1.,  0.]])
    """
    return unit(q) @ unit(k).mT


def unit(x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
    """x / ‖x‖ along the last axis; the zero vector, which has no direction, stays as it is."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.promote_types(x.dtype, torch.float32))
    # Dividing zero vectors by a small number instead would give them enormous gradients.
    return (x / length.masked_fill(length == 0, 1.0)).to(x.dtype)


class BilinearScores(nn.Module):
    """E = Q W Kᵀ with a learned W, so that queries and keys may differ in width. Tap: ``mapped`` (Q W)."""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.map = Linear(query_width, key_width, bias=False)
        self.mapped = Tap()

    @override
    def forward(self, q: Float[Tensor, "*#b q d"], k: Float[Tensor, "*#b k e"]) -> Float[Tensor, "*b q k"]:
        s = self.map(q)
        if self.mapped.live:
            s = self.mapped(s)
        return s @ k.mT


class AdditiveScores(nn.Module):
    """E = v·tanh(q W + k U + b): a small network for every pair of query and key. Tap: ``hidden`` (the tanh).

    Its hidden layer has an entry for every query, key and hidden unit, so memory grows with all three.
    """

    def __init__(self, query_width: int, key_width: int, hidden: int) -> None:
        super().__init__()
        self.map_queries = Linear(query_width, hidden)
        self.map_keys = Linear(key_width, hidden, bias=False)
        self.map_hidden = Linear(hidden, 1, bias=False)
        self.hidden = Tap()

    @override
    def forward(self, q: Float[Tensor, "*#b q d"], k: Float[Tensor, "*#b k e"]) -> Float[Tensor, "*b q k"]:
        h = torch.tanh(self.map_queries(q)[..., :, None, :] + self.map_keys(k)[..., None, :, :])
        if self.hidden.live:
            h = self.hidden(h)
        return self.map_hidden(h).squeeze(-1)


SCORES: dict[str, Score] = {"dot": dot_scores, "scaled_dot": scaled_dot_scores, "cosine": cosine_scores}


def find_score(score: str | Score) -> Score:
    """The score function of that name, or the function itself. Those with weights are modules: pass the module."""
    if not isinstance(score, str):
        return score
    if score in ("additive", "bilinear"):
        name = f"{score.capitalize()}Scores"
        raise ValueError(f"score={score!r} has weights of its own, got only its name; pass a module, score={name}(...)")
    expect_choice("score", score, SCORES)
    return SCORES[score]
