r"""Convolution as a dense layer whose matrix has structure: zeros off the band, and equal weights along it.

        ⎡a₁         ⎤
        ⎢a₂ a₁      ⎥       y = x W,  W_{ij} = a_{i−j+1},  else 0
    W = ⎢a₃ a₂ a₁   ⎥
        ⎢   a₃ a₂  ⋱⎥       three taps, stride 1, no padding: d inputs, d − 2 outputs, 3 weights
        ⎣      a₃  ⋱⎦

Rows are inputs here (`x @ W`); N0 shows the transpose, A = Wᵀ, for columns A x. In 2-D and 3-D, and with many channels,
W has a band of bands (block-Toeplitz). LeCun et al. 1989; Goodfellow, Bengio, Courville 2016, §9.1. Notes: N0 §1.1.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from cutaway.blocks.dense.affine import Linear

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def linear_of(weight: Float[Tensor, "i o"], bias: Float[Tensor, "o"] | None = None) -> Linear:
    """The layer y = x W + b of given weights, in their dtype and on their device. Draws no random numbers."""
    inputs, outputs = weight.shape
    with torch.device("meta"):
        layer = Linear(inputs, outputs, bias=bias is not None)
    layer.weight = nn.Parameter(weight.detach().clone())
    layer.bias = None if bias is None else nn.Parameter(bias.detach().clone())
    return layer


def as_dense(conv: nn.Module, size: int | Sequence[int]) -> Linear:
    """The dense layer that does to flattened inputs what ``conv`` does to them, of any stride, groups and padding.

    conv(x).flatten() = x.flatten() W + b

    ``conv`` is an nn.Conv1d, Conv2d or Conv3d, or a transposed one, and x of shape (channels, *size); or it is one of
    ours (`cut.blocks.Conv1d`), and x of shape (*size, channels). ``size`` is an int where all its axes are equal.

    >>> conv = nn.Conv1d(1, 1, kernel_size=3, bias=False)
    >>> conv.weight.data = torch.tensor([[[1.0, 2.0, 3.0]]])
    >>> as_dense(conv, size=5).weight.data.T  # N0's A
    tensor([[1., 2., 3., 0., 0.],
            [0., 1., 2., 3., 0.],
            [0., 0., 1., 2., 3.]])
    """
    rows, zero = _images(conv, size, conv.get_parameter("weight"))
    return linear_of(rows, None if conv.bias is None else zero)


class Sharing(NamedTuple):
    """How few weights a convolution has: the entries of its matrix, those inside the band, and its free weights."""

    entries: int
    connections: int
    weights: int


def weight_sharing(conv: nn.Module, size: int | Sequence[int]) -> Sharing:
    """The saving of local, shared weights: entries ≥ connections ≥ weights of the matrix W in y = x W (no biases).

    >>> weight_sharing(nn.Conv1d(1, 1, kernel_size=3), size=100)  # 98 outputs that read three inputs each
    Sharing(entries=9800, connections=294, weights=3)
    """
    weight = conv.get_parameter("weight")
    ones, _ = _images(conv, size, torch.ones_like(weight))
    return Sharing(ones.numel(), int(ones.count_nonzero()), weight.numel())


def _images(conv: nn.Module, size: int | Sequence[int], weight: Tensor) -> tuple[Tensor, Tensor]:
    """An affine map is known by what it does to the unit vectors (less b, the rows of W) and to zero (b)."""
    ours = hasattr(conv, "convolved_axes")  # declared by a convolution of Cutaway's, whose channels come last
    if not ours and not isinstance(conv, CONVOLUTIONS):
        raise ValueError(
            f"conv must be a convolution, got {type(conv).__name__}; pass one of Cutaway's or of torch.nn's "
            f"{', '.join(kind.__name__ for kind in CONVOLUTIONS)}"
        )
    axes = weight.ndim - 2
    size = (size,) * axes if isinstance(size, int) else tuple(size)
    if len(size) != axes or min(size) < 1:
        raise ValueError(
            f"size must give the length of each of {axes} axes, got size={size} for {type(conv).__name__}; "
            "leave out batch and channels"
        )
    channels: Any = conv.inputs if ours else conv.in_channels
    shape = (*size, channels) if ours else (channels, *size)
    basis = torch.eye(math.prod(shape), dtype=weight.dtype, device=weight.device).reshape(-1, *shape)
    # b is set to zero and not subtracted afterwards: (w + b) − b is rounded
    bias: Any = conv.bias
    parameters = {"weight": weight} | ({} if bias is None else {"bias": torch.zeros_like(bias)})
    with torch.no_grad():
        try:
            return functional_call(conv, parameters, basis).flatten(1), conv(torch.zeros_like(basis[0])).flatten()
        except RuntimeError as error:
            raise ValueError(
                f"the padded input must hold the kernel, got size={size} for kernel_size={tuple(weight.shape[2:])}, "
                f"padding={conv.padding}; try a larger size ({error})"
            ) from None
