r"""LoRA on any model: linear layers named by address get low-rank updates, and all else is frozen.

    summary = cut.lora(model, "blocks.*.attention", rank=8)     # or "all-linear", or a list of globs
    print(summary)                                              # the share that can be trained
    with cut.use(model, None): model(x)                         # the base
    summary.remove()                                            # the base again, bit for bit

Hu et al. 2022; with all biases as an option, as in N3 §8.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.low_rank.linear_layers import matrix_of
from cutaway.blocks.low_rank.lora import WHOLE, LoRA
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.training.tuning.freezing import Globs, TrainableShare, find_parameters, trainable_share
from cutaway.training.tuning.records import (
    AdapterRecord,
    adapters_of,
    exchange,
    expect_adapter,
    expect_new_name,
    expect_unmerged,
    forget,
    named_parameters,
    remember,
    unwrapped,
)
from cutaway.training.tuning.targets import Target, find_targets

BIASES = ("none", "all", "lora")


@dataclass(frozen=True)
class AdapterSummary(TrainableShare):
    """What was put onto a model: the adapter's name and kind, the maps that it changes, and the trainable share."""

    name: str
    kind: str
    targets: tuple[str, ...]
    model: nn.Module

    def remove(self) -> None:
        """Takes the adapter off again."""
        remove_adapter(self.model, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} on {len(self.targets)} places: {super().__str__()}"

    __repr__ = __str__


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
) -> AdapterSummary:
    """Puts low-rank updates onto the linear layers that ``targets`` name, and freezes everything that was there.

    ``targets`` are globs of addresses: of linear layers, of maps inside one (``blocks.*.attention.queries``), or of
    modules that hold some; "all-linear" is all but the output layers. An update is (α / r) x A B, with α the rank
    unless given (``rooted``: α / √r), and 0 at first: adding one does not change what the model computes. ``dropout``
    is of its input, in training. ``biases``: "none", those of the changed layers ("lora") or "all" are trained too;
    ``train`` names what else is, such as a new head. Several adapters add up, each under its ``name``; `use` chooses.
    """
    root = unwrapped(model)
    expect_new_name(root, name)
    expect_unmerged(root)
    expect_choice("biases", biases, BIASES)
    found = find_targets(root, targets)
    trained = find_parameters(root, train)
    updates = [_update_for(target, lambda i, o: LowRank(i, o, rank, alpha, dropout, rooted)) for target in found]
    settings = {"rank": rank, "alpha": updates[0].alpha, "dropout": dropout, "biases": biases, "rooted": rooted}
    return insert(root, name, "LoRA", found, updates, settings, trained)


def _update_for(target: Target, build: Callable[[int, int], LowRank]) -> LowRank:
    """An update for a target, where its layer is and in its precision; at least float32, as a sum of small steps."""
    inputs, outputs = matrix_of(target.layer.base).shape
    weight = matrix_of(target.layer.base)
    try:
        with torch.device(weight.device):
            update = build(inputs, outputs if target.part == WHOLE else target.layer.parts[target.part])
    except ValueError as error:
        raise ValueError(f"{error} (at {_address(target)})") from None
    return update.to(torch.promote_types(weight.dtype, torch.float32) if weight.is_floating_point() else torch.float32)


def _address(target: Target) -> str:
    owner = target.layer.path.rpartition(".")[0]
    return target.layer.path if target.part == WHOLE else f"{owner}.{target.part}".lstrip(".")


