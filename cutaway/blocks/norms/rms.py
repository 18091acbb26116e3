r"""RMS norm is layer norm without the mean: each vector is divided by the root mean square of its entries.

    y = γ ⊙ x / √(mean(x²) + ε)

Zhang, Sennrich 2019, eq. 4, used by T5 and Llama. The notes (N3 §3.7.5) have layer norm; this is its successor.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_width
from cutaway.blocks.norms.shared import widen
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def rms_norm(
    x: Float[Tensor, "*b w"], gain: Float[Tensor, "w"] | None = None, epsilon: float = 1e-6
) -> Float[Tensor, "*b w"]:
    """y = γ ⊙ x / √(mean(x²) + ε) over the last axis; half precision is computed in float32.

    >>> rms_norm(torch.tensor([3.0, 4.0, 0.0, 0.0]), epsilon=0.0)
    tensor([1.2000, 1.6000, 0.0000, 0.0000])
    """
    expect_float("x", x)
    if gain is not None:
        expect_width("x", x, gain.shape[0])
    wide = x
    if gain is not None and gain.dtype != x.dtype:  # the kernel sums in float32 itself, but wants one precision
        wide, gain = widen(x), widen(gain)
    return nn.functional.rms_norm(wide, x.shape[-1:], gain, epsilon).to(x.dtype)


def _scale(x: Tensor, epsilon: float) -> Tensor:
    """√(mean(x²) + ε)."""
    return torch.sqrt(widen(x).square().mean(-1, keepdim=True) + epsilon)


class RMSNorm(nn.Module):
    """RMS norm with a learned ``weight`` γ: y = γ ⊙ x / √(mean(x²) + ε).

    Taps: ``scale`` (the root mean square), ``normalised`` (before γ) and ``output``.
    """

    def __init__(self, width: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        expect_positive(width=width)
        if epsilon < 0:
            raise ValueError(f"epsilon must be 0 or above, got {epsilon}; try epsilon=1e-6")
        self.width, self.epsilon = width, epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.scale = Tap()
        self.normalised = Tap()
        self.output = Tap()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)

    @override
    def forward(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        y = None
        if self.scale.live or self.normalised.live:
            y = self._written_out(x)
        if y is None or not (self.scale.edited or self.normalised.edited):  # only read: the fused output stands
            y = rms_norm(x, self.weight, self.epsilon)
        if self.output.live:
            y = self.output(y)
        return y

    def equation(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        gain = self.weight
        if x.ndim > 1 or x.dtype != gain.dtype or x.dtype.itemsize < 4:
            return rms_norm(x, gain, self.epsilon)
        return (x * gain).mul_((x.dot(x).item() / self.width + self.epsilon) ** -0.5)  # half the kernel's time

    def _written_out(self, x: Tensor) -> Tensor:
        expect_float("x", x)
        expect_width("x", x, self.width)
        s = _scale(x, self.epsilon)
        if self.scale.live:
            s = self.scale(s)
        n = widen(x) / s
        if self.normalised.live:
            n = self.normalised(n)
        return (n * widen(self.weight)).to(x.dtype)

    @override
    def extra_repr(self) -> str:
        return str(self.width)
