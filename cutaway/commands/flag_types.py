r"""The fields of a dataclass as flags (tasks/abilities/flag.py): a type says what a flag takes.

steps: int = 800                       --steps N
resume: bool = False                   --resume
warm: bool = True                      --no-warm
header: bool | None = None             --header, --no-header
seed: int | None = None                --seed N
design: Literal["quick", "gpt2"]       --design NAME
stop: tuple[str, ...] = ()             --stop TEXT ...
run: Annotated[str, PLACE]             RUN
"""

import dataclasses
import types
import typing
from dataclasses import MISSING
from typing import Any

from cutaway.recipes.settings import explanations, metadata
from cutaway.tasks.abilities.flag import Flag

PLACE = "place"  # marks a field that is given by its place, without a flag


def flags_of(kind: type, defaults: Any = None) -> list[Flag]:
    """The flags of a dataclass; ``defaults``, an instance, replaces the defaults of its fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    words, more = explanations(kind), metadata(kind)
    flags = []
    for field in dataclasses.fields(kind):
        required = field.default is MISSING and defaults is None
        default = None if required else getattr(defaults or kind, field.name)
        known = {name: value for name, value in more[field.name].items() if name in ("heading", "metavar")}
        shape = _shape(hints[field.name]) | known
        flags.append(Flag(field.name, default=default, required=required, help=words[field.name], **shape))
    return flags


def _shape(hint: Any) -> dict[str, Any]:
    """What a type says of a flag."""
    if typing.get_origin(hint) is typing.Annotated:
        hint, *marks = typing.get_args(hint)
        return _shape(hint) | ({"positional": True} if PLACE in marks else {})
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        # A setting that takes text or an object (a path or a DataFrame) takes text at the command line.
        inner = str if str in parts else parts[0]
        return _shape(inner) | {"optional": type(None) in typing.get_args(hint)}
    if typing.get_origin(hint) is typing.Literal:
        return {"choices": typing.get_args(hint)}
    if typing.get_origin(hint) is tuple:
        return _shape(typing.get_args(hint)[0]) | {"several": True}
    hint = str if hint is Any else hint
    assert hint in (str, int, float, bool), f"no flag can be made of {hint}"
    return {"kind": hint}
