r"""Addresses: the names by which trace and patch know the values inside a model.

An address is a dotted path of modules and taps, `blocks.0.attention.weights`. In a pattern `*` stands for any one
name (or part of one) and `**` for any depth. `address.input` is what goes into a module: its first argument; `input`
alone is what goes into the model. (Where a model has a sub-module of that name, the name means the sub-module.)

Wrappers are transparent: the path of a value is the same in a plain model, a compiled one, a distributed one.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

# Wrappers that name their inner module so that no one else would, and wrappers known by their class.
_INNER_NAMES = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module")
_INNER_BY_CLASS = {DistributedDataParallel: "module", DataParallel: "module", AveragedModel: "module"}


class Site(NamedTuple):
    """A place where a value can be read or changed: what a module gives, or what it is given."""

    module: nn.Module
    is_input: bool = False


class UnknownAddress(ValueError, KeyError):  # noqa: N818 -- reads as what it says
    """No such address. A KeyError too, so that what a trace saw can be asked like any mapping."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


def inner_name(module: nn.Module) -> str | None:
    """The attribute under which a wrapper keeps the module it wraps; None if it is no wrapper.

    A class of your own says so by an attribute: ``wraps = "base"``.
    """
    by_class = (name for wrapper, name in _INNER_BY_CLASS.items() if isinstance(module, wrapper))
    candidates = (getattr(type(module), "wraps", None), *by_class, *_INNER_NAMES)
    return next((name for name in candidates if name in module._modules), None)


def _callable(module: nn.Module) -> bool:
    # ModuleList and ModuleDict hold modules but have no forward of their own: no value to look at.
    forward = getattr(module.forward, "__func__", module.forward)
    return getattr(forward, "__name__", "") != "_forward_unimplemented"


def _walk(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    inner = inner_name(module)
    if inner == "_orig_mod":  # a compiled wrapper's own hooks stay outside the graph: its inner module has the address
        yield from _walk(module.get_submodule(inner), path)
        return
    yield path, module
    for name, child in module._modules.items():
        if child is None:
            continue
        if name != inner:
            if inner not in _INNER_NAMES:  # those own nothing beside the module they wrap
                yield from _walk(child, f"{path}.{name}" if path else name)
        else:
            found = _walk(child, path)
            next(found)  # every other wrapper stands for its inner module, whose value it may change
            yield from found


def named_sites(model: nn.Module) -> dict[str, nn.Module]:
    """Every address of the model and its module. A shared module stands under each of its names; "" is the model."""
    return {path: module for path, module in _walk(model, "") if _callable(module)}


def _regex(pattern: str) -> re.Pattern[str]:
    parts = pattern.split(".")
    out = ""
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if part == "**":
            out += r"[^.]+(?:\.[^.]+)*" if last else r"(?:[^.]+\.)*"
        else:
            out += re.escape(part).replace(r"\*", "[^.]*").replace(r"\?", "[^.]") + ("" if last else r"\.")
    return re.compile(out)


def matching(pattern: str, known: Iterable[str]) -> list[str]:
    """The known paths that a pattern names."""
    match = _regex(pattern).fullmatch
    return [path for path in known if path and match(path)]


def find_sites(known: Mapping[str, nn.Module], pattern: str) -> dict[str, Site]:
    """The sites that a pattern names. Raises UnknownAddress, with the nearest known addresses, if there is none."""
    found: dict[str, Site] = {}
    if pattern == "input" and "" in known:
        found["input"] = Site(known[""], is_input=True)
    if pattern.endswith(".input"):
        stems = matching(pattern.removesuffix(".input"), known)
        found |= {f"{path}.input": Site(known[path], is_input=True) for path in stems}
    found |= {path: Site(known[path]) for path in matching(pattern, known)}
    if not found:
        raise UnknownAddress(unknown_address(pattern, filter(None, known)))
    return found


def unknown_address(asked: str, known: Iterable[str], rule: str = "name a module or tap of the model") -> str:
    """The message for an address that is not there: the rule, what came, the way out."""
    known = list(known)
    stem = asked.removesuffix(".input")
    near = difflib.get_close_matches(stem, known, n=5, cutoff=0.5)
    if not near:  # the same last name elsewhere in the model is what most people mean
        near = [path for path in known if path.rsplit(".", 1)[-1] == stem.rsplit(".", 1)[-1]][:5]
    listed = ", ".join(near or known[:5]) or "none, there are no sub-modules"
    return f"an address must {rule}, got {asked!r}; the nearest known are: {listed}"


class Addresses(Mapping[str, Any]):
    """All addresses of a model, in order, each with the shape of its value where that is known (else None)."""

    def __init__(self, kinds: dict[str, str], shapes: dict[str, Any]) -> None:
        self._kinds = kinds
        self._shapes = shapes

    def __getitem__(self, address: str) -> Any:
        if address not in self._kinds:
            raise UnknownAddress(unknown_address(address, self._kinds))
        return self._shapes.get(address)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __repr__(self) -> str:
        if not self._kinds:
            return "no addresses: the model has no sub-modules"
        wide = max(map(len, self._kinds))
        wide_kind = max(map(len, self._kinds.values()))
        lines = []
        for path, kind in self._kinds.items():
            shape = self._shapes.get(path)
            lines.append(f"{path:<{wide}}  {kind:<{wide_kind}}  {'' if shape is None else shape}".rstrip())
        return "\n".join(lines)


__all__ = [
    *("Addresses", "Site", "UnknownAddress"),
    *("find_sites", "inner_name", "matching", "named_sites", "unknown_address"),
]
