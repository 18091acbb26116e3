r"""Binary neurons, whose output is 0 or 1, and the constant neuron.

    threshold(s) = 1 if s ≥ 0 else 0                      binary threshold neuron
    y = 1 with probability σ(s), else 0                   stochastic binary neuron
    y = c                                                 constant neuron

The derivative of a step is 0 wherever it exists, so nothing could be learned through the first two. Both therefore go
backward as another function would ("straight through"): the threshold as the identity, δ_s = δ_y, and the stochastic
neuron as its mean, δ_s = σ′(s) δ_y. Both are biased estimates that work in practice.
McCulloch, Pitts 1943; Bengio, Léonard, Courville 2013, §4. Notes: N3 §2.2 (constant, stochastic), §2.4.1 (threshold).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float
from cutaway.blocks.dense.activations import Activation, as_tensor, logistic, named
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def straight_through(hard: Float[Tensor, "*s"], soft: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    r"""The value of one tensor with the gradient of another.

        y = hard + soft − stop(soft)

    where stop(u) has the value of u and no gradient, so that δ_soft = δ_y.

    >>> s = torch.tensor(0.3, requires_grad=True)
    >>> straight_through(s.round(), s ** 2)
    tensor(0., grad_fn=<AddBackward0>)
    """
    # The difference is exactly 0, but for ∞ − ∞: an infinite value has no slope to pass on either.
    return hard.detach() + torch.where(soft.isinf(), 0.0, soft - soft.detach())


class Threshold(Activation):
    r"""The binary threshold or McCulloch–Pitts neuron, which spikes if its input is not negative.

        threshold(x) = 1 if x ≥ 0 else 0
        threshold′(x) = 1, straight through

    The true derivative is 0 where it exists; in the backward pass this neuron counts as the identity.
    McCulloch, Pitts 1943; Bengio, Léonard, Courville 2013. Notes: N3 §2.4.1.
    """

    short = "threshold"
    kinks = (0.0,)

    @override
    def _value(self, x: Tensor) -> Tensor:
        return straight_through((x >= 0).to(x.dtype), x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return torch.ones_like(x)


def bernoulli(p: Float[Tensor, "*s"], generator: torch.Generator | None = None) -> Float[Tensor, "*s"]:
    r"""Zeros and ones drawn with given probabilities, which go backward as their mean.

        y = 1 with probability p, else 0

    The gradient is that of the mean, δ_p = δ_y. Draws are made in float32 whatever the dtype of p, so that one seed
    gives one outcome; p is met to within 2⁻²⁴. torch.compile cannot trace a ``generator``: leave it None there.
    """
    u = torch.empty_like(p, dtype=torch.float32).uniform_(generator=generator)
    return straight_through((u < p).to(p.dtype), p)


class StochasticSpike(Activation):
    r"""The stochastic binary neuron, whose input sets the probability of a spike.

        stochastic_binary(x) = 1 with probability σ(x), else 0
        stochastic_binary′(x) = σ(x) · (1 − σ(x)), that of the mean

    ``generator`` makes the outcome repeatable whatever else is drawn. The picture shows the mean, σ, and its slope.
    Bengio, Léonard, Courville 2013. Notes: N3 §2.2.3.
    """

    short = "stochastic_binary"

    @override
    def __call__(self, x: Float[Tensor, "*s"] | float, generator: torch.Generator | None = None) -> Float[Tensor, "*s"]:
        return bernoulli(torch.sigmoid(as_tensor(x)), generator)

    @override
    def _value(self, x: Tensor) -> Tensor:
        return self(x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return logistic.derivative(x)

    @override
    def _drawn(self, x: Tensor) -> Tensor:
        return logistic(x)

    @override
    def _equations(self) -> tuple[str, str]:
        return "mean, the probability of a spike: σ(x)", super()._equations()[1]


threshold = named(Threshold())
stochastic_binary = named(StochasticSpike())


class StochasticBinary(nn.Module):
    r"""Stochastic binary neurons as a layer to look into.

        p = σ(s),  y = 1 with probability p, else 0

    Taps: ``probability`` (p) and ``spike`` (y). Unlike dropout it draws in evaluation mode too: chance is what this
    neuron computes; its mean is `logistic`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.probability = Tap()
        self.spike = Tap()

    @override
    def forward(self, s: Float[Tensor, "*s"], generator: torch.Generator | None = None) -> Float[Tensor, "*s"]:
        expect_float("s", s)
        p = torch.sigmoid(s)
        if self.probability.live:
            p = self.probability(p)
        y = bernoulli(p, generator)
        if self.spike.live:
            y = self.spike(y)
        return y


class Constant(nn.Module):
    r"""The constant neuron, which has no inputs and always the same value (or tensor of values).

        y = c

    Fixed as in the notes, or ``learned``: a bias b is a learned constant added to x W. Tap: ``output``.
    """

    value: Tensor

    def __init__(self, value: float | Float[Tensor, "*s"], learned: bool = False) -> None:
        super().__init__()
        if isinstance(value, Tensor):
            expect_float("value", value)
            value = value.detach().clone()
        else:
            value = torch.tensor(value, dtype=torch.get_default_dtype())
        self.learned = learned
        if learned:
            self.value = nn.Parameter(value)
        else:
            self.register_buffer("value", value)
        self.output = Tap()

    @override
    def forward(self) -> Float[Tensor, "*s"]:
        y = self.value
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        shape = tuple(self.value.shape)
        what = f"shape={shape}" if shape or self.value.is_meta else f"{self.value.item():g}"
        return what + (", learned" if self.learned else "")
