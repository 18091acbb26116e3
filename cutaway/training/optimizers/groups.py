r"""Builds PyTorch's optimizers for a model, and puts each parameter into the group that suits it.

    W ← W − η (step + λ W)      matrices: pulled towards zero by the weight decay λ (adamw, muon)
    b ← b − η step              norms, biases and other vectors: no weight decay

With "muon", the matrices inside the network get Muon and everything else AdamW, each with its own rate. Only "adamw"
and "muon" decay as above (Loshchilov & Hutter 2019); the others add λ W to the gradient, as torch.optim does, so that
momentum and scaling act on the decay too. Notes: N0 §1.5, N3 §3.4. Written out: equations.py.

Modules declare what their parameters are; what is torch's own is listed here once (`_TORCH_MAPS` and its neighbours):

    linear_maps = {"weight": -1}        parameters that are matrices of linear maps, and the axis of their outputs
    lookup_tables = ("weight",)         parameters of which rows are looked up: embeddings
    undecayed = ("weight", "bias")      parameters that no weight decay is for, whatever their shape: norms
    fused_parts = {"qkv": (8, 4, 4)}    children that hold several maps side by side: their sizes, or their number
    output_layers = ("unembed",)        children whose linear map makes the outputs
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.training.optimizers.muon import Muon
from cutaway.training.optimizers.names import NAMES

# What torch's own modules would declare, and what people call an output layer in a model that declares nothing.
_TORCH_MAPS: dict[type[nn.Module], dict[str, int]] = {
    nn.Linear: {"weight": 0},
    nn.MultiheadAttention: {"in_proj_weight": 0},
}
_TORCH_TABLES = (nn.Embedding,)
_TORCH_NORMS = (nn.LayerNorm, nn.RMSNorm)  # those whose weights may have several axes
_OUTPUT_NAMES = ("unembed", "classify", "head", "lm_head", "output")


def build_optimizers(
    model: nn.Module,
    name: str,
    rate: float,
    weight_decay: float = 0.0,
    betas: tuple[float, float] = (0.9, 0.95),
    momentum: float = 0.95,
    muon_rate: float = 0.02,
    shares: Mapping[nn.Parameter, float] | None = None,
) -> list[Optimizer]:
    """One optimizer, or two for Muon. Every parameter that wants a gradient is in exactly one group.

    ``betas`` are Adam's; ``momentum`` is Muon's, momentum's and Nesterov's. ``shares`` of the rate are for parameters
    that learn slower than the others, such as the lower layers of a model that is tuned (tuning/layer_rates.py).
    """
    expect_choice("optimizer", name, NAMES)
    expect_positive(rate=rate, muon_rate=muon_rate)
    if not weight_decay >= 0:
        raise ValueError(f"weight_decay must be 0 or above, got {weight_decay}; try weight_decay=0.1")
    for what, value in (("momentum", momentum), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
        if not 0 <= value < 1:
            raise ValueError(f"{what} must be from 0 to below 1, got {value}; try 0.9")
    learned = [p for p in model.parameters() if p.requires_grad]
    if not learned:
        raise ValueError("training needs parameters that may change, got none; unfreeze some of the model")
    hidden = hidden_matrices(model) if name == "muon" else []
    taken = {id(p) for group in hidden for p in group["params"]}
    rest = [p for p in learned if id(p) not in taken]
    vectors = _vectors(model)
    groups: list[dict[str, Any]] = [
        {"params": [p for p in rest if id(p) not in vectors], "weight_decay": weight_decay},
        {"params": [p for p in rest if id(p) in vectors], "weight_decay": 0.0},
    ]
    groups = [part for group in groups if group["params"] for part in _by_share(group, rate, shares or {})]
    hidden = [part for group in hidden for part in _by_share(group, muon_rate, shares or {})]
    optimizers = [_plain(name, groups, rate, betas, momentum)] if groups else []
    if hidden:
        optimizers.append(Muon(hidden, lr=muon_rate, momentum=momentum, weight_decay=weight_decay))
    set_rate(optimizers, 1.0)
    return optimizers


def _by_share(group: dict[str, Any], rate: float, shares: Mapping[nn.Parameter, float]) -> Iterator[dict[str, Any]]:
    """A group cut into those with one learning rate each, the highest first."""
    by_share: dict[float, list[nn.Parameter]] = {}
    for parameter in group["params"]:
        by_share.setdefault(shares.get(parameter, 1.0), []).append(parameter)
    for share, parameters in sorted(by_share.items(), reverse=True, key=lambda item: item[0]):
        yield group | {"params": parameters, "lr": rate * share}


def _plain(
    name: str, groups: list[dict[str, Any]], rate: float, betas: tuple[float, float], momentum: float
) -> Optimizer:
    if name in ("muon", "adamw"):
        return torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True)
    if name in ("adam", "amsgrad"):
        return torch.optim.Adam(groups, lr=rate, betas=betas, fused=True, amsgrad=name == "amsgrad")
    if name == "nadam":
        return torch.optim.NAdam(groups, lr=rate, betas=betas)
    if name in ("sgd", "momentum", "nesterov"):
        weight = 0.0 if name == "sgd" else momentum
        return torch.optim.SGD(groups, lr=rate, momentum=weight, nesterov=name == "nesterov" and momentum > 0)
    kinds: dict[str, Any] = {
        "adagrad": torch.optim.Adagrad,
        "rmsprop": torch.optim.RMSprop,
        "adadelta": torch.optim.Adadelta,
    }
    return kinds[name](groups, lr=rate)


def set_rate(optimizers: list[Optimizer], share: float) -> None:
    """Every group's learning rate at this share of its full one, which is the one that it began with."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("full_lr", group["lr"]) * share


