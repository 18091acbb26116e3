r"""Attention without queries: a weighted sum of the inputs is one memory of fixed length, by weights of four kinds.

    c = Σ_i w_i θᵀx_i               the memory; its length does not depend on the number of inputs
    w_i = γ^{n−i}                   decay: an input counts less with time, however important it was
    w_i = λ(x_i) = σ(θ_λᵀx_i)       a forgetting gate: weighs an input by its content, but may let all of them in
    w_i = softmax(θ_λᵀX)_i          the gates share one attention span, Σ w_i = 1

The other origin of attention is a table that is looked up with a vector in place of an index: each row counts as much
as the query agrees with its key, the keys being the basis vectors e_i.

    lookup(q) = Σ_i ⟨q, e_i⟩ v_i

Gers et al. 2000 (forgetting gates), Bahdanau et al. 2015 (softmax weights). Notes: N4 (the party), N0 §2.2.
Axis letters: docs/notation.md.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.attention.weightings import soft_weights
from cutaway.blocks.checks import expect_float, expect_positive, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def decay_weights(n: int, gamma: float | Float[Tensor, ""]) -> Float[Tensor, "{n}"]:
    """w_i = γ^{n−i} for i = 1 … n: the last one counts fully, each one before less by the factor γ.

    >>> decay_weights(4, 0.5)
    tensor([0.1250, 0.2500, 0.5000, 1.0000])
    """
    expect_positive(n=n)
    gamma = torch.as_tensor(gamma)
    return gamma ** torch.arange(n - 1, -1, -1, device=gamma.device)


def forgetting_gate(
    x: Float[Tensor, "*b t w"], theta: Float[Tensor, "w"], bias: Float[Tensor, ""] | None = None
) -> Float[Tensor, "*b t"]:
    """λ(x) = σ(θᵀx + b), for every x by itself: 1 remembers it, 0 forgets it.

    >>> forgetting_gate(torch.tensor([[0.0], [2.0], [-2.0]]), torch.ones(1))
    tensor([0.5000, 0.8808, 0.1192])
    """
    return torch.sigmoid(_scores(x, theta) if bias is None else _scores(x, theta) + bias)


def forgetting_weights(
    x: Float[Tensor, "*b t w"], theta: Float[Tensor, "w"], mask: Bool[Tensor, "*#b t"] | None = None
) -> Float[Tensor, "*b t"]:
    """w_i = exp(θᵀx_i) / Σ_j exp(θᵀx_j): gates that sum to 1 over the sequence.

    As odds λ/(1 − λ) = exp(θᵀx), these are the odds of the gates, normalised; a bias would cancel. ``mask`` is True
    for the x that count; where none does, all weights are 0.

    >>> forgetting_weights(torch.tensor([[0.0], [2.0], [-2.0]]), torch.ones(1))
    tensor([0.1173, 0.8668, 0.0159])
    """
    return _normalise(_scores(x, theta), mask)


def _scores(x: Tensor, theta: Tensor) -> Tensor:
    expect_float("x", x)
    expect_width("x", x, theta.shape[0])
    return x @ theta


def _normalise(e: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:
        e = e.masked_fill(~mask, -torch.inf)
    return soft_weights(e.unsqueeze(-2)).squeeze(-2)


class Forgetting(nn.Module):
    """c = Σ_i λ(x_i) θᵀx_i with a gate λ(x) = σ(θ_λᵀx + b) for each x by itself. Taps: ``gates``, ``output``.

    ``mask`` is True for the x that count. Nothing limits the sum of the gates: see GatedSummary.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.gate = Linear(inputs, 1)
        self.value = Linear(inputs, outputs)
        self.gates = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b t i"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b o"]:
        gates = torch.sigmoid(self.gate(x).squeeze(-1))
        if mask is not None:
            gates = gates.masked_fill(~mask, 0.0)
        if self.gates.live:
            gates = self.gates(gates)
        c = _mix(gates, self.value(x))
        if self.output.live:
            c = self.output(c)
        return c


class GatedSummary(nn.Module):
    """c = Σ_i w_i θᵀx_i with weights w = softmax(θ_λᵀX) that sum to 1. Taps: ``gates``, ``weights``, ``output``.

    The weights are the odds of the gates λ(x) = σ(θ_λᵀx), normalised, so an edit of a gate reaches the output: a gate
    of 0 takes its x away from the memory. ``mask`` is True for the x that count; where none does, c = 0.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.gate = Linear(inputs, 1, bias=False)  # a bias would cancel in the softmax
        self.value = Linear(inputs, outputs)
        self.gates = Tap()
        self.weights = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b t i"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b o"]:
        e = self.gate(x).squeeze(-1)
        if self.gates.live:
            gates = self.gates(torch.sigmoid(e))
            if self.gates.edited:
                e = _log_odds(gates)
        w = _normalise(e, mask)
        if self.weights.live:
            w = self.weights(w)
        c = _mix(w, self.value(x))
        if self.output.live:
            c = self.output(c)
        return c


def _log_odds(gates: Tensor) -> Tensor:
    """log λ/(1 − λ), the inverse of σ; −∞ (may not look) for a closed gate, finite for one that is wide open."""
    kind = torch.finfo(gates.dtype)
    return torch.where(gates > 0, torch.logit(gates.clamp(kind.tiny, 1 - kind.eps)), -torch.inf)


def _mix(w: Tensor, v: Tensor) -> Tensor:
    """Σ_i w_i v_i."""
    return (w.unsqueeze(-2) @ v).squeeze(-2)


def lookup(q: Float[Tensor, "*b n"], values: Float[Tensor, "n v"]) -> Float[Tensor, "*b v"]:
    """lookup(q) = Σ_i ⟨q, e_i⟩ v_i: row i for q = e_i, and linear in between. N0, Example 2.3.

    >>> lookup(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([[10.0], [20.0], [30.0]]))  # e₁ + 2 e₂
    tensor([50.])
    """
    _check_table(q, values)
    return q @ values


def soft_lookup(q: Float[Tensor, "*b n"], values: Float[Tensor, "n v"]) -> Float[Tensor, "*b v"]:
    """lookup(q) = Σ_i softmax(⟨q, e_j⟩_j)_i v_i: a mean of the rows, near row i for a large multiple of e_i.

    >>> soft_lookup(torch.tensor([0.0, 100.0, 0.0]), torch.tensor([[10.0], [20.0], [30.0]]))
    tensor([20.])
    """
    _check_table(q, values)
    return torch.softmax(q, dim=-1) @ values


def _check_table(q: Tensor, values: Tensor) -> None:
    expect_float("q", q)
    expect_width("q", q, values.shape[0])
