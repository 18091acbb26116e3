r"""Layer norm: each example is standardised by its own mean and variance.

    y = γ ⊙ (x − μ) / √(σ² + ε) + β      μ, σ²: mean and variance of x over the normalised axes

Ba, Kiros, Hinton 2016, eq. 4. Notes: N0 §1.6, N3 §3.7.5. N0 takes all axes but the batch, `LayerNorm((n, c))`;
transformers take the last one, `LayerNorm(width)`. Where N3 divides by √std, the paper and we divide by √(σ² + ε).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive
from cutaway.blocks.norms.shared import Axes, expect_sizes, places, shift, sizes, widen
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def layer_norm(
    x: Float[Tensor, "*s"],
    gain: Float[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    axes: Axes = -1,
    epsilon: float = 1e-5,
) -> Float[Tensor, "*s"]:
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β, with μ and σ² over ``axes``; ``gain`` γ and ``bias`` β have the shape of these.

    Half precision is computed in float32 and returned as it came.

    >>> layer_norm(torch.tensor([1.0, 3.0]), epsilon=0.0)
    tensor([-1.,  1.])
    """
    expect_float("x", x)
    where = places(x, axes)
    if gain is not None:
        expect_sizes("gain", gain, x, where)
    if bias is not None:
        expect_sizes("bias", bias, x, where)
    if where == tuple(range(x.ndim - len(where), x.ndim)):
        return _fused(x, gain, bias, len(where), epsilon)
    centred, scale = _centre_and_scale(x, where, epsilon)
    return shift(centred / scale, gain, bias, where).to(x.dtype)


def _fused(x: Tensor, gain: Tensor | None, bias: Tensor | None, last: int, epsilon: float) -> Tensor:
    """The kernel, over the ``last`` axes: it sums in float32 for half precision, but wants one precision for all."""
    wide = x
    if (gain is not None and gain.dtype != x.dtype) or (bias is not None and bias.dtype != x.dtype):
        wide = widen(x)
        gain = None if gain is None else widen(gain)
        bias = None if bias is None else widen(bias)
    return nn.functional.layer_norm(wide, x.shape[x.ndim - last :], gain, bias, epsilon).to(x.dtype)


def _centre_and_scale(x: Tensor, where: tuple[int, ...], epsilon: float) -> tuple[Tensor, Tensor]:
    """x − μ and √(σ² + ε)."""
    x = widen(x)
    centred = x - x.mean(where, keepdim=True)
    return centred, torch.sqrt(centred.square().mean(where, keepdim=True) + epsilon)


class LayerNorm(nn.Module):
    """Layer norm with learned ``weight`` γ and ``bias`` β: y = γ ⊙ (x − μ) / √(σ² + ε) + β.

    ``shape`` is the size of the normalised axes: the last ones, unless ``axes`` says which (1 for the channels of
    images (b, c, h, w)). Taps: ``scale`` (√(σ² + ε)), ``normalised`` (before γ and β) and ``output``.
    """

    undecayed = ("weight", "bias")  # by optimizers, though they may have several axes

    def __init__(
        self, shape: int | Sequence[int], epsilon: float = 1e-5, bias: bool = True, axes: Axes | None = None
    ) -> None:
        super().__init__()
        self.shape = sizes(shape)
        self.axes = tuple(range(-len(self.shape), 0)) if axes is None else sizes(axes)
        for size in self.shape:
            expect_positive(shape=size)
        if len(self.shape) != len(self.axes) or not self.shape:
            raise ValueError(
                f"shape must have one size for each of the axes, got shape={self.shape} and axes={self.axes}; "
                "give as many sizes as axes"
            )
        if epsilon < 0:
            raise ValueError(f"epsilon must be 0 or above, got {epsilon}; try epsilon=1e-5")
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(self.shape))
        self.bias = nn.Parameter(torch.zeros(self.shape)) if bias else None
        self.scale = Tap()
        self.normalised = Tap()
        self.output = Tap()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @override
    def forward(self, x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        y = None
        if self.scale.live or self.normalised.live:
            y = self._written_out(x)
        if y is None or not (self.scale.edited or self.normalised.edited):  # only read: the fused output stands
            y = layer_norm(x, self.weight, self.bias, self.axes, self.epsilon)
        if self.output.live:
            y = self.output(y)
        return y

    def equation(self, x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        if self.axes != (-1,) or x.dtype != self.weight.dtype:
            return layer_norm(x, self.weight, self.bias, self.axes, self.epsilon)
        return torch.layer_norm(x, self.shape, self.weight, self.bias, self.epsilon)

    def _written_out(self, x: Tensor) -> Tensor:
        where = places(x, self.axes)
        expect_sizes("weight", self.weight, x, where)
        centred, s = _centre_and_scale(x, where, self.epsilon)
        if self.scale.live:
            s = self.scale(s)
        n = centred / s
        if self.normalised.live:
            n = self.normalised(n)
        return shift(n, self.weight, self.bias, where).to(x.dtype)

    @override
    def extra_repr(self) -> str:
        last = self.axes == tuple(range(-len(self.shape), 0))
        return (
            " × ".join(map(str, self.shape))
            + ("" if last else f", axes={self.axes}")
            + ("" if self.bias is not None else ", no bias")
        )