def rates_of(optimizers: list[Optimizer]) -> dict[str, float]:
    """The learning rates in force, by name: rate, and muon_rate of the matrices that Muon trains."""
    return {
        getattr(optimizer, "rate_name", "rate"): max(group["lr"] for group in optimizer.param_groups)
        for optimizer in optimizers
    }


def hidden_matrices(model: nn.Module) -> list[dict[str, Any]]:
    """Muon's parameter groups: the matrices of linear maps inside the network, fused ones with their parts.

    Not inside are embeddings, and output layers: those declared or named so, and a linear map that ends the whole
    model. Nor are maps with a single input or output, which are vectors. A map of real inputs (the columns of a table,
    the patches of an image) counts as inside.
    """
    left_out = _lookup_tables(model) | output_weights(model)
    groups: dict[Any, list[nn.Parameter]] = {}
    for weight, axis, parts in _maps(model):
        if id(weight) in left_out or not weight.requires_grad or min(weight.shape) == 1:
            continue
        left_out.add(id(weight))  # a shared one counts once
        groups.setdefault((axis, parts), []).append(weight)
    return [{"params": found, "axis": axis, "parts": parts} for (axis, parts), found in groups.items()]


def _maps(model: nn.Module) -> Iterator[tuple[nn.Parameter, int, int | tuple[int, ...]]]:
    """The weight of every linear map, the axis of its outputs, and the parts that these fall into."""
    fused: dict[int, int | tuple[int, ...]] = {}
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention) and module.in_proj_weight is not None:
            fused[id(module.in_proj_weight)] = 3
        for child, parts in _declared(module, "fused_parts").items():
            fused |= {id(weight): parts for weight, _ in _own_maps(getattr(module, child, None))}
    for module in model.modules():
        for weight, axis in _own_maps(module):
            yield weight, axis, fused.get(id(weight), 1)


def _own_maps(module: nn.Module | None) -> Iterator[tuple[nn.Parameter, int]]:
    """The matrices that a module itself owns; one that is computed from others (weight norm) is not learned itself."""
    torchs = (maps for kind, maps in _TORCH_MAPS.items() if isinstance(module, kind))
    for name, axis in (_declared(module, "linear_maps") or next(torchs, {})).items():
        weight = getattr(module, name, None)
        if isinstance(weight, nn.Parameter):
            yield weight, axis


def _declared(module: nn.Module | None, what: str) -> Mapping[str, Any]:
    """What a module declares under that name: a dict, or a tuple of names; an attribute of another type is ignored."""
    found = getattr(module, what, None)
    if isinstance(found, tuple) and all(isinstance(name, str) for name in found):
        return dict.fromkeys(found)
    return found if isinstance(found, Mapping) and not isinstance(found, nn.Module) else {}


def _declared_parameters(model: nn.Module, what: str) -> set[int]:
    return {
        id(getattr(module, name))
        for module in model.modules()
        for name in _declared(module, what)
        if hasattr(module, name)
    }


def _lookup_tables(model: nn.Module) -> set[int]:
    torchs = {id(module.weight) for module in model.modules() if isinstance(module, _TORCH_TABLES)}
    return torchs | _declared_parameters(model, "lookup_tables")


def output_weights(model: nn.Module) -> set[int]:
    """The ids of the weights that make a model's outputs."""
    layers = [module for path, module in model.named_modules() if path.rpartition(".")[2] in _OUTPUT_NAMES]
    layers += [
        getattr(module, child, None) for module in model.modules() for child in _declared(module, "output_layers")
    ]
    if not _declared(model, "output_layers"):
        layers.append(_last(model))
    return {id(weight) for layer in layers for weight, _ in _own_maps(layer)}


def _last(model: nn.Module) -> nn.Module:
    """The module with parameters that ends a model which does not say what its outputs are."""
    last = model
    while children := [child for child in last.children() if any(True for _ in child.parameters())]:
        wraps_one = len(children) == 1 and not isinstance(last, (nn.ModuleList, nn.ModuleDict))
        if not (last is model or isinstance(last, nn.Sequential) or wraps_one):
            break
        last = children[-1]
    return last


def _vectors(model: nn.Module) -> set[int]:
    """Parameters without decay: vectors, also with axes of length one (ViT's class token), and weights of norms."""
    norms = {id(p) for module in model.modules() if isinstance(module, _TORCH_NORMS) for p in module.parameters()}
    flat = {id(p) for p in model.parameters() if p.ndim < 2 or (p.ndim > 2 and p.shape[:-1].numel() == 1)}
    return norms | flat | _declared_parameters(model, "undecayed")
