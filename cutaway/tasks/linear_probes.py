r"""A linear probe: how well a linear map tells classes from frozen vectors. It measures what pretraining has learned.

    x ← (x − μ) / σ                                            by the training vectors
    W, b = argmin  mean −log softmax(x W + b)_y + ‖W‖² / (2 C n)

It is scikit-learn's logistic regression, in torch. Alain, Bengio 2017; Chen et al. 2020, §2.2 (linear evaluation).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

_ITERATIONS = 200
_SPREAD = 1e-8  # of a feature that never changes


class LinearProbe(NamedTuple):
    """A linear map on standardised vectors."""

    mean: Float[Tensor, "d"]
    spread: Float[Tensor, "d"]
    weight: Float[Tensor, "d k"]
    bias: Float[Tensor, "k"]

    def logits(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        return (x.double() - self.mean) / self.spread @ self.weight + self.bias

    def accuracy(self, x: Float[Tensor, "n d"], y: Int[Tensor, "n"]) -> float:
        """The share of vectors whose class it tells."""
        return (self.logits(x).argmax(1) == y).double().mean().item()


def fit_probe(
    x: Float[Tensor, "n d"], y: Int[Tensor, "n"], classes: int, strength: float = 0.1, least_spread: float = 0.0
) -> LinearProbe:
    """The probe of some vectors and their classes; ``strength`` is C: a small one holds the weights small.

    Features whose spread is below ``least_spread``, a share of the mean one, are divided by that share.
    """
    x, mean, spread = standardise(x, least_spread)
    return LinearProbe(mean, spread, *solve_logistic(x, y, classes, strength))


def standardise(
    x: Float[Tensor, "n d"], least_spread: float = 0.0
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "d"], Float[Tensor, "d"]]:
    """Vectors of mean 0 and spread 1, in double precision, with the mean and the spread that they had."""
    x = x.detach().double()
    mean, spread = x.mean(0), x.std(0, correction=0)
    spread = torch.where(spread > _SPREAD, spread.clamp(min=least_spread * spread.mean()), 1.0)
    return (x - mean) / spread, mean, spread


class LogisticFit(NamedTuple):
    """The weights and biases of a logistic regression."""

    weight: Float[Tensor, "d k"]
    bias: Float[Tensor, "k"]


def solve_logistic(
    x: Float[Tensor, "n d"],
    y: Int[Tensor, "n"],
    classes: int,
    strength: float,
    start: LogisticFit | None = None,
    offsets: Float[Tensor, "n k"] | None = None,
    with_bias: bool = True,
    close: float = 1e-6,
) -> LogisticFit:
    """W and b of the cost above, for vectors in double precision.

    ``start`` is where to begin, as the answer for another strength; ``offsets`` are added to the logits. It ends where
    no slope is above ``close``.
    """
    w = torch.zeros(x.shape[1], classes, dtype=torch.float64) if start is None else start.weight.clone()
    b = torch.zeros(classes, dtype=torch.float64) if start is None else start.bias.clone()
    known = 0.0 if offsets is None else offsets
    learned = [w.requires_grad_(), b.requires_grad_()] if with_bias else [w.requires_grad_()]
    optimizer = torch.optim.LBFGS(learned, max_iter=_ITERATIONS, tolerance_grad=close, line_search_fn="strong_wolfe")

    def cost() -> Tensor:
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = nn.functional.cross_entropy(x @ w + b + known, y) + w.square().sum() / (2 * strength * len(x))
            loss.backward()
        return loss

    optimizer.step(cost)
    return LogisticFit(w.detach(), b.detach())


__all__ = ["LinearProbe", "LogisticFit", "fit_probe", "solve_logistic", "standardise"]
