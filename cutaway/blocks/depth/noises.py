r"""Noise: perturbed inputs, activations, weights and targets make a model robust, and hard to overfit.

    y = x + s ε,  ε ~ N(0, 1)               inputs and activations, in training
    W′ = W + s ε                            weights, for as long as a `with` block lasts
    y′ = y with probability 1 − r, else another class, each alike       targets
    q = (1 − a) p + a / K                   targets, by label smoothing over K classes

Bishop 1995 (inputs); Graves 2011 (weights); Szegedy et al. 2016, §7 (label smoothing). Notes: N3 §8.2.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_probability, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def gaussian_noise(
    x: Float[Tensor, "*s"], scale: float, generator: torch.Generator | None = None
) -> Float[Tensor, "*s"]:
    """y = x + s ε with ε ~ N(0, 1); ``scale`` is s.

    >>> gaussian_noise(torch.ones(3), scale=0.0)
    tensor([1., 1., 1.])
    """
    expect_float("x", x)
    _expect_scale(scale)
    return x + scale * _standard_normal(x, generator)


class GaussianNoise(nn.Module):
    """Noise on inputs or activations: y = x + s ε, ε ~ N(0, 1), in training; y = x in evaluation.

    Tap: ``noise`` (s ε), in training only.
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        _expect_scale(scale)
        self.scale = scale
        self.noise = Tap()

    @override
    def forward(self, x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        expect_float("x", x)
        if not self.training:
            return x
        noise = self.scale * _standard_normal(x)
        if self.noise.live:
            noise = self.noise(noise)
        return x + noise

    @override
    def extra_repr(self) -> str:
        return f"scale={self.scale}"


@contextmanager
def noisy_weights(module: nn.Module, scale: float, generator: torch.Generator | None = None) -> Iterator[None]:
    """Within the `with` block every parameter is W′ = W + s ε; afterwards it is W again, bit for bit.

    To train with it, run forward and backward inside and let the optimizer step outside: what is written to a parameter
    inside is lost. A backward pass left for outside raises, since autograd sees that the weights have changed.
    """
    _expect_scale(scale)
    clean = [(p, p.detach().clone()) for p in module.parameters() if p.is_floating_point()]
    try:
        with torch.no_grad():
            for p, _ in clean:
                p.add_(_standard_normal(p, generator), alpha=scale)
        yield
    finally:
        with torch.no_grad():
            for p, w in clean:
                p.copy_(w)


def flip_labels(
    labels: Int[Tensor, "*b"], rate: float, classes: int, generator: torch.Generator | None = None
) -> Int[Tensor, "*b"]:
    """y′ = y with probability 1 − rate, else one of the other classes, each with the same probability.

    >>> flip_labels(torch.tensor([0, 1, 1]), rate=1.0, classes=2)
    tensor([1, 0, 0])
    """
    expect_probability(rate=rate)
    _expect_classes(classes)
    _expect_labels(labels)
    flipped = torch.rand(labels.shape, generator=generator, device=labels.device) < rate
    # 1 to K − 1 places further round the circle of classes is any class but its own
    step = torch.randint(1, classes, labels.shape, generator=generator, device=labels.device)
    return torch.where(flipped, (labels + step) % classes, labels).to(labels.dtype)


def label_smoothing(
    targets: Int[Tensor, "*b"] | Float[Tensor, "*b k"], amount: float, classes: int | None = None
) -> Float[Tensor, "*b k"]:
    """q = (1 − a) p + a / K: targets that ask for no more certainty than ``amount`` a leaves.

    Targets are class numbers, p = onehot(y) with K = ``classes``, or already probabilities p over the last axis.

    >>> label_smoothing(torch.tensor([1, 0]), amount=0.4, classes=4)
    tensor([[0.1000, 0.7000, 0.1000, 0.1000],
            [0.7000, 0.1000, 0.1000, 0.1000]])
    """
    expect_probability(amount=amount)
    if targets.is_floating_point():
        p = targets
        if classes is not None:
            expect_width("targets", targets, classes)
    else:
        _expect_labels(targets)
        if classes is None:
            raise ValueError("label smoothing of class numbers needs classes, got none; pass classes=")
        _expect_classes(classes)
        p = nn.functional.one_hot(targets.long(), classes).to(torch.get_default_dtype())
    return (1 - amount) * p + amount / p.shape[-1]


def _standard_normal(x: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """ε in the shape of ``x``, drawn in float32 so that one seed means the same noise in every precision."""
    return torch.empty_like(x, dtype=torch.float32).normal_(generator=generator).to(x.dtype)


def _expect_scale(scale: float) -> None:
    if not scale >= 0:
        raise ValueError(f"scale must be 0 or above, got {scale}; it is the standard deviation of the noise")


def _expect_classes(classes: int) -> None:
    if classes < 2:
        raise ValueError(f"classes must be 2 or more, got {classes}; count the classes of the whole data set")


def _expect_labels(labels: Tensor) -> None:
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"labels must be class numbers, got {labels.dtype}; convert them with labels.long()")
