r"""A tensor in a few numbers: mean μ, deviation σ, extremes, norm √Σx², the share of zeros, what is not finite."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from cutaway.inside.tensor_layouts import dense


class Statistics(NamedTuple):
    """Over the finite entries; None where there are none (or where numbers have no order)."""

    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    norm: float | None
    zeros: float  # share of entries that are exactly 0
    nans: int
    infinities: int

    @classmethod
    def of(cls, x: Tensor) -> "Statistics":
        """The statistics of a tensor of any kind.

        >>> Statistics.of(torch.tensor([0.0, 3.0, 4.0, torch.inf])).norm
        5.0
        """
        x = dense(x.detach()).flatten()
        if x.is_complex():
            x = x.abs()
        n = x.numel()
        zeros = int((x == 0).sum()) / n if n else 0.0
        if not x.is_floating_point():
            x = x.double()
        elif x.dtype.itemsize < 4:
            x = x.float()
        nans, infinities = int(x.isnan().sum()), int(x.isinf().sum())
        if nans or infinities:
            x = x[x.isfinite()]
        if not x.numel():
            return cls(None, None, None, None, None, zeros, nans, infinities)
        # the norm in float64: squares of float32 may overflow
        norm = float(torch.linalg.vector_norm(x, dtype=torch.float64))
        return cls(
            float(x.mean()), float(x.std(correction=0)), float(x.min()), float(x.max()), norm, zeros, nans, infinities
        )

    def rounded(self, digits: int = 6) -> dict[str, Any]:
        """For JSON: few digits, and None for what is no number."""
        short = lambda v: float(f"{v:.{digits}g}") if isinstance(v, float) and math.isfinite(v) else None
        return {k: v if isinstance(v, int) else short(v) for k, v in self._asdict().items()}


__all__ = ["Statistics"]
