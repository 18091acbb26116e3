r"""LoRA on any model: linear layers and convolutions named by address get low-rank updates, and all else is frozen.

    summary = cut.lora(model, "blocks.*.attention", rank=8)     # or "all-linear", or a list of globs
    print(summary)                                              # the share that can be trained
    with cut.use(model, None): model(x)                         # the base
    summary.remove()                                            # the base again, bit for bit

Hu et al. 2022; with all biases as an option, as in N3 §8.
"""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.low_rank.dora import DoRA
from cutaway.blocks.low_rank.linear_layers import is_convolution, matrix_of
from cutaway.blocks.low_rank.lora import WHOLE, LoRA
from cutaway.blocks.low_rank.lora_convolutions import LoRAConv
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.training.adapters.freezing import Globs, find_parameters
from cutaway.training.adapters.named_adapters import AdapterSummary, freeze_for, replace_module, summarise
from cutaway.training.adapters.records import (
    AdapterRecord,
    expect_new_name,
    expect_unmerged,
    named_parameters,
    unwrapped,
)
from cutaway.training.adapters.targets import Target, find_targets

BIASES = ("none", "all", "lora")


def lora(
    model: nn.Module,
    targets: Globs = "all-linear",
    rank: int = 8,
    alpha: float | None = None,
    dropout: float = 0.0,
    biases: str = "none",
    name: str = "default",
    train: Globs = (),
    rooted: bool = False,
    dora: bool = False,
) -> AdapterSummary:
    """Puts low-rank updates onto the layers that ``targets`` name, and freezes everything that was there.

    ``targets`` are globs of addresses: of linear layers and convolutions, of maps inside one
    (``blocks.*.attention.queries``), or of modules that hold some. "all-linear" is every linear layer but the outputs',
    and no convolution, as in peft: name those by address, as "stages.*" or ["all-linear", "stem"]; "**" is every layer
    of both kinds, outputs too. An update is (α / r) x A B (of a convolution: to r channels and back), with α the rank
    unless given (``rooted``: α / √r), and 0 at first: adding one does not change what the model computes. ``dropout``
    is of its input, in training. ``biases``: "none", those of the changed layers ("lora") or "all" are trained too;
    ``train`` names what else is, such as a new head. ``dora`` gives every output a trained length (Liu et al. 2024).
    Several adapters add up, each under its ``name``; `use` chooses among them.
    """
    root = unwrapped(model)
    expect_new_name(root, name)
    expect_unmerged(root)
    expect_choice("biases", biases, BIASES)
    found = find_targets(root, targets)
    trained = find_parameters(root, train)
    kind = DoRA if dora else LowRank
    updates = [update_for(target, lambda i, o: kind(i, o, rank, alpha, dropout, rooted)) for target in found]
    return insert(root, AdapterRecord(name, kind_name(updates), {"biases": biases}), found, updates, trained)


def kind_name(updates: Iterable[LowRank]) -> str:
    return "DoRA" if any(isinstance(update, DoRA) for update in updates) else "LoRA"


def update_for(target: Target, build: Callable[[int, int], LowRank]) -> LowRank:
    """An update for a target, where its layer is and in its precision; at least float32, as a sum of small steps."""
    weight = matrix_of(target.layer.base)
    if target.part != WHOLE:
        places = dict(zip(target.layer.parts, weight.split(list(target.layer.parts.values()), -1), strict=True))
        weight = places[target.part]
    try:
        with torch.device(weight.device):
            update = build(*weight.shape)
    except ValueError as error:
        raise ValueError(f"{error} (at {address_of(target)})") from None
    update = update.to(
        torch.promote_types(weight.dtype, torch.float32) if weight.is_floating_point() else torch.float32
    )
    return update.measure(weight) if isinstance(update, DoRA) else update


def address_of(target: Target) -> str:
    owner = target.layer.path.rpartition(".")[0]
    return target.layer.path if target.part == WHOLE else f"{owner}.{target.part}".lstrip(".")


def insert(
    model: nn.Module,
    record: AdapterRecord,
    targets: list[Target],
    updates: list[LowRank],
    trained: dict[str, nn.Parameter],
) -> AdapterSummary:
    """Puts given updates onto targets; ``trained`` are parameters that are trained in full beside them."""
    layers = {target.layer.path: target.layer for target in targets}
    freeze_for(model, record, trained | _biases(model, record.settings["biases"], layers))
    for path, layer in layers.items():
        wrapper = layer.module
        if not isinstance(wrapper, LoRA):
            kind = LoRAConv if is_convolution(layer.module) else LoRA
            wrapper = kind(layer.module, rank=0, parts=layer.parts)
            replace_module(model, layer.module, wrapper)
        wrapper.add(record.name, {t.part: u for t, u in zip(targets, updates, strict=True) if t.layer.path == path})
    return summarise(model, record, map(address_of, targets))


def _biases(model: nn.Module, which: str, layers: Iterable[str]) -> dict[str, nn.Parameter]:
    """The biases that are trained too: none, those of the changed layers, or all."""
    of_layers = {f"{path}.bias" for path in layers}
    return {
        path: parameter
        for path, parameter in named_parameters(model).items()
        if path.rpartition(".")[2] == "bias" and (which == "all" or (which == "lora" and path in of_layers))
    }
