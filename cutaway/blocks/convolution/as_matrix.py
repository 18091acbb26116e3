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
from collections.abc import Callable, Sequence
from typing import NamedTuple

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


def as_dense(conv: nn.Module, size: int | Sequence[int], channels: int | None = None) -> Linear:
    """The dense layer that does to flattened inputs what ``conv`` does to them, of any stride, groups and padding.

    conv(x).flatten() = x.flatten() W + b

    ``conv`` is an nn.Conv1d, Conv2d or Conv3d, a transposed one, or a linear layer of ours (`cut.blocks.Conv1d` to
    `Conv3d`, `TransposedConv1d` to `TransposedConv3d`, `SeparableConv2d`, `MeanPool2d`). x has shape (channels, *size),
    for our two of sequences (*size, channels). ``size`` is an int where all its axes are equal; ``channels`` is needed
    where the layer takes any number.

    >>> conv = nn.Conv1d(1, 1, kernel_size=3, bias=False)
    >>> conv.weight.data = torch.tensor([[[1.0, 2.0, 3.0]]])
    >>> as_dense(conv, size=5).weight.data.T  # N0's A
    tensor([[1., 2., 3., 0., 0.],
            [0., 1., 2., 3., 0.],
            [0., 0., 1., 2., 3.]])
    """
    rows, zero = _images(conv, size, channels, lambda x: x)
    return linear_of(rows, zero if any(_is_bias(name) for name, _ in conv.named_parameters()) else None)


class Sharing(NamedTuple):
    """How few weights a convolution has: the entries of its matrix, those inside the band, and its free weights."""

    entries: int
    connections: int
    weights: int


def weight_sharing(conv: nn.Module, size: int | Sequence[int], channels: int | None = None) -> Sharing:
    """The saving of local, shared weights: entries ≥ connections ≥ weights of the matrix W in y = x W (no biases).

    >>> weight_sharing(nn.Conv1d(1, 1, kernel_size=3), size=100)  # 98 outputs that read three inputs each
    Sharing(entries=9800, connections=294, weights=3)
    """
    ones, _ = _images(conv, size, channels, torch.ones_like)
    weights = sum(p.numel() for name, p in conv.named_parameters() if not _is_bias(name))
    return Sharing(ones.numel(), int(ones.count_nonzero()), weights)


def _is_bias(name: str) -> bool:
    return name.rsplit(".", 1)[-1] == "bias"


def _images(
    conv: nn.Module, size: int | Sequence[int], channels: int | None, weights: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """An affine map is known by what it does to the unit vectors (less b, the rows of W) and to zero (b)."""
    ours: int | None = getattr(conv, "convolved_axes", None)  # declared by a linear layer of Cutaway's
    if ours is None and not isinstance(conv, CONVOLUTIONS):
        raise ValueError(
            f"conv must be a convolution, got {type(conv).__name__}; pass one of Cutaway's or of torch.nn's "
            f"{', '.join(kind.__name__ for kind in CONVOLUTIONS)}"
        )
    axes = ours or conv.get_parameter("weight").ndim - 2
    size = (size,) * axes if isinstance(size, int) else tuple(size)
    if len(size) != axes or min(size) < 1:
        raise ValueError(
            f"size must give the length of each of {axes} axes, got size={size} for {type(conv).__name__}; "
            "leave out batch and channels"
        )
    own: int | None = getattr(conv, "inputs", getattr(conv, "in_channels", None))
    if (own is None and channels is None) or (own is not None and channels not in (None, own)):
        raise ValueError(
            f"channels must be {'given' if own is None else own} for {type(conv).__name__}, got channels={channels}; "
            + ("it takes any number, so say how many" if own is None else "leave it out")
        )
    count = int(own or channels or 0)
    shape = (*size, count) if getattr(conv, "channels_last", False) else (count, *size)
    parameters = dict(conv.named_parameters())
    like = next(iter(parameters.values()), torch.empty(()))
    basis = torch.eye(math.prod(shape), dtype=like.dtype, device=like.device).reshape(-1, *shape)
    # b is set to zero and not subtracted afterwards: (w + b) − b is rounded
    changed = {name: torch.zeros_like(p) if _is_bias(name) else weights(p) for name, p in parameters.items()}
    with torch.no_grad():
        try:
            return functional_call(conv, changed, basis).flatten(1), conv(torch.zeros_like(basis[0])).flatten()
        except (RuntimeError, ValueError) as error:
            kernel = tuple(conv.get_parameter("weight").shape[2:]) if "weight" in parameters else ()
            raise ValueError(
                f"the padded input must hold the kernel, got size={size}"
                + (f" for kernel_size={kernel}, padding={conv.padding}" if kernel else "")
                + f"; try a larger size ({error})"
            ) from None
