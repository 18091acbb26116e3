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
    x = x.detach().double()
    mean, spread = x.mean(0), x.std(0, correction=0)
    spread = torch.where(spread > _SPREAD, spread.clamp(min=least_spread * spread.mean()), 1.0)
    x = (x - mean) / spread
    w = torch.zeros(x.shape[1], classes, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([w, b], max_iter=_ITERATIONS, tolerance_grad=1e-6, line_search_fn="strong_wolfe")

    def cost() -> Tensor:
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = nn.functional.cross_entropy(x @ w + b, y) + w.square().sum() / (2 * strength * len(x))
            loss.backward()
        return loss

    optimizer.step(cost)
    return LinearProbe(mean, spread, w.detach(), b.detach())


__all__ = ["LinearProbe", "fit_probe"]
