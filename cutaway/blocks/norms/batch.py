r"""Batch norm: each feature is standardised by its mean and variance over the batch.

    y = γ ⊙ (x − μ) / √(σ² + ε) + β            μ, σ²: over the batch in training, running averages at test
    μ̄ ← (1 − m) μ̄ + m μ                        running mean, m the momentum
    σ̄² ← (1 − m) σ̄² + m σ² n / (n − 1)         running variance: the unbiased one, over n values

Ioffe, Szegedy 2015, algorithm 1. Notes: N0 §1.6, N3 §3.7.4. Features lie on the last axis and all other axes are the
batch; `axis=1` is for the channels of images (b, c, h, w); `BatchNorm((n, c), axis=(-2, -1))` is N0's, which has
statistics of their own for each position n and feature c. N3's γ is a variance; here, as in the paper, it is the gain.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive
from cutaway.blocks.norms.shared import Axes, expect_sizes, places, shift, sizes, spread, widen
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def batch_norm(
    x: Float[Tensor, "*s"],
    mean: Float[Tensor, "..."],
    variance: Float[Tensor, "..."],
    gain: Float[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    axis: Axes = -1,
    epsilon: float = 1e-5,
) -> Float[Tensor, "*s"]:
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β with the statistics μ, σ² given; ``axis`` holds the features.

    >>> batch_norm(torch.tensor([[7.0], [3.0]]), torch.tensor([5.0]), torch.tensor([4.0]), epsilon=0.0)
    tensor([[ 1.],
            [-1.]])
    """
    expect_float("x", x)
    where = places(x, axis)
    for name, part in {"mean": mean, "variance": variance, "gain": gain, "bias": bias}.items():
        if part is not None:
            expect_sizes(name, part, x, where)
    n = _normalise(x, mean, variance, where, epsilon)
    return shift(n, gain, bias, where).to(x.dtype)


def _normalise(x: Tensor, mean: Tensor, variance: Tensor, where: tuple[int, ...], epsilon: float) -> Tensor:
    """(x − μ) / √(σ² + ε)."""
    scale = torch.sqrt(widen(variance) + epsilon)
    return (widen(x) - spread(mean, x, where)) / spread(scale, x, where)


class BatchNorm(nn.Module):
    """Batch norm with learned ``weight`` γ and ``bias`` β: y = γ ⊙ (x − μ) / √(σ² + ε) + β.

    ``momentum`` is the share of the newest batch in ``running_mean`` and ``running_var``, which stand for μ and σ² in
    evaluation mode. ``axis`` holds the features, ``width`` of them. Taps: ``mean`` and ``variance`` (μ and σ² as used),
    ``normalised`` (before γ and β) and ``output``.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self, width: int | Sequence[int], momentum: float = 0.1, epsilon: float = 1e-5, axis: Axes = -1
    ) -> None:
        super().__init__()
        self.width, self.axis = sizes(width), sizes(axis)
        for size in self.width:
            expect_positive(width=size)
        if len(self.width) != len(self.axis) or any(b - a != 1 for a, b in zip(self.axis, self.axis[1:])):
            raise ValueError(
                f"width must have one size for each axis of axis, and these must be neighbours, got width={self.width} "
                f"and axis={self.axis}; for two axes of features at the end try axis=(-2, -1)"
            )
        if not 0 < momentum <= 1:
            raise ValueError(f"momentum must be above 0 and at most 1, got {momentum}; try momentum=0.1")
        if epsilon < 0:
            raise ValueError(f"epsilon must be 0 or above, got {epsilon}; try epsilon=1e-5")
        self.momentum, self.epsilon = momentum, epsilon
        self.weight = nn.Parameter(torch.ones(self.width))
        self.bias = nn.Parameter(torch.zeros(self.width))
        self.register_buffer("running_mean", torch.zeros(self.width))
        self.register_buffer("running_var", torch.ones(self.width))
        self.mean = Tap()
        self.variance = Tap()
        self.normalised = Tap()
        self.output = Tap()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        self.running_mean.zero_()
        self.running_var.fill_(1)

    @override
    def forward(self, x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        expect_float("x", x)
        where = places(x, self.axis)
        expect_sizes("weight", self.weight, x, where)
        size = x.numel() // self.weight.numel()  # values for each feature
        if self.training and size < 2:
            raise ValueError(
                f"batch norm in training needs at least 2 values for each feature, got {size} in shape "
                f"{tuple(x.shape)}; use a larger batch, drop an incomplete last one, or call .eval()"
            )
        hidden = (self.mean, self.variance, self.normalised)
        # The kernel refuses ε = 0 in training.
        if any(tap.edited for tap in hidden) or (self.training and self.epsilon == 0):
            y = self._written_out(x, where, update=self.training)
        else:
            if any(tap.live for tap in hidden):
                self._written_out(x, where, update=False)  # only read: the fused output stands
            y = self._fused(x, where)
        if self.output.live:
            y = self.output(y)
        return y

    def _fused(self, x: Tensor, where: tuple[int, ...]) -> Tensor:
        mean, variance = widen(self.running_mean), widen(self.running_var)
        flat = widen(x)
        if where != (1,):  # else the kernel's own shape, in whatever layout the images have in memory
            # (what comes before the features, the features, what comes after), a view; the middle axis is theirs
            flat = flat.reshape(x.shape[: where[0]].numel(), self.weight.numel(), x.shape[where[-1] + 1 :].numel())
        y = nn.functional.batch_norm(
            flat,
            mean.flatten(),
            variance.flatten(),
            widen(self.weight).flatten(),
            widen(self.bias).flatten(),
            self.training,
            self.momentum,
            self.epsilon,
        )
        if mean is not self.running_mean and self.training:  # half precision: the kernel moved our float32 copies
            self.running_mean.copy_(mean)
            self.running_var.copy_(variance)
        return y.reshape(x.shape).to(x.dtype)

    def _written_out(self, x: Tensor, where: tuple[int, ...], update: bool) -> Tensor:
        mu, sigma2 = self.running_mean, self.running_var
        if self.training:
            batch = [axis for axis in range(x.ndim) if axis not in where]
            sigma2, mu = torch.var_mean(widen(x), batch, correction=0)
        if self.mean.live:
            mu = self.mean(mu)
        if self.variance.live:
            sigma2 = self.variance(sigma2)
        if update:
            n = x.numel() // self.weight.numel()
            self._move(self.running_mean, mu)
            self._move(self.running_var, sigma2 * n / (n - 1))
        normalised = _normalise(x, mu, sigma2, where, self.epsilon)
        if self.normalised.live:
            normalised = self.normalised(normalised)
        return shift(normalised, self.weight, self.bias, where).to(x.dtype)

    def _move(self, running: Tensor, new: Tensor) -> None:
        with torch.no_grad():
            running.copy_(torch.lerp(widen(running), widen(new), self.momentum))

    @override
    def extra_repr(self) -> str:
        axes = "" if self.axis == tuple(range(-len(self.axis), 0)) else f", axis={self.axis}"
        return " × ".join(map(str, self.width)) + axes
