r"""Bottleneck adapters in a folder: as those of LoRA, but of a kind that peft has not (peft_type BOTTLENECK).

blocks.0.adapters.down (width, hidden), .down_bias, .up (hidden, width), .up_bias        Houlsby et al. 2019
"""

from typing import Any

import torch
from torch import Tensor, nn

from cutaway.blocks.low_rank.bottleneck import Bottleneck, BottleneckAfter
from cutaway.hub.adapter_names import AdapterNames
from cutaway.inside.address_globs import named_sites
from cutaway.training.tuning.bottlenecks import feature_axis, find_modules, insert_bottlenecks, last_layer
from cutaway.training.tuning.named_adapters import AdapterSummary
from cutaway.training.tuning.records import AdapterRecord, named_parameters

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
    targets = find_modules(model, [str(path) for path in config["target_modules"]])
    parts = {}
    for path, module in targets.items():
        down = tensors[f"{path}.adapters.down"]
        like = next(module.parameters())
        part = Bottleneck(down.shape[0], down.shape[1], axis=feature_axis(last_layer(path, module)))
        part = part.to(like.device, torch.promote_types(like.dtype, torch.float32))
        with torch.no_grad():
            for tensor in _TENSORS:
                getattr(part, tensor).copy_(tensors[f"{path}.adapters.{tensor}"])
        parts[path] = part
    values = {path: names.load(path, tensors) for path in config.get("trained", ())}
    trained = {path: names.parameters[path] for path in values}
    summary = insert_bottlenecks(model, AdapterRecord(name, "adapter"), targets, parts, trained)
    parameters = named_parameters(model)
    with torch.no_grad():
        for path, value in values.items():
            parameters[path].copy_(value)
    return summary
