r"""Bottleneck adapters in a folder: as those of LoRA, but of a kind that peft has not (peft_type BOTTLENECK).

blocks.0.adapters.down (width, hidden), .down_bias, .up (hidden, width), .up_bias        Houlsby et al. 2019
"""

from typing import Any

import torch
from torch import Tensor, nn

from cutaway.blocks.low_rank.bottleneck import Bottleneck, BottleneckAfter
from cutaway.blocks.low_rank.linear_layers import matrix_of
from cutaway.hub.adapter_names import AdapterNames
from cutaway.hub.peft_config import CONFIG, WEIGHTS
from cutaway.inside.address_globs import named_sites
from cutaway.training.adapters.bottlenecks import feature_axis, find_modules, insert_bottlenecks, last_layer
from cutaway.training.adapters.named_adapters import AdapterSummary
from cutaway.training.adapters.records import AdapterRecord, named_parameters

_TENSORS = ("down", "down_bias", "up", "up_bias")


def _bottlenecks(model: nn.Module, name: str) -> dict[str, Bottleneck]:
    """The networks of an adapter by the modules that they come after."""
    found = {}
    for path, module in named_sites(model).items():
        if isinstance(module, BottleneckAfter) and name in module.held:
            part = module.held.get_submodule(name)
            assert isinstance(part, Bottleneck)
            found[path] = part
    return found


def bottleneck_config(model: nn.Module, name: str, trained: list[str]) -> dict[str, Any]:
    parts = _bottlenecks(model, name)
    return {
        "peft_type": "BOTTLENECK",
        "target_modules": list(parts),
        "width": next(iter(parts.values())).hidden_width,
        "trained": trained,
    }


def bottleneck_tensors(model: nn.Module, name: str) -> dict[str, Tensor]:
    return {
        f"{path}.adapters.{tensor}": getattr(part, tensor)
        for path, part in _bottlenecks(model, name).items()
        for tensor in _TENSORS
    }


def load_bottlenecks(
    model: nn.Module, name: str, config: dict[str, Any], tensors: dict[str, Tensor], names: AdapterNames
) -> AdapterSummary:
    """Puts the networks of a folder onto a model."""
    for key in ("target_modules", "width", "trained"):
        if key not in config:
            raise ValueError(f"{CONFIG} must have {key!r}, got one without it; take it from a copy")
    listed = config["target_modules"]
    targets = find_modules(model, [str(path) for path in listed] if isinstance(listed, list) else str(listed))
    if lost := [path for path in config["trained"] if path not in names.parameters]:
        raise ValueError(
            f"an adapter must fit its model, got {lost[0]} trained beside it, which the model has not; build the model "
            "with the same head"
        )
    parts = {}
    for path, module in targets.items():
        layer = last_layer(path, module)
        like = next(module.parameters())
        part = Bottleneck(matrix_of(layer).shape[1], config["width"], axis=feature_axis(layer))
        part = part.to(like.device, torch.promote_types(like.dtype, torch.float32))
        with torch.no_grad():
            for tensor in _TENSORS:
                getattr(part, tensor).copy_(_fitting(tensors, f"{path}.adapters.{tensor}", getattr(part, tensor)))
        parts[path] = part
    values = {path: names.load(path, tensors) for path in config["trained"]}
    trained = {path: names.parameters[path] for path in values}
    summary = insert_bottlenecks(model, AdapterRecord(name, "adapter"), targets, parts, trained)
    parameters = named_parameters(model)
    with torch.no_grad():
        for path, value in values.items():
            parameters[path].copy_(value)
    return summary


def _fitting(tensors: dict[str, Tensor], key: str, like: Tensor) -> Tensor:
    """A tensor of the file, in the shape that it must have."""
    if key not in tensors or tensors[key].shape != like.shape:
        came = f"one of {tuple(tensors[key].shape)}" if key in tensors else "none"
        raise ValueError(f"{WEIGHTS} must hold {key} of {tuple(like.shape)}, got {came}; take it from a copy")
    return tensors[key]
