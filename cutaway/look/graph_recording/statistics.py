r"""Statistics of a tensor: mean μ, deviation σ, extremes, norm √Σx², the share of zeros, how many are not finite."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from cutaway.inside.tensor_layouts import dense

LARGE = 1 << 16  # entries from which sums are taken row by row
_ROW = 4096
_SAFE = (1e-12, 1e12)  # extremes between which squares in float32 neither vanish nor overflow


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
        x = flat(dense(x.detach()))
        if x.is_complex():
            x = x.abs()
        n = x.numel()
        zeros = (n - int(torch.count_nonzero(x))) / n if n else 0.0
        if not x.is_floating_point():
            x = x.double()
        elif x.dtype.itemsize < 4:
            x = x.float()
        if n >= LARGE and (quick := cls._of_large(x, zeros)) is not None:
            return quick
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

    @classmethod
    def _of_large(cls, x: Tensor, zeros: float) -> "Statistics | None":
        """The same by fast kernels; None where they would not be exact: extreme numbers, or some that are not finite.

        Sums over rows in the tensor's own type, over all rows in float64:  σ² = Σx²/n − μ²
        """
        low, high = (float(end) for end in x.aminmax())
        size = max(-low, high)
        if not (size == 0.0 or _SAFE[0] < size < _SAFE[1]):  # also where it is NaN
            return None
        n = x.numel()
        square = norm(x) ** 2
        mean = sum(float(part.sum(-1).double().sum()) for part in _rows(x)) / n
        variance = square / n - mean * mean
        if variance < 1e-4 * mean * mean:  # a difference of two large numbers
            variance = float(x.var(correction=0))
        return cls(mean, math.sqrt(max(variance, 0.0)), low, high, math.sqrt(square), zeros, 0, 0)

    def rounded(self, digits: int = 6) -> dict[str, Any]:
        """For JSON: few digits, and None for what is no number."""
        short = lambda v: float(f"{v:.{digits}g}") if isinstance(v, float) and math.isfinite(v) else None
        return {k: v if isinstance(v, int) else short(v) for k, v in self._asdict().items()}


def norm(x: Tensor) -> float:
    """√Σ|x|², of a tensor of any kind; large ones by rows, whose squares are summed in float64."""
    x = flat(dense(x.detach()))
    if x.numel() < LARGE or x.dtype not in (torch.float32, torch.float64):
        wide = x if x.is_floating_point() or x.is_complex() else x.double()
        exact = torch.complex128 if x.is_complex() else torch.float64
        return float(torch.linalg.vector_norm(wide, dtype=exact))
    total = sum(float(torch.linalg.vector_norm(part, dim=-1).double().square().sum()) for part in _rows(x))
    if math.isfinite(total) and total > _SAFE[0] ** 2:
        return math.sqrt(total)
    return float(torch.linalg.vector_norm(x, dtype=torch.float64))


def _rows(x: Tensor) -> list[Tensor]:
    whole = x.numel() // _ROW * _ROW
    return [x[:whole].view(-1, _ROW), x[whole:]]


def flat(x: Tensor) -> Tensor:
    """All entries in one row, in the order of memory where that takes no copy: a transposed matrix as it lies."""
    strides = x.stride()
    order = sorted(range(x.ndim), key=lambda axis: strides[axis], reverse=True)
    lying = x.permute(order)
    return lying.reshape(-1) if lying.is_contiguous() else x.reshape(-1)


__all__ = ["Statistics", "flat", "norm"]
