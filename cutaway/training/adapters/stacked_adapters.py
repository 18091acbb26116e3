r"""Adapters of an earlier tuning stay in a model, frozen, and those of the next come after them.

    y ← y + a₁(y);  y ← y + a₂(y)           a₁ as it was learned, a₂ = 0 at first

A bottleneck is not linear: no matrix can hold it, so it cannot be merged as LoRA can. Houlsby et al. 2019.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from cutaway.blocks.low_rank.bottleneck import Bottleneck, BottleneckAfter
from cutaway.inside.address_globs import named_sites
from cutaway.training.adapters.bottlenecks import adapter, find_modules, insert_bottlenecks
from cutaway.training.adapters.named_adapters import remove_adapter
from cutaway.training.adapters.records import AdapterRecord, adapters_of, settle_values

_NAME = "earlier{}"  # with its number


class StackedAdapter(NamedTuple):
    """The networks of one adapter by the addresses of the modules that they come after."""

    name: str
    parts: dict[str, Bottleneck]


def take_off(model: nn.Module) -> list[StackedAdapter]:
    """Takes all bottleneck adapters off a model, and gives them in their order; what was trained beside them stays."""
    found = []
    settle_values(model)  # taking one off puts back the values that it remembers of the head
    for name in [name for name, record in adapters_of(model).items() if record.kind == "adapter"]:
        parts = _parts(model, name)
        remove_adapter(model, name)
        found.append(StackedAdapter(name, parts))
    return found


def _parts(model: nn.Module, name: str) -> dict[str, Any]:
    """The networks of an adapter by address."""
    return {
        path: site.held.get_submodule(name)
        for path, site in named_sites(model).items()
        if isinstance(site, BottleneckAfter) and name in site.held
    }


def put_on(model: nn.Module, stack: list[StackedAdapter]) -> None:
    """Puts adapters onto a model, frozen, in their order."""
    for number, (_, parts) in enumerate(stack, 1):
        record = AdapterRecord(_NAME.format(number), "adapter")
        insert_bottlenecks(model, record, find_modules(model, list(parts)), parts, {})
    _freeze(model)


def rebuilt(model: Any, build: Callable[[Any], Any]) -> Any:
    """What ``build`` makes of a model without its adapters, with the same adapters on it again."""
    stack = take_off(model)
    if not stack:
        return build(model)
    new = build(model)
    put_on(model, stack)
    if new is not model:
        put_on(new, stack)
    return new


def stack_facts(model: nn.Module) -> list[dict[str, Any]]:
    """What config.json says of the adapters that a base brings, so that its model can be built again."""
    found: list[dict[str, Any]] = []
    for name in adapters_of(model):
        if name == _NAME.format(len(found) + 1):
            parts = _parts(model, name)
            found.append({"width": next(iter(parts.values())).hidden_width, "targets": list(parts)})
    return found


def build_stack(model: nn.Module, facts: list[dict[str, Any]]) -> None:
    """Puts untrained adapters onto a model, where a base had its own: their weights come from a file."""
    for number, told in enumerate(facts, 1):
        adapter(model, [str(path) for path in told["targets"]], int(told["width"]), _NAME.format(number))
    _freeze(model)


def _freeze(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, BottleneckAfter):
            module.held.requires_grad_(False)


__all__ = ["StackedAdapter", "build_stack", "put_on", "rebuilt", "stack_facts", "take_off"]
