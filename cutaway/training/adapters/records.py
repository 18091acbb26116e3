r"""What was put onto a model under one name, remembered by the model: for switching, saving and taking off.

A model keeps its records as a plain attribute: they are copied with it, and are no part of its state dict.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import walk_modules
from cutaway.inside.wrappers import INNER_NAMES, inner_name

_ATTRIBUTE = "cutaway_adapters"
_MERGED = "cutaway_merged"


@dataclass
class AdapterRecord:
    """One adapter: its kind and settings, and the parameters of the model that are trained in full beside it.

    ``other_values`` are of those parameters: the base's while the adapter is in use, else the adapter's own.
    ``could_train`` says which parameters could be trained before.
    """

    name: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    other_values: dict[str, Tensor] = field(default_factory=dict)
    could_train: dict[str, bool] = field(default_factory=dict)
    in_use: bool = True


def unwrapped(model: nn.Module) -> nn.Module:
    """The model inside what `torch.compile` and distributed training put around it."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"a model must be a torch.nn.Module, got {type(model).__name__}; pass the module itself")
    while (inner := inner_name(model)) is not None and (inner in INNER_NAMES or inner == "module"):
        model = model.get_submodule(inner)
    return model


def adapters_of(model: nn.Module) -> dict[str, AdapterRecord]:
    """The adapters of a model by name, in the order in which they were added; empty if it has none."""
    return vars(unwrapped(model)).get(_ATTRIBUTE, {})


def remember(model: nn.Module, record: AdapterRecord) -> None:
    vars(unwrapped(model)).setdefault(_ATTRIBUTE, {})[record.name] = record


def forget(model: nn.Module, name: str) -> None:
    records = adapters_of(model)
    del records[name]
    if not records:
        del vars(unwrapped(model))[_ATTRIBUTE]


def merge_record(model: nn.Module) -> Any:
    """What a merge has left for its undoing; None if the model is not merged."""
    return vars(unwrapped(model)).get(_MERGED)


def set_merge_record(model: nn.Module, record: Any) -> None:
    if record is None:
        vars(unwrapped(model)).pop(_MERGED, None)
    else:
        vars(unwrapped(model))[_MERGED] = record


def named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Every parameter by its address: wrappers are transparent, so names are those of the model without adapters."""
    found: dict[str, nn.Parameter] = {}
    for path, module in walk_modules(unwrapped(model)):
        inner = inner_name(module)
        owners = [module] if inner is None else [module, *_inner_chain(module)]
        for owner in owners:
            for name, parameter in owner._parameters.items():
                if parameter is not None:
                    found.setdefault(f"{path}.{name}".lstrip("."), parameter)
    return found


def _inner_chain(module: nn.Module) -> list[nn.Module]:
    """The modules inside a wrapper, down to the one that is none."""
    chain = []
    while (inner := inner_name(module)) is not None:
        module = module.get_submodule(inner)
        chain.append(module)
    return chain


def expect_adapter(model: nn.Module, name: str) -> AdapterRecord:
    records = adapters_of(model)
    if name not in records:
        raise ValueError(
            f"an adapter must be one of the model's, got {name!r}; it has {', '.join(records) or 'none: see cut.lora'}"
        )
    return records[name]


def expect_new_name(model: nn.Module, name: str) -> None:
    if not isinstance(name, str) or not name or "." in name:
        tried = str(name).replace(".", "-") or "default"
        raise ValueError(f"an adapter's name must be a word without dots, got {name!r}; try {tried!r}")
    if hasattr(nn.Module, name) or name in vars(nn.Module()):
        raise ValueError(f"an adapter's name must not be one that torch uses, got {name!r}; try '{name}-adapter'")
    if name in adapters_of(model):
        raise ValueError(
            f"the model has an adapter named {name!r} already; pass another name=, or take it off with "
            f"cut.remove_adapter(model, {name!r})"
        )


def expect_unmerged(model: nn.Module) -> None:
    if merge_record(model) is not None:
        raise ValueError(
            "a merged model has its updates in its weights, got one to change its adapters; call cut.unmerge(model) "
            "first, or load the merged weights into a model without adapters"
        )


def expect_sizes_known(model: nn.Module) -> None:
    """Lazy layers learn their sizes from a first batch."""
    for path, parameter in named_parameters(model).items():
        if isinstance(parameter, nn.UninitializedParameter):
            raise ValueError(
                f"layers must know their sizes before they are tuned, got {path} of a lazy one; run a batch through "
                "the model first"
            )


def settle_values(model: nn.Module) -> None:
    """The values that adapters remember of parts trained in full become those that the model has now."""
    parameters = named_parameters(model)
    for record in adapters_of(model).values():
        record.other_values = {path: parameters[path].detach().clone() for path in record.other_values}


@torch.no_grad()
def exchange(model: nn.Module, record: AdapterRecord) -> None:
    """Swaps the parameters that are trained in full with their other values: the base's, or the adapter's."""
    parameters = named_parameters(model)
    for path, other in record.other_values.items():
        parameter = parameters[path]
        here = parameter.detach().clone()
        parameter.copy_(other)
        record.other_values[path] = here
    record.in_use = not record.in_use
