r"""Running scales: how large errors and steps of a series were of late, near and far.

    S_h(t) = (Σ_{s<t} 2^{−(t−1−s)/h} |r_s| + u) / (Σ_{s<t} 2^{−(t−1−s)/h} + 1)          half-life h, in steps

r are the errors of the linear expert, u their mean over the whole series: one observation of it is counted in, so that
the beginning of a series has a scale too. This is the running variance of finance (RiskMetrics 1996; Engle 1982,
Bollerslev 1986 for its use as a forecast of the spread), with absolute values, which outliers move less.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

ERRORS = (4.0, 16.0, 64.0, 256.0)  # half-lives of |errors of the expert|
STEPS = (64.0,)  # of |z_t − z_{t−1}|
TRENDS = (16.0,)  # of z_t − z_{t−1}
LEVELS = (4.0, 16.0)  # of z_t
HALF_LIVES = (*ERRORS, *STEPS, *TRENDS, *LEVELS)
BURN = 256  # steps before the first modelled one from which running scales are taken


class Running(NamedTuple):
    """Decayed sums and the decayed counts that they are divided by, one of each for every half-life."""

    sums: Float[Tensor, "*b j"]
    counts: Float[Tensor, "*b j"]

    def values(self, prior: Float[Tensor, "*b j"]) -> Float[Tensor, "*b j"]:
        """The running means, with one observation of the prior."""
        return (self.sums + prior) / (self.counts + 1)

    def extended(self, new: Float[Tensor, "*b j"]) -> "Running":
        """The sums after one more step."""
        keep = decays(new)
        return Running(self.sums * keep + new, self.counts * keep + 1)


def decays(like: Tensor) -> Float[Tensor, "j"]:
    """2^{−1/h} of every half-life."""
    return torch.tensor([0.5 ** (1 / h) for h in HALF_LIVES], dtype=like.dtype, device=like.device)


def observations(
    error: Float[Tensor, "*b"], step: Float[Tensor, "*b"], level: Float[Tensor, "*b"]
) -> Float[Tensor, "*b j"]:
    """What one step adds to each of the sums."""
    kinds = ((error.abs(), ERRORS), (step.abs(), STEPS), (step, TRENDS), (level, LEVELS))
    return torch.stack([x for x, lives in kinds for _ in lives], -1)


def running(new: Float[Tensor, "b n j"], weights: Float[Tensor, "b n"], steps: int) -> Running:
    """The sums before each of the last ``steps`` steps: one product with a triangular matrix for each half-life.

    ``weights`` are 1 for values that are there, 0 for missing ones. Step i sees those before it alone.
    """
    n = new.shape[1]
    compiling = torch.compiler.is_compiling()
    kernel = _kernel(n, steps, new) if compiling else _kept_kernel(n, steps, new.dtype, new.device)
    weighted = torch.where(weights[..., None] > 0, new, 0.0)
    return Running(torch.einsum("bnj,jnt->btj", weighted, kernel), torch.einsum("bn,jnt->btj", weights, kernel))


def _kernel(n: int, steps: int, like: Tensor) -> Float[Tensor, "j n t"]:
    """What a value of step s weighs in the sums before step t."""
    ages = torch.arange(n - steps, n, device=like.device) - 1 - torch.arange(n, device=like.device)[:, None]
    return torch.where(ages >= 0, decays(like)[:, None, None] ** ages.clamp(min=0), 0.0)


@lru_cache(maxsize=4)
def _kept_kernel(n: int, steps: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "j n t"]:
    """The same for every batch of a training, so it is made once."""
    return _kernel(n, steps, torch.empty(0, dtype=dtype, device=device))
