r"""Relative positions: a number for each distance between query and key is added to the attention score.

    e_ij = q_i · k_j / √d + B_{j−i}                 one B for each head
    B_δ = w[bucket(δ)]                              T5: learned, near distances apart and far ones together
    B_δ = −m |δ|                                    ALiBi: fixed, a slope m for each head

Nothing is added to the input. Raffel et al. 2020, §2.1 (T5; the buckets are those of its code); Press et al. 2022
(ALiBi, written for causal attention, −m (i − j); |δ| is the same there and symmetric elsewhere).
Notes: N3 §5.7.2. Axis letters: docs/notation.md.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def relative_buckets(
    queries: int,
    keys: int,
    buckets: int = 32,
    distance: int = 128,
    bidirectional: bool = True,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Int[Tensor, "{queries} {keys}"]:
    """b_ij = bucket(j − i): which learned number the query at place i adds to the key at place j.

    ``queries`` and ``keys`` are counts; the first query stands at place ``offset``, the first key at 0. Half of the
    buckets hold one distance each, the other half share those up to ``distance`` by their logarithm; all beyond lie
    in the last. If ``bidirectional``, one half is for keys before and one for keys after; else all keys after are in 0.

    >>> relative_buckets(1, 9, buckets=8, distance=16, bidirectional=False, offset=8)
    tensor([[6, 5, 5, 4, 4, 3, 2, 1, 0]])
    """
    _check_buckets(buckets, distance, bidirectional)
    i = torch.arange(offset, offset + queries, device=device).unsqueeze(-1)
    return _bucket(torch.arange(keys, device=device) - i, buckets, distance, bidirectional)


def _bucket(delta: Tensor, buckets: int, distance: int, bidirectional: bool) -> Tensor:
    if bidirectional:
        buckets //= 2
        start, far = buckets * (delta > 0), delta.abs()
    else:
        start, far = torch.zeros_like(delta), (-delta).clamp(min=0)
    exact = buckets // 2
    # In float32 and in this order, because T5's weights were trained with buckets that were rounded so.
    share = torch.log(far.clamp(min=exact).float() / exact) / math.log(distance / exact)
    shared = (exact + (share * (buckets - exact)).long()).clamp(max=buckets - 1)
    return start + torch.where(far < exact, far, shared)


def _check_buckets(buckets: int, distance: int, bidirectional: bool) -> None:
    least = 4 if bidirectional else 2
    if buckets < least:
        raise ValueError(
            f"buckets must be at least {least} if bidirectional={bidirectional}, got {buckets}; try buckets=32"
        )
    exact = buckets // least
    if distance <= exact:
        raise ValueError(
            f"distance must be above {exact}, the distances with a bucket of their own for buckets={buckets}, "
            f"got {distance}; try distance={4 * buckets}"
        )


class RelativeBias(nn.Module):
    """T5's learned bias B_ij = w[bucket(j − i)] for every head, to be added to the scores. Tap: ``bias``."""

    def __init__(self, heads: int, buckets: int = 32, distance: int = 128, bidirectional: bool = True) -> None:
        super().__init__()
        expect_positive(heads=heads)
        _check_buckets(buckets, distance, bidirectional)
        self.heads, self.buckets, self.distance, self.bidirectional = heads, buckets, distance, bidirectional
        self.weight = nn.Parameter(torch.empty(buckets, heads))
        self.bias = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.02)

    @override
    def forward(self, queries: int, keys: int, offset: int = 0) -> Float[Tensor, "h {queries} {keys}"]:
        if not queries or not keys:
            return self.weight.new_zeros(self.heads, queries, keys)
        # Row i of B is a window of one list over all distances. Gathering that list, not every i and j, makes
        # the backward pass several times faster.
        delta = torch.arange(1 - queries - offset, keys - offset, device=self.weight.device)
        w = nn.functional.embedding(_bucket(delta, self.buckets, self.distance, self.bidirectional), self.weight)
        B = w.T.contiguous().unfold(-1, keys, 1).flip(-2).contiguous()
        if self.bias.live:
            B = self.bias(B)
        return B

    @override
    def extra_repr(self) -> str:
        both = "" if self.bidirectional else ", causal"
        return f"heads={self.heads}, buckets={self.buckets}, distance={self.distance}{both}"


def alibi_slopes(
    heads: int, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Float[Tensor, "{heads}"]:
    """m_h = 2^{−8h/heads} for h = 1 … heads, a power of two: from steep, which looks near, to flat, which looks far.

    Other counts take all slopes of the next smaller power of two, then every other one of the next larger.

    >>> alibi_slopes(8)
    tensor([0.5000, 0.2500, 0.1250, 0.0625, 0.0312, 0.0156, 0.0078, 0.0039])
    """
    expect_positive(heads=heads)
    power = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    between = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power, 2)]
    return torch.tensor(slopes + between[: heads - power], dtype=dtype, device=device)


def alibi_bias(
    heads: int,
    queries: int,
    keys: int,
    offset: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "{heads} {queries} {keys}"]:
    """B_hij = −m_h |j − i|, to be added to the scores of head h; the first query stands at place ``offset``.

    >>> alibi_bias(1, 2, 3) * 2**8  # one head has the slope 2⁻⁸
    tensor([[[-0., -1., -2.],
             [-1., -0., -1.]]])
    """
    m = alibi_slopes(heads, dtype, device)
    i = torch.arange(offset, offset + queries, device=device).unsqueeze(-1)
    far = (torch.arange(keys, device=device) - i).abs()
    return -m.view(-1, 1, 1) * far
