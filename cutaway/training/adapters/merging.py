r"""Merging: the updates in use become part of the weights, and the model is as fast as it was without them.

    W ← round(W + Σ (α / r) A B)        computed in float64, rounded once to the precision of W

A merged model has no adapters left to train; `unmerge` puts them back, and the base's weights bit for bit. In half
precision rounding loses a part of the update, which may be smaller than the spacing of the numbers: the summary states
it. Hu et al. 2022, §4.1 (no additional inference latency). Notes: N3 §8.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cutaway.blocks.low_rank.lora import LoRA
from cutaway.overriding import override
from cutaway.training.adapters.named_adapters import adapted_modules, replace_module, set_fast_paths
from cutaway.training.adapters.records import adapters_of, merge_record, named_parameters, set_merge_record, unwrapped


@dataclass(frozen=True)
class Merged:
    """What a merge did: the matrices changed, the largest rounding error, and the share of the update lost to it."""

    names: tuple[str, ...]
    matrices: int
    error: float
    lost: float

    @override
    def __str__(self) -> str:
        return (
            f"{', '.join(self.names)} merged into {self.matrices} matrices; rounding changed entries by at most "
            f"{self.error:.2g}, {100 * self.lost:.2g} % of the update"
        )


@dataclass
class _Undo:
    """The layers that were taken out, and the weights of their bases."""

    layers: list[LoRA]
    weights: list[Tensor]


@torch.no_grad()
def merge(model: nn.Module) -> Merged:
    """Puts the updates in use into the weights, W ← W + (α / r) A B, and takes their layers out.

    The base's weights are kept, for `unmerge`. Refused: a model that is merged already, one without updates in use
    (nothing would happen), and one in which a changed matrix serves elsewhere too (that would change there as well).
    """
    model = unwrapped(model)
    if merge_record(model) is not None:
        raise ValueError("a model can be merged once, got one that is merged already; call cut.unmerge(model) first")
    layers = [module for module in adapted_modules(model) if isinstance(module, LoRA)]
    names = tuple(name for name, record in adapters_of(model).items() if record.in_use)
    if not layers:
        raise ValueError("merging needs updates, got a model without LoRA; put it on with cut.lora(model, ...)")
    if not any(layer.active for layer in layers):
        known = ", ".join(adapters_of(model))
        raise ValueError(
            f"merging needs updates in use, got a model that uses none of its adapters ({known}); "
            "choose with cut.use(model, name)"
        )
    others = [module for module in adapted_modules(model) if not isinstance(module, LoRA) and module.active]
    if others:
        raise ValueError(
            f"merging is for LoRA, got a model that also uses {', '.join(others[0].active)}, a network that no matrix "
            "can hold; leave it out with cut.use(model, ...)"
        )
    _expect_own_weights(model, layers)
    undo = _Undo(layers, [layer.weight.detach().clone() for layer in layers])
    error = change = rounding = 0.0
    for layer in layers:
        weight, merged = layer.weight, layer.merged_weight()
        change += float((merged - weight.double()).square().sum())
        weight.copy_(merged)
        left = weight.double() - merged
        rounding += float(left.square().sum())
        error = max(error, float(left.abs().max()))
        replace_module(model, layer, layer.base)
    set_merge_record(model, undo)
    set_fast_paths(model)
    return Merged(names, len(layers), error, (rounding / change) ** 0.5 if change else 0.0)


def _expect_own_weights(model: nn.Module, layers: list[LoRA]) -> None:
    """A weight that another module holds as well (a tied embedding) cannot be changed for one of them alone."""
    owners: dict[int, set[int]] = {}
    for module in model.modules():
        for parameter in module._parameters.values():
            if parameter is not None:
                owners.setdefault(id(parameter), set()).add(id(module))
    for layer in layers:
        if not isinstance(layer.weight, nn.Parameter):
            raise ValueError(
                f"merging changes a weight in place, got a {type(layer.base).__name__} whose weight is computed from "
                "other tensors (weight or spectral norm); remove the norm before LoRA, as "
                "torch.nn.utils.parametrize.remove_parametrizations does"
            )
        if layer.active and len(owners[id(layer.weight)]) > 1:
            path = next(path for path, p in named_parameters(model).items() if p is layer.weight)
            raise ValueError(
                f"merging changes a weight in place, got one that two modules share ({path}); untie it first, or leave "
                "that layer out of the targets"
            )


@torch.no_grad()
def unmerge(model: nn.Module) -> None:
    """Takes the updates out of the weights again: the base's weights are as before, bit for bit."""
    model = unwrapped(model)
    undo = merge_record(model)
    if undo is None:
        raise ValueError("unmerging undoes a merge, got a model that is not merged; call cut.merge(model) first")
    merged = [layer.weight.detach().clone() for layer in undo.layers]
    for layer, weight in zip(undo.layers, undo.weights, strict=True):
        layer.weight.copy_(weight)
    for layer, now in zip(undo.layers, merged, strict=True):
        layer.lora.to(now.device)
        if not torch.equal(layer.merged_weight().to(now.dtype), now):
            for other, weight in zip(undo.layers, merged, strict=True):
                other.weight.copy_(weight)
            raise ValueError(
                f"unmerging needs the weights that merging made, got others in {type(layer.base).__name__} "
                f"({layer.inputs} → {layer.outputs}): they changed since; load the base's weights instead"
            )
    for layer in undo.layers:
        layer.train(layer.base.training)
        replace_module(model, layer.base, layer)
    set_merge_record(model, None)
    set_fast_paths(model)
