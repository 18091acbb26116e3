r"""Bottleneck adapters on any model: a small network after each module that a glob names, and all else is frozen.

    summary = cut.adapter(model, "blocks.*", width=64)          # after every layer
    cut.adapter(model, ["blocks.*.attention", "blocks.*.mlp"])  # as in the paper: after both parts of a layer

Houlsby et al. 2019. Notes: N3 §8.
"""

import torch
from torch import nn

from cutaway.blocks.checks import expect_count
from cutaway.blocks.low_rank.bottleneck import Bottleneck, BottleneckAfter
from cutaway.blocks.low_rank.linear_layers import channel_axis, is_convolution, is_linear, matrix_of
from cutaway.inside.address_globs import UnknownAddress, matching, named_sites, unknown_address
from cutaway.inside.taps import Tap
from cutaway.training.adapters.freezing import Globs, as_patterns, find_parameters
from cutaway.training.adapters.named_adapters import AdapterSummary, freeze_for, replace_module, summarise
from cutaway.training.adapters.records import (
    AdapterRecord,
    expect_new_name,
    expect_sizes_known,
    expect_unmerged,
    unwrapped,
)


def adapter(
    model: nn.Module, targets: Globs = "blocks.*", width: int = 64, name: str = "default", train: Globs = ()
) -> AdapterSummary:
    """Puts a small network with ``width`` hidden units after each module that ``targets`` name; all else is frozen.

    It adds to what the module gives (to the first of several outputs), and adds 0 at first: putting it in does not
    change what the model computes. ``train`` names what is trained in full beside it, such as a new head. `use`
    chooses among several adapters; it is not linear, so it cannot be merged into weights.
    """
    root = unwrapped(model)
    expect_new_name(root, name)
    expect_unmerged(root)
    expect_count(width=width)
    found = find_modules(root, targets)
    trained = find_parameters(root, train)
    parts = {path: _bottleneck_for(path, module, width) for path, module in found.items()}
    return insert_bottlenecks(root, AdapterRecord(name, "adapter"), found, parts, trained)


def insert_bottlenecks(
    model: nn.Module,
    record: AdapterRecord,
    targets: dict[str, nn.Module],
    parts: dict[str, Bottleneck],
    trained: dict[str, nn.Parameter],
) -> AdapterSummary:
    """Puts given networks after modules."""
    freeze_for(model, record, trained)
    for path, module in targets.items():
        wrapper = module
        if not isinstance(wrapper, BottleneckAfter):
            wrapper = BottleneckAfter(module)
            replace_module(model, module, wrapper)
        wrapper.put(record.name, parts[path])
    return summarise(model, record, targets)


def find_modules(model: nn.Module, patterns: Globs) -> dict[str, nn.Module]:
    """The modules that globs name, each once; taps and the model itself are none of them."""
    expect_sizes_known(model)
    known = {path: site for path, site in named_sites(model).items() if path and not isinstance(site, Tap)}
    found: dict[int, str] = {}
    for pattern in as_patterns(patterns, "a target"):
        named = matching(pattern, known)
        if not named:
            raise UnknownAddress(unknown_address(pattern, known, "name modules to put an adapter after"))
        for path in named:
            found.setdefault(id(known[path]), path)
    if not found:
        raise ValueError("adapters need modules to be put after, got no target; name some: 'blocks.*'")
    return {path: known[path] for path in found.values()}


def _bottleneck_for(path: str, module: nn.Module, hidden: int) -> Bottleneck:
    layer = last_layer(path, module)
    weight = matrix_of(layer)
    with torch.device(weight.device):
        made = Bottleneck(weight.shape[1], hidden, axis=feature_axis(layer))
    return made.to(torch.promote_types(weight.dtype, torch.float32))


def last_layer(path: str, module: nn.Module) -> nn.Module:
    """The layer of a module that says how wide its output is."""
    layers = [layer for layer in module.modules() if is_linear(layer) or is_convolution(layer)]
    if not layers:
        raise ValueError(
            f"an adapter follows a module whose last linear layer or convolution says how wide its output is, got "
            f"{path}, a {type(module).__name__} without one; name a module around it, or use cut.freeze"
        )
    return layers[-1]


def feature_axis(layer: nn.Module) -> int:
    """The axis of a layer's output that has its features."""
    return channel_axis(layer) if is_convolution(layer) else -1
