r"""A flag is one value that a person chooses: a setting of a recipe, or what goes into or comes out of an ability.

The same description is read by the command line (its spelling, how text becomes its value), by `--help`, by HTTP and by
forms.

    Flag("steps", int, default=800)             --steps N
    Flag("resume", bool, default=False)         --resume
    Flag("warm", bool, default=True)            --no-warm
    Flag("header", bool, optional=True)         --header, --no-header
    Flag("design", choices=("quick", "gpt2"))   --design NAME
    Flag("stop", several=True, default=())      --stop TEXT ...
    Flag("inputs", positional=True)             INPUTS
"""

import difflib
import math
import shlex
from dataclasses import dataclass
from typing import Any

LETTERS = {int: "N", float: "X", str: "TEXT"}
NAMES = {int: "a whole number", float: "a finite number"}
SHOWN = 40  # letters of a wrong value that a message repeats


@dataclass(frozen=True)
class Flag:
    """A value that a person gives, or gets: its name, its kind, and how the command line spells and reads it."""

    name: str
    kind: type = str
    choices: tuple[Any, ...] = ()
    default: Any = None
    required: bool = False
    help: str = ""
    heading: str = ""
    positional: bool = False
    optional: bool = False  # may be None
    several: bool = False
    metavar: str = ""
    spelling: str = ""  # the word for it on the command line, where that is another than the name in Python
    short: str = ""  # a short spelling beside it: -k
    holds: str = ""  # what the value is, for forms: text, path, table, images, series, graph, vectors …
    on_terminal: bool = True  # False: for Python and HTTP alone

    @property
    def word(self) -> str:
        """The name as a person reads it."""
        return self.spelling or self.name

    @property
    def spelled(self) -> str:
        """``--steps``, ``--no-warm`` or ``RUN``."""
        if self.positional:
            return self.word.upper()
        return self.spellings[0]

    @property
    def spellings(self) -> tuple[str, ...]:
        """All words that give this flag: a switch that is neither on nor off by itself has two."""
        name = self.word.replace("_", "-")
        if self.kind is bool and self.optional:
            return (f"--{name}", f"--no-{name}")
        long = f"--no-{name}" if self.kind is bool and self.default is True else f"--{name}"
        return (long, self.short) if self.short else (long,)

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

    def to_dict(self) -> dict[str, Any]:
        """The description as plain data, for JSON: what a form or an HTTP client needs to know."""
        told: dict[str, Any] = {"name": self.name, "kind": self.kind.__name__, "help": self.help, "holds": self.holds}
        told |= {"choices": list(self.choices), "several": self.several, "required": self.required}
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        return told | {"default": default, "flag": self.spelled if self.on_terminal else ""}

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
