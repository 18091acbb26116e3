r"""Addresses: the names by which trace and patch know the values inside a model.

An address is a dotted path of modules and taps, `blocks.0.attention.weights`. In a pattern `*` stands for any one
name (or part of one) and `**` for any depth. `address.input` is what goes into a module: its first argument;
`address.input.1` and `address.input.mask` are others (arguments.py). `input` and `output` alone are what goes into the
model and what it returns; so is "" for the latter. (A sub-module of that name comes first: then the name means it.)

Wrappers are transparent: the path of a value is the same in a plain model, a compiled one, a distributed one. A module
made by TorchScript has an address, but nothing inside it has: no Python runs there.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from cutaway.inside.arguments import argument_names, matching_arguments
from cutaway.inside.wrappers import INNER_NAMES, inner_name
from cutaway.overriding import override


class Site(NamedTuple):
    """A place where a value can be read or changed: what a module gives, or an argument that it is given."""

    module: nn.Module
    is_input: bool = False
    argument: str = ""  # of an input: its name or number; "" for the first that was given


class UnknownAddress(ValueError, KeyError):  # noqa: N818 -- reads as what it says
    """No such address. A KeyError too, so that what a trace saw can be asked like any mapping."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


def _callable(module: nn.Module) -> bool:
    # ModuleList and ModuleDict hold modules but have no forward of their own: no value to look at.
    forward = getattr(module.forward, "__func__", module.forward)
    return getattr(forward, "__name__", "") != "_forward_unimplemented"


def walk_modules(module: nn.Module, path: str = "", scripted: bool = True) -> Iterator[tuple[str, nn.Module]]:
    """Every module with its path, wrappers left out; ``scripted``: also those inside a module made by TorchScript."""
    inner = inner_name(module)
    if inner == "_orig_mod":  # a compiled wrapper's own hooks stay outside the graph: its inner module has the address
        yield from walk_modules(module.get_submodule(inner), path, scripted)
        return
    yield path, module
    if not scripted and isinstance(module, torch.jit.ScriptModule):
        return
    for name, child in module._modules.items():
        if child is None:
            continue
        if name != inner:
            if inner not in INNER_NAMES:  # those own nothing beside the module they wrap
                yield from walk_modules(child, f"{path}.{name}" if path else name, scripted)
        else:
            found = walk_modules(child, path, scripted)
            next(found)  # every other wrapper stands for its inner module, whose value it may change
            yield from found


def named_sites(model: nn.Module) -> dict[str, nn.Module]:
    """Every address of the model and its module. A shared module stands under each of its names; "" is the model."""
    return {path: module for path, module in walk_modules(model, scripted=False) if _callable(module)}


def address_regex(pattern: str) -> re.Pattern[str]:
    """A pattern of addresses as a regular expression."""
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
    match = address_regex(pattern).fullmatch
    return [path for path in known if path and match(path)]


def find_sites(known: Mapping[str, nn.Module], pattern: str) -> dict[str, Site]:
    """The sites that a pattern names. Raises UnknownAddress, with the nearest known addresses, if there is none."""
    found = {path: Site(known[path]) for path in matching(pattern, known)}
    if not found and pattern in ("", "output") and "" in known:
        return {pattern: Site(known[""])}
    owners: list[str] = []
    for stem, argument in _split_input(pattern):
        paths = matching(stem, known) if stem else [path for path in known if not path]
        owners += paths
        for path in paths:
            for name in matching_arguments(known[path], argument) if argument else [""]:
                found.setdefault(".".join(filter(None, [path, "input", name])), Site(known[path], True, name))
    if not found and owners:
        arguments = [f"{path}.input.{name}".lstrip(".") for path in owners for name in argument_names(known[path])]
        raise UnknownAddress(unknown_address(pattern, arguments, "name an argument of the module"))
    if not found:
        raise UnknownAddress(unknown_address(pattern, filter(None, known)))
    return found


def _split_input(pattern: str) -> list[tuple[str, str]]:
    """The ways to read a pattern as a module's part and an argument's; none if it names no input.

    >>> _split_input("blocks.*.input"), _split_input("blocks.0.input.mask"), _split_input("blocks.0")
    ([('blocks.*', '')], [('blocks.0', 'mask')], [])
    """
    parts = pattern.split(".")
    found = [(".".join(parts[:-1]), "")] if parts[-1] == "input" else []
    return found + ([(".".join(parts[:-2]), parts[-1])] if "input" in parts[-2:-1] else [])


def unknown_address(asked: str, known: Iterable[str], rule: str = "name a module or tap of the model") -> str:
    """The message for an address that is not there: the rule, what came, the way out."""
    known = list(known)
    stem = asked.removesuffix(".input") or asked
    near = difflib.get_close_matches(stem, known, n=5, cutoff=0.5)
    if not near:  # the same last name elsewhere in the model is what most people mean
        near = [path for path in known if path.rsplit(".", 1)[-1] == stem.rsplit(".", 1)[-1]][:5]
    listed = ", ".join(near or known[:5]) or "'output' and 'input', as there are no sub-modules"
    return f"an address must {rule}, got {asked!r}; the nearest known are: {listed}"


class Addresses(Mapping[str, Any]):
    """All addresses of a model, in order, each with the shape of its value where that is known (else None)."""

    def __init__(self, kinds: dict[str, str], shapes: dict[str, Any]) -> None:
        self._kinds = kinds
        self._shapes = shapes

    @override
    def __getitem__(self, address: str) -> Any:
        if address not in self._kinds:
            raise UnknownAddress(unknown_address(address, self._kinds))
        return self._shapes.get(address)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    @override
    def __len__(self) -> int:
        return len(self._kinds)

    @override
    def __repr__(self) -> str:
        if not self._kinds:
            return "no addresses but 'output' and 'input': the model has no sub-modules"
        wide = max(map(len, self._kinds))
        wide_kind = max(map(len, self._kinds.values()))
        lines = []
        for path, kind in self._kinds.items():
            shape = self._shapes.get(path)
            lines.append(f"{path:<{wide}}  {kind:<{wide_kind}}  {'' if shape is None else shape}".rstrip())
        return "\n".join(lines)


__all__ = [
    *("Addresses", "Site", "UnknownAddress"),
    *("address_regex", "find_sites", "matching", "named_sites", "unknown_address", "walk_modules"),
]
