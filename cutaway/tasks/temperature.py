r"""A temperature makes a model as sure as it is right: one number, which leaves every answer as it is.

    p = softmax(z / T)          T = argmin  mean −Σ_c t_c log softmax(z / T)_c

z are logits of examples that were not learned from. The targets t are those of Platt 1999: not 1 for the true class but
(n + 1) / (n + 2) of n examples, so that a few right answers do not make a model certain. T is part of the weights
of the last layer afterwards (W / T, b / T). Guo et al. 2017.
"""

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

_LOWEST, _HIGHEST = -4.0, 4.0  # of log T
_STEPS, _ROUNDS = 33, 4  # a grid, then a finer one about its best
_NUMBERS = 2_000_000  # logits that it is fitted to, at most
FEW = 20  # examples, below which a temperature would be chance


def find_temperature(logits: Float[Tensor, "n c"], labels: Int[Tensor, "n"]) -> float:
    """The T by which these labels are most likely: above 1 where the logits are too sure.

    >>> import torch
    >>> z = torch.tensor([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 0.0]]).repeat(50, 1)  # p = 0.98, right in 3 of 4
    >>> T = find_temperature(z, torch.tensor([0, 0, 1, 1]).repeat(50))
    >>> round((z[0] / T).softmax(-1)[0].item(), 2)
    0.75
    """
    step = -(-logits.numel() // _NUMBERS)  # more examples change little
    z, labels = logits.detach()[::step].double(), labels[::step]
    smooth, classes = 1 / (len(labels) + 2), z.shape[1]
    # ε of the target is spread over the other classes; label_smoothing spreads it over all.
    smooth = min(smooth * classes / max(classes - 1, 1), 1.0)

    def cost(log_t: float) -> float:
        return nn.functional.cross_entropy(z / float(np.exp(log_t)), labels, label_smoothing=smooth).item()

    low, high, best = _LOWEST, _HIGHEST, 0.0
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _STEPS)
        best = float(min(grid, key=cost))
        width = grid[1] - grid[0]
        low, high = best - width, best + width
    found = float(np.exp(best))
    plain = [nn.functional.cross_entropy(z / t, labels).item() for t in (found, 1.0)]
    return found if plain[0] < plain[1] else 1.0


__all__ = ["FEW", "find_temperature"]
