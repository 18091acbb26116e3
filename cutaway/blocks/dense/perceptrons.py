r"""The perceptron: threshold units on a weighted sum, and Rosenblatt's rule that learns them from examples.

    ŷ = threshold(x W + b)
    W ← W + ε xᵀ(y − ŷ),  b ← b + ε (y − ŷ)        learning rule: nothing happens without a mistake

Started at 0 it makes at most (R/γ)² mistakes on data of radius R that a hyperplane separates by the margin γ, in any
order and for ever (Novikoff 1962). Where no hyperplane separates the classes, as in XOR, it never comes to rest.
Rosenblatt 1958; Novikoff 1962; Minsky, Papert 1969. Notes: N3 §2.4.2–2.4.3.
"""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from cutaway.blocks.checks import expect_items, expect_positive
from cutaway.blocks.dense.affine import linear
from cutaway.blocks.dense.neurons import threshold
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def perceptron_step(
    weight: Float[Tensor, "i o"],
    bias: Float[Tensor, "o"],
    x: Float[Tensor, "i"],
    y: Float[Tensor, "o"],
    rate: float = 1.0,
) -> tuple[Float[Tensor, "i o"], Float[Tensor, "o"]]:
    r"""The perceptron's weights after it has seen one example, with targets y of 0 or 1.

        W ← W + ε xᵀ(y − ŷ),  b ← b + ε (y − ŷ),  ŷ = threshold(x W + b)

    >>> W, b = perceptron_step(torch.zeros(2, 1), torch.zeros(1), x=torch.tensor([1.0, 2.0]), y=torch.tensor([0.0]))
    >>> W.T, b  # 0 is no negative sum, so it said 1, and the example is taken off
    (tensor([[-1., -2.]]), tensor([-1.]))
    """
    step = rate * (y - threshold(linear(x, weight, bias)))
    return weight + torch.outer(x, step), bias + step


class Perceptron(nn.Module):
    r"""Threshold units without a hidden layer, which start at 0 and learn by their own rule, `fit`.

        ŷ = threshold(x W + b)

    Several ``outputs`` are as many perceptrons side by side: each learns its own yes or no, they do not agree on one
    class of many. Gradients pass straight through the threshold. Taps: ``sums`` (x W + b) and ``output`` (ŷ).
    Rosenblatt 1958. Notes: N3 §2.4.2–2.4.3.
    """

    def __init__(self, inputs: int, outputs: int = 1) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs)
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        self.sums = Tap()
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        s = linear(x, self.weight, self.bias)
        if self.sums.live:
            s = self.sums(s)
        y = threshold(s)
        if self.output.live:
            y = self.output(y)
        return y

    @torch.no_grad()
    def fit(
        self, x: Float[Tensor, "n i"], y: Shaped[Tensor, "n *o"], epochs: int = 100, rate: float = 1.0
    ) -> list[int]:
        """Goes through the examples in their order until an epoch has no mistake; returns the mistakes per epoch.

        ``y`` holds 0 and 1, one row per example (for one output also one number). A last entry of 0 means that all
        examples are separated; it continues from the weights that are there.
        """
        expect_positive(epochs=epochs, rate=rate)
        expect_items("x", x)
        W: Tensor = self.weight
        b: Tensor = self.bias
        targets = _as_targets(y, len(x), len(b)).to(x.dtype)
        if not x.isfinite().all():
            raise ValueError(f"x must be finite, got {x[~x.isfinite()][0].item()}; leave such examples out")
        mistakes: list[int] = []
        while len(mistakes) < epochs and (not mistakes or mistakes[-1]):
            mistakes.append(0)
            for row, target in zip(x, targets):
                wrong = int((threshold(linear(row, W, b)) != target).sum())
                if wrong:
                    mistakes[-1] += wrong
                    W, b = perceptron_step(W, b, row, target, rate)
        self.weight.copy_(W)
        self.bias.copy_(b)
        return mistakes

    @override
    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]} → {self.weight.shape[1]}"


def _as_targets(y: Tensor, examples: int, outputs: int) -> Tensor:
    targets = y.unsqueeze(-1) if y.ndim == 1 else y
    if targets.shape != (examples, outputs):
        raise ValueError(
            f"y must have one row per example and one entry per output, got shape {tuple(y.shape)} for {examples} "
            f"examples and outputs={outputs}; give it shape ({examples}, {outputs})"
        )
    strange = targets[(targets != 0) & (targets != 1)]
    if strange.numel():
        raise ValueError(
            f"targets must be 0 or 1, got {strange[0].item():g}; labels of −1 and 1 become these by (y > 0)"
        )
    return targets
