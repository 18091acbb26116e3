r"""The ways of tuning: what of a model learns, and what is put beside its weights."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from cutaway.blocks.low_rank.linear_layers import matrix_of
from cutaway.inside.address_globs import matching, named_sites
from cutaway.training.adapters.bottlenecks import adapter
from cutaway.training.adapters.freezing import freeze
from cutaway.training.adapters.low_rank_layers import lora
from cutaway.training.adapters.merging import merge
from cutaway.training.adapters.records import adapters_of, forget, named_parameters, set_merge_record
from cutaway.training.adapters.stacked_adapters import put_on, take_off
from cutaway.training.adapters.targets import find_targets

if TYPE_CHECKING:
    from cutaway.tuning.settings import TunedRecipe

_RANK = 8


def apply_way(model: nn.Module, recipe: "TunedRecipe", head_learns: bool) -> None:
    """Freezes what does not learn, and puts LoRA or adapters into the model."""
    head = head_addresses(model) if head_learns else ()
    if recipe.way == "lora":
        try:
            lora(
                model,
                lora_targets(model, recipe),
                recipe.lora,
                recipe.lora_alpha or None,
                recipe.lora_dropout,
                recipe.lora_biases,
                train=head,
                dora=recipe.dora,
            )
        except ValueError as error:  # the rank is the setting `lora`
            raise type(error)(re.sub(r"\brank(?==| must)", "lora", str(error))) from None
    elif recipe.way == "adapter":
        adapter(model, model.layer_order, recipe.adapter, train=head)  # type: ignore[arg-type]
    elif recipe.way == "full":
        model.requires_grad_(True)
    else:
        freeze(model, but=head if recipe.way == "head_only" else upper_part(model, recipe.last))


def head_addresses(model: nn.Module) -> tuple[str, ...]:
    """The addresses of what makes the outputs of a task; () of a model that has no head, as one of vectors of texts."""
    sites = named_sites(model)
    return tuple(part for part in getattr(model, "head_parts", ("head",)) if part in sites)


def lora_targets(model: Any, recipe: "TunedRecipe") -> list[str]:
    """The globs of the layers that LoRA is put beside: those given, else what suits the model."""
    given = [target.strip() for target in recipe.lora_targets.split(",")]
    return [target for target in given if target] or list(model.lora_targets)


def usual_rank(model: Any, recipe: "TunedRecipe") -> int:
    """LoRA's rank if nobody chose: 8, or less where a layer is narrower, as that of small patches of an image."""
    ranks = [_RANK]
    for layer, part in find_targets(model, lora_targets(model, recipe)):
        inputs, outputs = matrix_of(layer.base).shape
        ranks.append(min(inputs, layer.parts.get(part, outputs)))
    return min(ranks)


def layers_of(model: Any) -> list[tuple[str, nn.Module]]:
    """The layers of a model from its input on, with their addresses."""
    sites = named_sites(model)
    return [(name, sites[name]) for glob in model.layer_order for name in matching(glob, sites)]


def upper_part(model: nn.Module, count: int) -> list[str]:
    """The addresses of the last ``count`` layers and of all that comes after them."""
    layers = layers_of(model)
    if count > len(layers):
        raise ValueError(
            f"last must be at most the number of layers, got last={count} for {len(layers)}; train all: full=True"
        )
    names = [name for name, _ in model.named_children()]
    after = names[max(names.index(name.split(".")[0]) for name, _ in layers) + 1 :]
    own = {name: child for name, child in model.named_children() if name in after}
    upper = [name for name, _ in layers[len(layers) - count :]] + [
        name for name, child in own.items() if any(True for _ in child.parameters())
    ]
    return list(dict.fromkeys([*upper, *getattr(model, "head_parts", ())])) if has_own_head(model) else upper


def has_own_head(model: nn.Module) -> bool:
    """Whether what makes the outputs is one of the model's layers, and not what comes after them all."""
    return tuple(getattr(model, "head_parts", ("head",))) != ("head",)


def without_updates(model: Any) -> str:
    """Makes a tuned model the base of another tuning, and says how; "" if nothing was put onto it.

    LoRA's updates become part of the weights. Adapters, which no matrix can hold, stay as they are, frozen.
    """
    stack = take_off(model)
    merged = bool(adapters_of(model))
    if merged:
        merge(model)
        set_merge_record(model, None)
        for name in list(adapters_of(model)):
            forget(model, name)
    put_on(model, stack)
    told = ["its LoRA is merged into its weights"] if merged else []
    return " and ".join(told + (["its adapters stay, frozen"] if stack else []))


def places_in_memory(model: nn.Module) -> dict[str, int]:
    """Where each parameter of a model is in memory, by its address."""
    return {address: p.data_ptr() for address, p in named_parameters(model).items()}


def unchanged_weights(model: nn.Module, base: Mapping[str, int]) -> frozenset[str]:
    """The names in the state dict of weights that are those of a base (``base``: where they are) and never change."""
    addresses = {id(p): address for address, p in named_parameters(model).items()}
    state = model.state_dict(keep_vars=True)  # its names: those of parameters in wrapped layers are others
    frozen = {name: x for name, x in state.items() if isinstance(x, nn.Parameter) and not x.requires_grad}
    return frozenset(name for name, x in frozen.items() if base.get(addresses.get(id(x), "")) == x.data_ptr())


def own_memory(model: nn.Module) -> None:
    """Gives every parameter that learns plain memory of its own: a checkpoint's may be turned views of a file.

    An optimizer's moments have the layout of their parameter, but those of a resumed run come from a file: both must
    be the same, so that a resumed run computes the same bits. What stays as it is is read from the file as it is.
    """
    for parameter in model.parameters():
        if parameter.requires_grad and not parameter.is_contiguous():
            parameter.data = parameter.data.contiguous()


def trainable_share(model: nn.Module) -> dict[str, int]:
    """How many parameters there are, and how many of them learn."""
    sizes = [(p.numel(), p.requires_grad) for p in model.parameters()]
    return {"parameters": sum(n for n, _ in sizes), "trained": sum(n for n, learns in sizes if learns)}


__all__ = [
    "apply_way",
    "head_addresses",
    "layers_of",
    "own_memory",
    "places_in_memory",
    "trainable_share",
    "unchanged_weights",
    "upper_part",
    "usual_rank",
    "without_updates",
]
