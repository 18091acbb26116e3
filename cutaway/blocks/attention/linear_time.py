r"""Linear attention puts a kernel in place of the softmax, so that the keys can be summed up before any query comes.

    y_i = φ(q_i)ᵀ S / φ(q_i)ᵀ z        S = Σ_j φ(k_j) v_jᵀ,  z = Σ_j φ(k_j)
    A_ij = φ(q_i)·φ(k_j) / Σ_l φ(q_i)·φ(k_l)

Both give Y = A V; the first costs O(n), the second, which is written out to look at, O(n²). Causal attention sums over
j ≤ i: S and z grow along the sequence, and are all that a decoder has to keep. φ(x) = elu(x) + 1 by default, any map to
features above zero otherwise. N3 §5.5.2 calls α = e "linear attention": that is φ(x) = x without the denominator.
Katharopoulos et al. 2020. Notes: N3 §5.5.2. Axis letters: docs/notation.md.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from cutaway.blocks.checks import expect_float, expect_positive

Feature = Callable[[Tensor], Tensor]


def elu_plus_one(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """φ(x) = elu(x) + 1: x + 1 above zero and eˣ below, without the rounding of eˣ − 1 + 1.

    >>> elu_plus_one(torch.tensor([-30.0, 0.0, 2.0]))
    tensor([9.3576e-14, 1.0000e+00, 3.0000e+00])
    """
    return x.clamp(max=0).exp() + x.relu()


def linear_attention(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*b k d"],
    v: Float[Tensor, "*b k v"],
    feature: Feature = elu_plus_one,
    causal: bool = False,
    mask: Bool[Tensor, "*#b k"] | None = None,
    chunk: int = 64,
) -> Float[Tensor, "*b q v"]:
    """y_i = φ(q_i)ᵀ S / φ(q_i)ᵀ z with S = Σ_j φ(k_j) v_jᵀ and z = Σ_j φ(k_j), in O(n) time and memory.

    ``mask`` is True for the keys that count. A query with nothing to look at gives zeros. Causal attention runs over
    chunks: the sums of all chunks before, and the written-out form within. Half precision is summed in float32.

    >>> linear_attention(torch.zeros(1, 1), torch.zeros(2, 1), torch.tensor([[1.0], [5.0]]))  # no preference
    tensor([[3.]])
    """
    _check(q, k, v, causal)
    expect_positive(chunk=chunk)
    f, g = _features(q, k, feature, mask)
    u = pad(v.to(g.dtype), (0, 1), value=1.0)  # a last entry of 1 sums up the denominator along with the values
    sums = _causal_sums(f, g, u, chunk) if causal else f @ (g.mT @ u)
    return _divide(sums[..., :-1], sums[..., -1:]).to(v.dtype)


def _causal_sums(f: Tensor, g: Tensor, u: Tensor, chunk: int) -> Tensor:
    """Σ_{j≤i} (f_i·g_j) u_j for every i, chunk by chunk."""
    n = f.shape[-2]
    f, g, u = (pad(x, (0, 0, 0, -n % chunk)).unflatten(-2, (-1, chunk)) for x in (f, g, u))
    S = g.mT @ u
    S = pad(S.cumsum(-3), (0, 0, 0, 0, 1, 0))[..., :-1, :, :]  # what came before each chunk
    return (f @ S + (f @ g.mT).tril() @ u).flatten(-3, -2)[..., :n, :]


def linear_attention_weights(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*b k d"],
    feature: Feature = elu_plus_one,
    causal: bool = False,
    mask: Bool[Tensor, "*#b k"] | None = None,
) -> Float[Tensor, "*b q k"]:
    """A_ij = φ(q_i)·φ(k_j) / Σ_l φ(q_i)·φ(k_l), written out: O(n²), for looking at what linear attention does.

    >>> linear_attention_weights(torch.zeros(2, 1), torch.tensor([[0.0], [2.0]]), causal=True)
    tensor([[1.0000, 0.0000],
            [0.2500, 0.7500]])
    """
    _check(q, k, k, causal)
    f, g = _features(q, k, feature, mask)
    A = f @ g.mT
    if causal:
        A = A.tril()
    return _divide(A, A.sum(-1, keepdim=True)).to(q.dtype)


class LinearState(NamedTuple):
    """All that causal linear attention keeps of the past: S = Σ φ(k_j) v_jᵀ and z = Σ φ(k_j). Its size never grows."""

    S: Tensor  # (..., d, v)
    z: Tensor  # (..., d)


def linear_state(
    k: Float[Tensor, "*b k d"],
    v: Float[Tensor, "*b k v"],
    feature: Feature = elu_plus_one,
    mask: Bool[Tensor, "*#b k"] | None = None,
) -> LinearState:
    """S = Σ_j φ(k_j) v_jᵀ and z = Σ_j φ(k_j): the state after a prompt; of no keys at all, the state to start from."""
    _check(k, k, v, causal=False)
    _, g = _features(k, k, feature, mask)
    return LinearState(g.mT @ v.to(g.dtype), g.sum(-2))


def linear_step(
    state: LinearState,
    q: Float[Tensor, "*b d"],
    k: Float[Tensor, "*b d"],
    v: Float[Tensor, "*b v"],
    feature: Feature = elu_plus_one,
) -> tuple[Float[Tensor, "*b v"], LinearState]:
    """One step of causal linear attention: S ← S + φ(k) vᵀ, z ← z + φ(k), y = φ(q)ᵀ S / φ(q)ᵀ z."""
    S, z = state
    f, g = feature(q.to(S.dtype)), feature(k.to(S.dtype))
    S, z = S + g.unsqueeze(-1) * v.to(S.dtype).unsqueeze(-2), z + g
    y = _divide((f.unsqueeze(-2) @ S).squeeze(-2), (f * z).sum(-1, keepdim=True))
    return y.to(v.dtype), LinearState(S, z)


def _features(q: Tensor, k: Tensor, feature: Feature, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    dtype = torch.promote_types(q.dtype, torch.float32)
    f, g = feature(q.to(dtype)), feature(k.to(dtype))
    return f, g if mask is None else g.masked_fill(~mask.unsqueeze(-1), 0.0)


def _divide(y: Tensor, total: Tensor) -> Tensor:
    """y / total, and 0 where the total is 0; the inner `where` keeps 0/0 out of the gradient too."""
    return torch.where(total == 0, 0.0, y / torch.where(total == 0, 1.0, total))


def _check(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> None:
    for name, x in (("q", q), ("k", k), ("v", v)):
        expect_float(name, x)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q and k must have one width, got {q.shape[-1]} and {k.shape[-1]}; project them to the same width"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"there must be one value for each key, got {k.shape[-2]} keys and {v.shape[-2]} values; "
            "take both from the same sequence"
        )
    if causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"causal linear attention needs one query for each key, got {q.shape[-2]} queries and {k.shape[-2]} keys; "
            "to go on from earlier keys use linear_step"
        )
