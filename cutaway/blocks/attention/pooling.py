r"""Pooling makes one vector of a whole sequence.

    cls         s = z_1                             the first token stands for all (Devlin et al. 2019)
    last        s = z_n                             the last real token, as a causal model needs
    mean        s = Σ m_i z_i / Σ m_i               over the real tokens, m_i ∈ {0, 1}
    mean_sqrt   s = Σ m_i z_i / √Σ m_i              longer texts have longer vectors (Arora et al. 2017)
    weighted    s = Σ i z_i / Σ i                   over the real tokens, the later the heavier (Muennighoff 2022)
    max         s_j = max_i z_ij                    over the real tokens, each feature by itself (Collobert 2011)
    attention   s = Σ α_i z_i,  α = softmax(Z θ)    weights learned by one query θ

``mask`` is True at real tokens. Lin et al. 2017 for attention pooling. Notes: N3 §5.6.4 (aggregate), N4.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.attention.weightings import soft_weights
from cutaway.blocks.checks import expect_float
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def pool_first(z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
    """s = z_1, whatever the mask."""
    _expect_tokens(z, mask)
    return z[..., 0, :]


def pool_last(z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
    """s = z_n, the last token that the mask marks as real (if none is, the first).

    >>> pool_last(torch.tensor([[1.0], [3.0], [100.0]]), torch.tensor([True, True, False]))
    tensor([3.])
    """
    _expect_tokens(z, mask)
    if mask is None:
        return z[..., -1, :]
    steps = torch.arange(1, z.shape[-2] + 1, device=z.device)
    last = (mask * steps).argmax(-1).expand(z.shape[:-2])
    return z.gather(-2, last[..., None, None].expand(*last.shape, 1, z.shape[-1])).squeeze(-2)


def pool_mean(z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
    """s = Σ m_i z_i / Σ m_i; a sequence with no real token gives 0. Half precision is summed in float32.

    >>> pool_mean(torch.tensor([[1.0], [3.0], [100.0]]), torch.tensor([True, True, False]))
    tensor([2.])
    """
    _expect_tokens(z, mask)
    if mask is None:
        return z.mean(-2)
    m = mask[..., None].to(torch.promote_types(z.dtype, torch.float32))
    return ((m * z).sum(-2) / m.sum(-2).clamp(min=1)).to(z.dtype)


def pool_mean_sqrt(z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
    """s = Σ m_i z_i / √Σ m_i: the mean times the root of the length.

    >>> pool_mean_sqrt(torch.tensor([[1.0], [2.0], [3.0], [2.0]]))
    tensor([4.])
    """
    _expect_tokens(z, mask)
    if mask is None:
        return z.mean(-2) * z.shape[-2] ** 0.5
    length = mask.sum(-1, keepdim=True).to(torch.promote_types(z.dtype, torch.float32))
    return (pool_mean(z, mask) * length.sqrt()).to(z.dtype)


def pool_weighted(z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
    """s = Σ i z_i / Σ i over the real tokens i = 1 … n: in a causal model the later tokens have seen more.

    >>> pool_weighted(torch.tensor([[1.0], [4.0], [100.0]]), torch.tensor([True, True, False]))
    tensor([3.])
    """
    _expect_tokens(z, mask)
    real = torch.ones(z.shape[-2], dtype=torch.bool, device=z.device) if mask is None else mask
    i = (real * real.long().cumsum(-1))[..., None].to(torch.promote_types(z.dtype, torch.float32))
    return ((i * z).sum(-2) / i.sum(-2).clamp(min=1)).to(z.dtype)


def pool_max(z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
    """s_j = max_i z_ij: each feature where it is strongest; a sequence with no real token gives 0.

    >>> pool_max(torch.tensor([[1.0, 4.0], [3.0, 2.0], [100.0, 100.0]]), torch.tensor([True, True, False]))
    tensor([3., 4.])
    """
    _expect_tokens(z, mask)
    if mask is None:
        return z.amax(-2)
    s = z.masked_fill(~mask[..., None], -torch.inf).amax(-2)
    return s.masked_fill(~mask.any(-1, keepdim=True), 0.0)


class AttentionPool(nn.Module):
    """s = Σ α_i z_i with α = softmax(Z θ). Taps: ``weights`` (α), ``output``. No real token: 0."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = Linear(width, 1, bias=False)
        self.weights, self.output = Tap(), Tap()

    @override
    def forward(self, z: Float[Tensor, "*b t w"], mask: Bool[Tensor, "*#b t"] | None = None) -> Float[Tensor, "*b w"]:
        _expect_tokens(z, mask)
        e = self.map(z).squeeze(-1)
        if mask is not None:
            e = e.masked_fill(~mask, -torch.inf)
        a = soft_weights(e)
        if self.weights.live:
            a = self.weights(a)
        s = (a[..., None, :] @ z).squeeze(-2)
        if self.output.live:
            s = self.output(s)
        return s


def _expect_tokens(z: Tensor, mask: Tensor | None) -> None:
    expect_float("z", z)
    if z.ndim < 2 or z.shape[-2] == 0:
        raise ValueError(f"z must have shape (..., tokens, width) with a token, got {tuple(z.shape)}; skip empty texts")
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ValueError(f"a mask must be boolean, True at real tokens, got {mask.dtype}; use mask.bool()")
    fits = 1 <= mask.ndim < z.ndim and mask.shape[-1] == z.shape[-2]
    if not fits or any(a not in (1, b) for a, b in zip(reversed(mask.shape), reversed(z.shape[:-1]))):
        raise ValueError(
            f"a mask must mark every token of z, got shape {tuple(mask.shape)} for z of shape {tuple(z.shape)}; "
            f"give it shape {tuple(z.shape[:-1])}"
        )