def insert(
    model: nn.Module,
    name: str,
    kind: str,
    targets: list[Target],
    updates: list[LowRank],
    settings: dict[str, object],
    trained: dict[str, nn.Parameter],
) -> AdapterSummary:
    """Puts given updates onto targets; ``trained`` are parameters that are trained in full beside them."""
    parameters = named_parameters(model)
    record = AdapterRecord(name, kind, settings, could_train={path: p.requires_grad for path, p in parameters.items()})
    layers = {target.layer.path: target.layer for target in targets}
    if settings.get("biases") != "none":
        of_layers = {f"{path}.bias" for path in layers}
        trained = trained | {
            path: p
            for path, p in parameters.items()
            if path.rpartition(".")[2] == "bias" and (settings["biases"] == "all" or path in of_layers)
        }
    record.other_values = {path: p.detach().clone() for path, p in trained.items()}
    for parameter in parameters.values():
        parameter.requires_grad_(False)
        parameter.grad = None
    for path, layer in layers.items():
        wrapper = layer.module
        if not isinstance(wrapper, LoRA):
            wrapper = LoRA(layer.module, rank=0, parts=layer.parts)
            wrapper.train(layer.module.training)
            replace_module(model, layer.module, wrapper)
        wrapper.add(name, {t.part: u for t, u in zip(targets, updates, strict=True) if t.layer.path == path})
    for parameter in trained.values():
        parameter.requires_grad_(True)
    remember(model, record)
    share = trainable_share(model)
    places = tuple(_address(target) for target in targets)
    return AdapterSummary(share.trainable, share.parameters, name, kind, places, model)


def replace_module(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Puts a module in the place of another, under each of its names."""
    for parent in list(model.modules()):
        if parent is new:
            continue
        for child, module in parent._modules.items():
            if module is old:
                parent._modules[child] = new


def lora_layers(model: nn.Module) -> list[LoRA]:
    return [module for module in unwrapped(model).modules() if isinstance(module, LoRA)]


def remove_adapter(model: nn.Module, name: str = "default") -> TrainableShare:
    """Takes an adapter off: with the last one gone, the model is as it was before, bit for bit."""
    model = unwrapped(model)
    expect_unmerged(model)
    record = expect_adapter(model, name)
    if record.in_use:
        exchange(model, record)
    for layer in lora_layers(model):
        if name in layer.lora:
            layer.remove(name)
        if not len(layer.lora):
            replace_module(model, layer, layer.base)
    later = [other for other in adapters_of(model).values() if other.name != name][_place(model, name) :]
    if later:
        later[0].could_train = record.could_train  # what it found frozen was frozen by this one
    else:
        parameters = named_parameters(model)
        for path, could in record.could_train.items():
            if path in parameters:
                parameters[path].requires_grad_(could)
    forget(model, name)
    return trainable_share(model)


def _place(model: nn.Module, name: str) -> int:
    """How many adapters were added before."""
    return list(adapters_of(model)).index(name)


class use:  # noqa: N801 -- used like a function
    """Chooses the adapters in use: ``cut.use(model, "a")``, several that add up, or None for the base alone.

    Those in use can be trained, the others not. In a ``with`` statement the choice ends with it.
    """

    def __init__(self, model: nn.Module, names: str | Iterable[str] | None) -> None:
        self.model = unwrapped(model)
        expect_unmerged(self.model)
        chosen = [] if names is None else [names] if isinstance(names, str) else list(names)
        for name in chosen:
            expect_adapter(self.model, name)
        self._before = [name for name, record in adapters_of(self.model).items() if record.in_use]
        _choose(self.model, chosen)

    def __enter__(self) -> "use":
        return self

    def __exit__(self, *_: object) -> None:
        _choose(self.model, [name for name in self._before if name in adapters_of(self.model)])


def _choose(model: nn.Module, names: list[str]) -> None:
    records = adapters_of(model)
    shared = {path for name in names for path in records[name].other_values}
    if sum(len(records[name].other_values) for name in names) > len(shared):
        raise ValueError(
            f"adapters that add up must not train the same parameters in full, got {', '.join(names)}; use one of them"
        )
    for record in records.values():  # first off, then on: each exchanges its values with the base's
        if record.in_use and record.name not in names:
            exchange(model, record)
    for record in records.values():
        if not record.in_use and record.name in names:
            exchange(model, record)
    parameters = named_parameters(model)
    for record in sorted(records.values(), key=lambda record: record.in_use):  # in use comes last: it wins
        for path in record.other_values:
            parameters[path].requires_grad_(record.in_use)
    for layer in lora_layers(model):
        layer.choose(names)
