r"""Pooling: the largest value, or the mean, of a window, of a whole grid, or of a group of features.

    max             y_t = max_j x_{s·t + j}             j: the entries of a window, k along each axis
    mean            y_t = 1/|j| Σ_j x_{s·t + j}         a convolution whose weights are all 1/|j|
    global          y   = max_t x_t  or  1/n Σ_t x_t    one number for each channel, whatever the size of the image
    over features   y_g = max_{c ∈ group g} x_c         the same idea across channels: maxout

Grids are (…, channels, height, width), of one to three ``axes``; only windows that lie inside count, so that a rest at
the right or below is left out. LeCun et al. 1998 (mean); Ranzato et al. 2007 (max); Lin et al. 2014 (global);
Goodfellow et al. 2013 (maxout). Notes: N3 §6.3.
"""

import math
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_float, expect_positive, near_divisors
from cutaway.blocks.convolution.grids import Sizes, per_axis, shown
from cutaway.inside.taps import Tap
from cutaway.overriding import override

Pooling = Literal["max", "mean"]
POOLINGS: tuple[str, ...] = Pooling.__args__  # type: ignore[attr-defined]
_MAX = {1: nn.functional.max_pool1d, 2: nn.functional.max_pool2d, 3: nn.functional.max_pool3d}
_MEAN = {1: nn.functional.avg_pool1d, 2: nn.functional.avg_pool2d, 3: nn.functional.avg_pool3d}


def pool_grid_open(
    x: Float[Tensor, "..."], kernel: Sizes = 2, stride: Sizes | None = None, how: Pooling = "max", axes: int = 2
) -> Float[Tensor, "..."]:
    """y_t = max_j x_{s·t + j}, or the mean, written out: cut the windows, reduce each.

    >>> import torch
    >>> pool_grid_open(torch.tensor([[[1.0, 5, 2, 3], [0, 0, 9, 0]]]))
    tensor([[[5., 9.]]])
    """
    kernels, strides = _expect_windows(x, kernel, stride, how, axes)
    windows = x
    for axis, (k, s) in enumerate(zip(kernels, strides), start=x.ndim - axes):
        windows = windows.unfold(axis, k, s)  # a window's entries come last
    entries = windows.flatten(-axes)
    return entries.amax(-1) if how == "max" else entries.mean(-1)


def max_pool(
    x: Float[Tensor, "..."], kernel: Sizes = 2, stride: Sizes | None = None, axes: int = 2
) -> Float[Tensor, "..."]:
    """y_t = max_j x_{s·t + j}; windows lie side by side unless there is a ``stride``.

    >>> import torch
    >>> max_pool(torch.tensor([[[1.0, 5, 2, 3], [0, 0, 9, 0]]]))
    tensor([[[5., 9.]]])
    """
    return _pool(_MAX, x, *_expect_windows(x, kernel, stride, "max", axes))


def mean_pool(
    x: Float[Tensor, "..."], kernel: Sizes = 2, stride: Sizes | None = None, axes: int = 2
) -> Float[Tensor, "..."]:
    """y_t = 1/|j| Σ_j x_{s·t + j}; windows lie side by side unless there is a ``stride``.

    >>> import torch
    >>> mean_pool(torch.tensor([[[1.0, 5, 2, 3], [2, 0, 9, 0]]]))
    tensor([[[2.0000, 3.5000]]])
    """
    return _pool(_MEAN, x, *_expect_windows(x, kernel, stride, "mean", axes))


def global_pool(x: Float[Tensor, "..."], how: Pooling = "mean", axes: int = 2) -> Float[Tensor, "..."]:
    """y = 1/n Σ_t x_t, or max_t x_t: one number for each channel, whatever the size of the grid.

    >>> import torch
    >>> global_pool(torch.tensor([[[1.0, 5], [2, 0]], [[4, 4], [4, 4]]]), "max")
    tensor([5., 4.])
    """
    _expect_windows(x, 1, 1, how, axes)
    places = tuple(range(-axes, 0))
    return x.amax(places) if how == "max" else x.mean(places)


def pool_features(x: Float[Tensor, "..."], group: int, how: Pooling = "max", axis: int = -3) -> Float[Tensor, "..."]:
    """y_g = max_{c ∈ group g} x_c, or the mean: neighbouring features, ``group`` of them, become one.

    ``axis`` holds the features: -3 in images (…, channels, height, width), -1 in vectors.

    >>> import torch
    >>> pool_features(torch.tensor([1.0, 5, 2, 3]), 2, axis=-1)
    tensor([5., 3.])
    """
    expect_float("x", x)
    expect_choice("how", how, POOLINGS)
    expect_positive(group=group)
    if not -x.ndim <= axis < x.ndim or x.shape[axis] % group:
        features = x.shape[axis] if -x.ndim <= axis < x.ndim else 0
        raise ValueError(
            f"the features on axis {axis} must be a multiple of group={group}, got shape {tuple(x.shape)}; try "
            + (f"group={near_divisors(features, group)[0]}" if features else "another axis")
        )
    axis %= x.ndim
    parts = x.unflatten(axis, (-1, group))
    return parts.amax(axis + 1) if how == "max" else parts.mean(axis + 1)


class MaxPool2d(nn.Module):
    """The largest value of each window of an image: y_t = max_j x_{s·t + j}. Tap: ``output``."""

    def __init__(self, kernel: Sizes = 2, stride: Sizes | None = None) -> None:
        super().__init__()
        self.kernel = per_axis("kernel", kernel, 2)
        self.stride = self.kernel if stride is None else per_axis("stride", stride, 2)
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b c n m"]:
        y = max_pool(x, self.kernel, self.stride)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"kernel={shown(self.kernel)}, stride={shown(self.stride)}"


class MeanPool2d(nn.Module):
    """The mean of each window of an image: y_t = 1/|j| Σ_j x_{s·t + j}. Tap: ``output``."""

    convolved_axes: ClassVar[int] = 2  # declared for `as_dense`: it is linear
    channels_last: ClassVar[bool] = False

    def __init__(self, kernel: Sizes = 2, stride: Sizes | None = None) -> None:
        super().__init__()
        self.kernel = per_axis("kernel", kernel, 2)
        self.stride = self.kernel if stride is None else per_axis("stride", stride, 2)
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b c n m"]:
        y = mean_pool(x, self.kernel, self.stride)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"kernel={shown(self.kernel)}, stride={shown(self.stride)}"


def _pool(
    kernels: Mapping[int, Callable[..., Tensor]], x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    axes = len(kernel)
    rows = x.reshape(math.prod(x.shape[: -axes - 1]), *x.shape[-axes - 1 :])
    y = kernels[axes](rows, kernel, stride)
    return y.reshape(*x.shape[: -axes - 1], *y.shape[1:])


def _expect_windows(
    x: Tensor, kernel: Sizes, stride: Sizes | None, how: str, axes: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    expect_float("x", x)
    expect_choice("how", how, POOLINGS)
    if axes not in _MAX:
        raise ValueError(f"axes must be 1, 2 or 3, got {axes}; images have 2")
    kernels = per_axis("kernel", kernel, axes)
    strides = kernels if stride is None else per_axis("stride", stride, axes)
    if x.ndim <= axes or any(n < k for n, k in zip(x.shape[-axes:], kernels)):
        raise ValueError(
            f"x must have channels and {axes} axes of at least {shown(kernels)}, got shape {tuple(x.shape)}; "
            "try a smaller kernel"
        )
    return kernels, strides


__all__ = ["MaxPool2d", "MeanPool2d", "global_pool", "max_pool", "mean_pool", "pool_features", "pool_grid_open"]
