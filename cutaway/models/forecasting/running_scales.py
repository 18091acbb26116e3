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

    sums: Float[Tensor, "j *b"]
    counts: Float[Tensor, "j *b"]

    def values(self, prior: Float[Tensor, "j *b"]) -> Float[Tensor, "j *b"]:
        """The running means, with one observation of the prior."""
        return (self.sums + prior) / (self.counts + 1)

    def extended(self, new: Float[Tensor, "j *b"]) -> "Running":
        """The sums after one more step."""
        keep = decays(new).view(-1, *[1] * (new.ndim - 1))
        return Running(self.sums * keep + new, self.counts * keep + 1)


def decays(like: Tensor) -> Float[Tensor, "j"]:
    """2^{−1/h} of every half-life."""
    return torch.tensor([0.5 ** (1 / h) for h in HALF_LIVES], dtype=like.dtype, device=like.device)


def observations(
    error: Float[Tensor, "*b"], step: Float[Tensor, "*b"], level: Float[Tensor, "*b"]
) -> Float[Tensor, "j *b"]:
    """What one step adds to each of the sums."""
    kinds = ((error.abs(), ERRORS), (step.abs(), STEPS), (step, TRENDS), (level, LEVELS))
    return torch.stack([x for x, lives in kinds for _ in lives])


def running(new: Float[Tensor, "j b n"], weights: Float[Tensor, "b n"], steps: int) -> Running:
    """The sums before each of the last ``steps`` steps, (j, b, steps).

    ``weights`` are 1 for values that are there, 0 for missing ones. Step i sees those before it alone. What came
    before the last steps is one number a half-life, which fades; what comes in them, a product with a triangle.
    """
    compiling = torch.compiler.is_compiling()
    early = new.shape[-1] - steps
    before, fading, triangle = (
        _powers(early, steps, new) if compiling else _kept_powers(early, steps, new.dtype, new.device)
    )
    weighted = torch.where(weights > 0, new, 0.0)
    counted = weights.expand_as(new)

    def decayed(x: Tensor) -> Tensor:
        past = x[..., :early] @ before
        return torch.baddbmm(past * fading, x[..., early:], triangle)

    return Running(decayed(weighted), decayed(counted))


def _powers(
    early: int, steps: int, like: Tensor
) -> tuple[Float[Tensor, "j e 1"], Float[Tensor, "j 1 t"], Float[Tensor, "j t t"]]:
    """What early values weigh before the first of the last steps, how that fades, and what the last values weigh."""
    decay = decays(like)[:, None, None]
    count = torch.arange(max(early, steps), device=like.device)
    ages = count[:steps] - 1 - count[:steps, None]
    triangle = torch.where(ages >= 0, decay ** ages.clamp(min=0), 0.0)
    return decay ** count[:early].flip(0)[:, None], decay ** count[:steps], triangle


@lru_cache(maxsize=4)
def _kept_powers(early: int, steps: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The same for every batch of a training, so they are made once."""
    return _powers(early, steps, torch.empty(0, dtype=dtype, device=device))
