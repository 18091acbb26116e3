r"""The names of a model's tensors in an adapter's file: those of transformers where a family has it, else its own.

    ours                                            theirs
    blocks.0.attention.qkv, part "queries"          bert.encoder.layer.0.attention.self.query
    blocks.0.attention.qkv, as a whole              transformer.h.0.attn.c_attn        (GPT-2)

So peft finds every update where transformers has that layer, and we find what peft has written.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from cutaway.blocks.low_rank.lora import WHOLE
from cutaway.hub.adapter_filters import Filters
from cutaway.hub.family_choice import CheckpointLayout, layout_of
from cutaway.hub.tensor_rules import Rule, Rules
from cutaway.training.adapters.records import named_parameters
from cutaway.training.adapters.targets import Layer, Target, lora_layers


class Place(NamedTuple):
    """A module of the file: the layer, the columns of its matrix (inputs, outputs) that it is, and what they are."""

    name: str
    layer: Layer
    columns: slice
    part: str

    @property
    def target(self) -> Target:
        return Target(self.layer, self.part)


class AdapterNames:
    """The names of one model's linear layers and parameters in an adapter's file."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.parameters = named_parameters(model)
        self.rules, self.old_names = _rules(model, self.parameters)
        self.layers = {layer.path: layer for layer in lora_layers(model)[0].values()}
        self.in_file = {path: self._places(layer) for path, layer in self.layers.items()}
        self.known = {place.name: place for places in self.in_file.values() for place in places}
        if not any(f"{path}.weight" in self.rules for path in self.layers):  # own names: parts have theirs too
            for layer in self.layers.values():
                self.known |= {place.name: place for place in _own_parts(layer)}

    def _places(self, layer: Layer) -> list[Place]:
        """The modules of the file that make up a layer: one, or one for each of its parts."""
        rule = self.rules.get(f"{layer.path}.weight")
        if rule is None:
            return [Place(layer.path, layer, slice(None), WHOLE)]
        modules = [name.removesuffix(".weight") for name in rule.theirs]
        if len(modules) == 1:
            return [Place(modules[0], layer, slice(None), WHOLE)]
        return [place._replace(name=name) for name, place in zip(modules, _own_parts(layer), strict=True)]

    def find(self, name: str) -> Place | None:
        """The layer that a module of a file names; a prefix more or less (of models with a head) is no matter."""
        name = self.old_names.get(f"{name}.weight", f"{name}.weight").removesuffix(".weight")
        if name in self.known:
            return self.known[name]
        near = [known for known in self.known if known.endswith(f".{name}") or name.endswith(f".{known}")]
        return self.known[near[0]] if len(near) == 1 else None

    def filters_of(self, module: str) -> Filters:
        """The filters of a module of the file, where it is a convolution."""
        place = self.find(module)
        if place is None:
            return Filters()
        rule = self.rules.get(f"{place.layer.path}.weight")
        if rule is not None:
            return Filters(rule.shape[1:])
        weight: Any = place.layer.base.weight
        return Filters(tuple(weight.shape[1:]), place.layer.base.groups) if weight.ndim > 2 else Filters()  # type: ignore[arg-type]

    def tensors_of(self, path: str, value: Tensor | None = None) -> dict[str, Tensor]:
        """A parameter as the file has it: under one name or, split, under several."""
        value = self.parameters[path].detach() if value is None else value
        rule = self.rules.get(path, Rule((path,)))
        return {name: x for name, x in rule.save(value.cpu()).items() if name in rule.theirs}

    def owner_of(self, name: str) -> str | None:
        """The parameter that a tensor of a file belongs to; None if there is none."""
        name = self.old_names.get(name, name)
        for path in self.parameters:
            if name in self.rules.get(path, Rule((path,))).theirs:
                return path
        return None

    def load(self, path: str, tensors: dict[str, Tensor]) -> Tensor:
        """A parameter from tensors of a file; those that are not there stay as they are."""
        here = self.tensors_of(path)

        def take(names: tuple[str, ...]) -> Tensor:
            found = []
            for name in names:
                old = next((old for old, new in self.old_names.items() if new == name), name)
                given = tensors.get(name, tensors.get(old, here[name]))
                if given.shape != here[name].shape:
                    raise ValueError(
                        f"an adapter must fit its model, got {tuple(given.shape)} in the file and "
                        f"{tuple(here[name].shape)} in the model for {name}; build the model with the same head"
                    )
                found.append(given)
            return torch.cat([x.to(found[0].dtype) for x in found]) if len(found) > 1 else found[0]

        return self.rules.get(path, Rule((path,))).load(take)


def _own_parts(layer: Layer) -> list[Place]:
    """The maps that a layer holds side by side, under addresses of their own."""
    owner, places, first = layer.path.rpartition(".")[0], [], 0
    for part, size in layer.parts.items():
        places.append(Place(f"{owner}.{part}".lstrip("."), layer, slice(first, first + size), part))
        first += size
    return places


def _rules(model: nn.Module, parameters: Iterable[str]) -> tuple[Rules, dict[str, str]]:
    """How a family writes the model's parameters, none where no family has the model; and older names of theirs."""
    layout = _layout(getattr(model, "spec", None))
    if layout is None:
        return {}, {}
    older: dict[str, str] = {}
    rules: Rules = {}
    for path in parameters:
        if path in layout.rules:
            rule = layout.rules[path]
            theirs = tuple(_renamed(name, layout.modules) for name in rule.theirs)
            older |= {old: new for old, new in zip(rule.theirs, theirs, strict=True) if old != new}
            rules[path] = replace(rule, theirs=theirs)
    return rules, older


def _layout(spec: Any) -> CheckpointLayout | None:
    """The layout of a model's family; of what is below its head, where no family has that head."""
    for part in (lambda: spec, lambda: spec.but(head=None)):
        try:
            return layout_of(part())
        except (ValueError, AttributeError):  # a model without a spec, or whose spec has no head
            continue
    return None


def _renamed(name: str, patterns: tuple[tuple[str, str], ...]) -> str:
    for pattern, new in patterns:
        name = re.sub(pattern, new, name)
    return name
