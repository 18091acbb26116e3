r"""Linear layers and convolutions of any make, seen alike: a matrix W of shape (inputs, outputs).

    Cutaway's Linear                W
    torch.nn.Linear                 Wᵀ is stored
    transformers' Conv1D (GPT-2)    W
    convolutions                    a filter a column: W (inputs / groups · entries of the kernel, outputs)

A convolution is x W + b of every window x of its input, flattened; in groups, each group's part of a window meets the
columns of that group. Notes: N0 §1 (affine maps), N3 §6.1.
"""

from typing import Any

from torch import Tensor, nn

from cutaway.blocks.convolution.grids import ConvGrid
from cutaway.blocks.convolution.one_dimensional import Conv1d
from cutaway.blocks.dense.affine import Linear

_TORCH_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def is_linear(module: nn.Module | None) -> bool:
    """Whether a module is a layer y = x W + b that has its weights."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return False  # no weights yet
    return isinstance(module, Linear | nn.Linear) or _is_conv1d(module)


def is_convolution(module: nn.Module | None) -> bool:
    """Whether a module is a convolution that has its weights: ours or torch's, not one with a forward of its own."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return False
    plain = any(isinstance(module, kind) and type(module).forward is kind.forward for kind in _TORCH_CONVOLUTIONS)
    return plain or isinstance(module, ConvGrid | Conv1d)


def correlate_with(
    conv: Any, x: Tensor, filters: Tensor, bias: Tensor | None = None, lengths: Tensor | None = None
) -> Tensor:
    """What a convolution would give with other filters (outputs, inputs / groups, *kernel), of any number.

    ``lengths`` are those of sequences, for our `Conv1d`.
    """
    if isinstance(conv, _TORCH_CONVOLUTIONS):
        return conv._conv_forward(x, filters, bias)
    return conv.correlate(x, filters, bias, *(() if lengths is None else (lengths,)))


def channel_axis(conv: Any) -> int:
    """The axis of a convolution's inputs and outputs that has the channels."""
    return -1 if getattr(conv, "channels_last", False) else 1 - conv.weight.ndim


def _is_conv1d(module: nn.Module | None) -> bool:
    # transformers is no dependency: its class is known by its name and its number of outputs
    weight = getattr(module, "weight", None)
    return type(module).__name__ == "Conv1D" and isinstance(weight, Tensor) and weight.ndim == 2


def matrix_of(layer: nn.Module) -> Tensor:
    """W (inputs, outputs) of a linear layer or a convolution, to be read; `as_weight` turns such a matrix back."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    if weight.ndim > 2:
        return weight.flatten(1).T
    return weight.T if isinstance(layer, nn.Linear) else weight


def as_weight(layer: nn.Module, matrix: Tensor) -> Tensor:
    """A matrix (inputs, outputs) in the shape in which a layer has its weight."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    if weight.ndim > 2:
        return matrix.T.reshape(weight.shape)
    return matrix.T if isinstance(layer, nn.Linear) else matrix


def bias_of(layer: nn.Module) -> Tensor | None:
    bias = layer.bias
    assert bias is None or isinstance(bias, Tensor)
    return bias
