r"""A flag is a field of a dataclass at the command line: its spelling, what it takes, and how text becomes its value.

steps: int = 800                       --steps N
resume: bool = False                   --resume
warm: bool = True                      --no-warm
header: bool | None = None             --header, --no-header
seed: int | None = None                --seed N
design: Literal["quick", "gpt2"]       --design NAME
stop: tuple[str, ...] = ()             --stop TEXT ...
run: Annotated[str, Positional]        RUN
"""

import dataclasses
import difflib
import math
import shlex
import types
import typing
from dataclasses import MISSING, dataclass
from typing import Any

import tyro

from cutaway.recipes.settings import explanations, metadata

LETTERS = {int: "N", float: "X", str: "TEXT"}
NAMES = {int: "a whole number", float: "a finite number"}
SHOWN = 40  # letters of a wrong value that a message repeats


@dataclass(frozen=True)
class Flag:
    """One field of a dataclass, as the command line spells it."""

    name: str
    kind: type = str
    choices: tuple[Any, ...] = ()
    default: Any = None
    required: bool = False
    about: str = ""
    heading: str = ""
    positional: bool = False
    optional: bool = False  # may be None
    several: bool = False
    metavar: str = ""

    @property
    def spelled(self) -> str:
        """``--steps``, ``--no-warm`` or ``RUN``."""
        if self.positional:
            return self.name.upper()
        return self.spellings[0]

    @property
    def spellings(self) -> tuple[str, ...]:
        """All words that give this flag: a switch that is neither on nor off by itself has two."""
        name = self.name.replace("_", "-")
        if self.kind is bool and self.optional:
            return (f"--{name}", f"--no-{name}")
        return (f"--no-{name}" if self.kind is bool and self.default is True else f"--{name}",)

    @property
    def usage(self) -> str:
        """The flag with what it takes: ``--steps N``."""
        if self.positional:
            return self.spelled
        if self.kind is bool:
            return ", ".join(self.spellings)
        letter = self.metavar or ("NAME" if self.choices else LETTERS[self.kind])
        return f"{self.spelled} {letter}{' ...' if self.several else ''}"

    def given(self, value: Any) -> str:
        """How a person gives this flag a value: ``--steps 800``."""
        if self.kind is bool:
            return self.spelled if value is not False or not self.optional else self.spellings[-1]
        text = " ".join(shlex.quote(str(one)) for one in (value if isinstance(value, tuple) else (value,)))
        return text if self.positional else f"{self.spelled} {text}"

    def read(self, text: str) -> Any:
        """The value of a text."""
        if self.choices:
            return self._choice(text)
        if self.kind is str:
            return text
        try:
            value = self.kind(text)
        except (ValueError, OverflowError):
            raise ValueError(f"{self._wrong(text)}; {self._nearest_number(text)}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{self._wrong(text)}; {self.example()}")
        return value

    def example(self) -> str:
        """A way out: the flag with its default, if that tells something."""
        if self.choices:
            return f"try {self.given(self.choices[0] if self.default is None else self.default)}"
        if isinstance(self.default, (int, float)) and self.kind is not bool:
            return f"try {self.given(self.default)}"
        return f"write {self.usage}"

    def _wrong(self, text: str) -> str:
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        return f"{self.spelled} must be {NAMES[self.kind]}, got {shown!r}"

    def _nearest_number(self, text: str) -> str:
        """What was meant by ``1,000``, ``1e3``, ``0,5`` or ``5%``, if that is clear."""
        plain = text.strip().replace(" ", "").replace("_", "")
        for guess in (plain.replace(",", ""), plain) if self.kind is int else (plain.replace(",", "."),):
            with_unit = {"k": 1e3, "K": 1e3, "M": 1e6, "%": 0.01}.get(guess[-1:], 1.0)
            try:
                value = float(guess if with_unit == 1.0 else guess[:-1]) * with_unit
            except ValueError:
                continue
            if math.isfinite(value) and abs(value) < 1e15 and (self.kind is float or value == int(value)):
                return f"try {self.given(int(value) if self.kind is int else float(f'{value:g}'))}"
        return self.example()

    def _choice(self, text: str) -> Any:
        known = {str(choice): choice for choice in self.choices}
        if text in known:
            return known[text]
        near = difflib.get_close_matches(text.lower(), known, n=1)
        way = f"did you mean {self.given(near[0])}?" if near else self.example()
        raise ValueError(f"{self.spelled} must be one of {', '.join(known)}, got {text[:SHOWN]!r}; {way}")


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
        flags.append(Flag(field.name, default=default, required=required, about=words[field.name], **shape))
    return flags


def _shape(hint: Any) -> dict[str, Any]:
    """What a type says of a flag."""
    if typing.get_origin(hint) is typing.Annotated:
        hint, *marks = typing.get_args(hint)
        return _shape(hint) | ({"positional": True} if tyro.conf.Positional in marks else {})
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
