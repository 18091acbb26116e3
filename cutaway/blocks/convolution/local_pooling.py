r"""Pooling over windows of time: a shorter sequence that keeps the largest value, or the mean, of each window.

    max     y_t = max_j x_{s·t + j}              j = 0 … k−1, only windows that lie inside
    mean    y_t = 1/k Σ_j x_{s·t + j}

Sequences are (…, steps, channels). With ``lengths``, windows that reach beyond a row's end count its real steps alone,
so that a row is pooled as if it came alone; a window that begins after the end is 0. To make one vector of a whole
sequence see `pool_max` and `pool_mean`. LeCun et al. 1998 (mean); Ranzato et al. 2007 (max). Notes: N3 §6.3.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import Lengths, as_lengths, expect_float, expect_positive
from cutaway.blocks.convolution.one_dimensional import step_mask


def max_pool_steps(
    x: Float[Tensor, "*b t w"], kernel: int = 2, stride: int | None = None, lengths: Lengths | None = None
) -> Float[Tensor, "*b n w"]:
    """y_t = max_j x_{s·t + j}; windows lie side by side unless there is a ``stride``.

    >>> max_pool_steps(torch.tensor([[1.0], [5.0], [2.0], [3.0]])).squeeze()
    tensor([5., 3.])
    """
    windows, real = _windows(x, kernel, stride, lengths)
    y = windows.masked_fill(~real, -torch.inf).amax(-1)
    return y.masked_fill(~real.any(-1), 0.0)


def mean_pool_steps(
    x: Float[Tensor, "*b t w"], kernel: int = 2, stride: int | None = None, lengths: Lengths | None = None
) -> Float[Tensor, "*b n w"]:
    """y_t = 1/k Σ_j x_{s·t + j}, over the real steps of a window.

    >>> mean_pool_steps(torch.tensor([[1.0], [5.0], [2.0], [3.0]])).squeeze()
    tensor([3.0000, 2.5000])
    """
    windows, real = _windows(x, kernel, stride, lengths)
    return windows.masked_fill(~real, 0.0).sum(-1) / real.sum(-1).clamp(min=1)


def _windows(x: Tensor, kernel: int, stride: int | None, lengths: Lengths | None) -> tuple[Tensor, Tensor]:
    """The windows (…, n, w, k), and which of their entries are real (…, n, 1, k)."""
    expect_float("x", x)
    stride = kernel if stride is None else stride
    expect_positive(kernel=kernel, stride=stride)
    if x.ndim < 2 or x.shape[-2] < kernel:
        raise ValueError(
            f"x must have shape (..., steps, channels) with at least kernel={kernel} steps, got {tuple(x.shape)}; "
            "try a smaller kernel"
        )
    steps = x.shape[-2]
    mask = torch.ones(steps, dtype=torch.bool, device=x.device)
    if lengths is not None:
        mask = step_mask(as_lengths(lengths, x.shape[:-2], steps).to(x.device), steps)
    return x.unfold(-2, kernel, stride), mask.unfold(-1, kernel, stride)[..., None, :]


__all__ = ["max_pool_steps", "mean_pool_steps"]
