r"""The arguments of a module, as addresses name them.

address.input           the first argument of the call
address.input.1         the second one: arguments are numbered from 0, in the order of the signature
address.input.mask      the argument of that name, however it was passed
"""

import inspect
import re
from typing import Any

from torch import nn

from cutaway.inside.wrappers import inner_name

Slot = int | str  # where an argument stands in a call: its place among args, or its name among kwargs


# What forward is taken for where it does not say: a builtin, for one.
_ANY = inspect.signature(lambda *args, **kwargs: None)


def _parameters(module: nn.Module) -> list[inspect.Parameter]:
    """The parameters of a module's forward; of a wrapper's, those of the module that it wraps."""
    while (inner := inner_name(module)) is not None:
        module = module.get_submodule(inner)
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):
        signature = _ANY
    return list(signature.parameters.values())


def argument_names(module: nn.Module) -> list[str]:
    """The names of a module's arguments, in order; without those that gather the rest, *args and **kwargs."""
    gathering = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [parameter.name for parameter in _parameters(module) if parameter.kind not in gathering]


def matching_arguments(module: nn.Module, pattern: str) -> list[str]:
    """The arguments that a pattern names: numbers and names as they are, globs by the names in the signature."""
    names = argument_names(module)
    kinds = {parameter.kind for parameter in _parameters(module)}
    if pattern.isdigit():
        return [pattern] if inspect.Parameter.VAR_POSITIONAL in kinds or int(pattern) < len(names) else []
    if "*" not in pattern and inspect.Parameter.VAR_KEYWORD in kinds:
        return [pattern]
    glob = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."))
    return [name for name in names if glob.fullmatch(name)]


def find_slot(module: nn.Module, argument: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Slot | None:
    """Where an argument ("" for the first) stands in this call; None if it was not passed."""
    if not argument:
        if args:
            return 0
        given = [name for name in argument_names(module) if name in kwargs]
        return next(iter([*given, *kwargs]), None)
    if argument in kwargs:
        return argument
    names = argument_names(module)
    if argument.isdigit():
        number = int(argument)
        if number < len(args):
            return number
        return names[number] if number < len(names) and names[number] in kwargs else None
    return names.index(argument) if argument in names[: len(args)] else None


__all__ = ["argument_names", "find_slot", "matching_arguments"]
