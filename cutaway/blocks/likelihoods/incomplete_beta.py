r"""The regularised incomplete beta function, which the distribution functions of Student's t and of counts are made of.

    I_x(a, b) = 1 / B(a, b) · ∫₀ˣ t^(a−1) (1 − t)^(b−1) dt
              = x^a (1 − x)^b / (a B(a, b)) · 1 / (1 + d₁/(1 + d₂/(1 + …)))       for x < (a+1) / (a+b+2)
    d₂ₘ = m (b−m) x / ((a+2m−1)(a+2m)),   d₂ₘ₊₁ = −(a+m)(a+b+m) x / ((a+2m)(a+2m+1))
    I_x(a, b) = 1 − I_{1−x}(b, a)                                                  else

The continued fraction by Lentz's method: Abramowitz, Stegun 1964, 26.5.8; Press et al. 2007, §6.4.
"""

import torch
from jaxtyping import Float
from torch import Tensor

_TERMS = 200  # pairs at most; a few dozen are enough unless a and b are huge
_TINY = 1e-30


def incomplete_beta(x: Float[Tensor, "..."], a: Tensor | float, b: Tensor | float) -> Float[Tensor, "..."]:
    r"""I_x(a, b): the probability that a Beta(a, b) variable is at most x, in float64 inside.

    >>> incomplete_beta(torch.tensor(0.25), 1.0, 1.0)  # uniform
    tensor(0.2500)
    """
    numbers = (torch.as_tensor(v, dtype=torch.float64, device=x.device) for v in (x, a, b))
    x64, a64, b64 = torch.broadcast_tensors(*numbers)
    flip = x64 > (a64 + 1) / (a64 + b64 + 2)
    z, p, q = torch.where(flip, 1 - x64, x64), torch.where(flip, b64, a64), torch.where(flip, a64, b64)
    front = p * z.log() + q * torch.log1p(-z) + torch.lgamma(p + q) - torch.lgamma(p) - torch.lgamma(q)
    tail = (front.exp() / p * _fraction(z, p, q)).clamp(0, 1)
    tail = torch.where(z <= 0, 0.0, tail)
    return torch.where(flip, 1 - tail, tail).to(x.dtype)


def _fraction(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    c = torch.ones_like(x)
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    h = d
    for m in range(1, _TERMS + 1):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + step * d)
            c = _away_from_zero(1 + step / c)
            h = h * c * d
        if bool(((c * d - 1).abs() < 1e-14).all()):
            break
    return h


def _away_from_zero(x: Tensor) -> Tensor:
    return torch.where(x.abs() < _TINY, _TINY, x)
