r"""Checks of a recipe's settings, before anything is begun: a message names the setting, what came and a way out."""

import dataclasses
import difflib
import math
import os
import types
import typing
from typing import Any


def expect_settings(kind: type, given: dict[str, Any]) -> None:
    """Every name must be that of a setting."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            way = f"did you mean {near[0]}?" if near else f"`cutaway train {kind.name} --help` lists them"  # type: ignore[attr-defined]
            raise ValueError(f"a setting must be one that the recipe has, got {name!r}; {way}")


def expect_types(settings: Any) -> None:
    """Every value must be of its setting's type, and finite."""
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        value, hint = getattr(settings, field.name), hints[field.name]
        if typing.get_origin(hint) is typing.Literal:
            _expect_choice(field.name, value, typing.get_args(hint))
            continue
        allowed = {float: (int, float)}.get(hint, hint)
        wrong = not isinstance(value, allowed) or (
            isinstance(value, bool) and bool not in (hint, *typing.get_args(hint))
        )
        if wrong and _is_made_plain(type(settings), field.name, value):
            raise ValueError(
                f"{field.name} must be text, got {type(value).__name__}; "
                f"{type(settings).__name__}.make({field.name}=…) takes it, and so does cut.train"
            )
        if wrong or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(
                f"{field.name} must be {_in_words(hint)}, got {value!r}; try {field.name}={field.default!r}"
            )


def _is_made_plain(kind: type, name: str, value: Any) -> bool:
    """Whether `Recipe.make` makes text of a value: of a path, and of data in memory."""
    in_memory = name in ("data", "vertices") and bool(getattr(kind, "memory", ""))
    return hasattr(kind, "make") and (isinstance(value, os.PathLike) or in_memory)


def _in_words(hint: Any) -> str:
    names = {int: "a whole number", float: "a finite number", str: "text", bool: "True or False"}
    if isinstance(hint, types.UnionType):
        return " or ".join(_in_words(part) for part in typing.get_args(hint))
    return names.get(hint, str(hint))


def _expect_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    if value not in known:
        near = difflib.get_close_matches(str(value), [str(k) for k in known], n=1)
        way = f"did you mean {near[0]}?" if near else "pick one of these"
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {value!r}; {way}")


def expect_at_least(settings: Any, least: float, *names: str) -> None:
    """Values must not be below ``least``."""
    for name in names:
        value = getattr(settings, name)
        if value < least:
            default = next(f.default for f in dataclasses.fields(settings) if f.name == name)
            raise ValueError(f"{name} must be at least {least}, got {value}; try {name}={default}")


def expect_share(settings: Any, *names: str) -> None:
    """Values must be from 0 to below 1."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise ValueError(f"{name} must be from 0 to below 1, got {value}; 0 switches it off")


def expect_heads(settings: Any) -> None:
    """The width must fall into heads of one size."""
    width, heads = settings.width, settings.heads
    if width % heads:
        from cutaway.blocks.checks import near_divisors  # here: only those who err wait for torch

        near = near_divisors(width, heads, 1)[0]
        raise ValueError(f"width must be a multiple of heads, got width={width}, heads={heads}; try heads={near}")
