r"""Linear layers of any make, seen alike: y = x W + b with W of shape (inputs, outputs).

    Cutaway's Linear                W
    torch.nn.Linear                 Wᵀ is stored
    transformers' Conv1D (GPT-2)    W

Notes: N0 §1 (affine maps).
"""

from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear


def is_linear(module: nn.Module | None) -> bool:
    """Whether a module is a layer y = x W + b that has its weights."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return False  # no weights yet
    return isinstance(module, Linear | nn.Linear) or _is_conv1d(module)


def _is_conv1d(module: nn.Module | None) -> bool:
    # transformers is no dependency: its class is known by its name and its number of outputs
    weight = getattr(module, "weight", None)
    return type(module).__name__ == "Conv1D" and isinstance(weight, Tensor) and weight.ndim == 2


def matrix_of(layer: nn.Module) -> Tensor:
    """W (inputs, outputs) of a linear layer, a view: writing into it changes the layer."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight.T if isinstance(layer, nn.Linear) else weight


def bias_of(layer: nn.Module) -> Tensor | None:
    bias = layer.bias
    assert bias is None or isinstance(bias, Tensor)
    return bias
