r"""The maximum mean discrepancy (MMD): how far apart two sets of samples are, seen through a kernel.

    MMD² = mean k(x, x′) + mean k(y, y′) − 2 mean k(x, y)          0 if both sets are the same
    k(p, q) = exp(−W(p, q) / σ)                                    of two histograms on a line
    W(p, q) = Σ_b |P_b − Q_b| · width                              earth mover's distance; P, Q: their running sums

Gretton et al. 2012 (MMD, eq. 5, biased: never below 0); You et al. 2018 judge generated graphs so, by histograms of
degrees and clustering. They take exp(−W² / 2σ²), which is no positive definite kernel, so that their MMD² may be below
0; exp(−W / σ) is one, since W on a line is an L1 distance. The two are not comparable.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width


def earth_movers_distances(
    p: Float[Tensor, "n b"], q: Float[Tensor, "m b"], width: float = 1.0
) -> Float[Tensor, "n m"]:
    r"""The earth mover's distance of every histogram of ``p`` to every one of ``q``, over bins ``width`` apart.

        W(p, q) = Σ_b |P_b − Q_b| · width,   P_b = Σ_{c ≤ b} p_c

    Each histogram sums to 1.

    >>> earth_movers_distances(torch.eye(3)[:1], torch.eye(3))  # one unit of earth, 0, 1 and 2 bins away
    tensor([[0., 1., 2.]])
    """
    expect_float("p", p)
    expect_width("q", q, p.shape[-1])
    return torch.cdist(p.cumsum(-1), q.cumsum(-1), p=1.0) * width


def histogram_mmd(
    p: Float[Tensor, "n b"], q: Float[Tensor, "m b"], scale: float = 1.0, width: float = 1.0
) -> Float[Tensor, ""]:
    r"""The squared MMD of two sets of histograms.

        MMD² = mean k(p, p′) + mean k(q, q′) − 2 mean k(p, q),   k = exp(−W / σ)

    ``scale`` is σ, in the unit that bins are ``width`` apart in.

    >>> bins = torch.eye(2)
    >>> round(float(histogram_mmd(bins[:1], bins[1:])), 4)  # 2 − 2 / e
    1.2642
    """
    mean = lambda one, other: torch.exp(-earth_movers_distances(one, other, width) / scale).mean()
    return (mean(p, p) + mean(q, q) - 2 * mean(p, q)).clamp(min=0)


__all__ = ["earth_movers_distances", "histogram_mmd"]
