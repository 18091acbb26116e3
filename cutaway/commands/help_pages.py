r"""The page that `--help` shows: what a verb does, its flags under their headings, examples.

It fits the width of the terminal, from 60 to 110 columns, and is plain text: it can be searched, piped and copied.
"""

import inspect
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

from cutaway.tasks.abilities.flag import Flag

COLUMN = 24  # where explanations begin


def help_page(
    prog: str,
    target: type | str,
    flags: Sequence[Flag],
    headings: Sequence[str] = (),
    more: str = "",
    examples: Sequence[str] = (),
) -> str:
    """The page of a verb, from its dataclass, or from words and examples.

    With ``headings``, flags stand under theirs, in that order.
    ``more`` ends the page.
    """
    wide = page_width()
    places = [flag for flag in flags if flag.positional]
    named = [flag for flag in flags if not flag.positional]
    needed = [flag.spelled if flag.required else f"[{flag.spelled}]" for flag in places]
    needed += [flag.usage for flag in named if flag.required]
    usage = " ".join(["usage:", prog, *needed, "[flags]"])
    about = target if isinstance(target, str) else inspect.cleandoc(target.__doc__ or "")
    parts = [usage, paragraphs(about, wide)]
    if places:
        parts.append(_rows(places, wide))
    for heading in headings or ["flags"]:
        group = [flag for flag in named if not headings or flag.heading == heading]
        if group:
            parts.append(f"{heading}:\n{_rows(group, wide)}")
    if more:
        parts.append(more)
    examples = examples or getattr(target, "examples", ())
    if examples:
        parts.append("\n".join(["examples:", *(f"  {example}" for example in examples)]))
    return "\n\n".join(parts)


def page_width() -> int:
    """The columns that a page fills: those of the terminal within bounds, 80 where there is none."""
    return max(60, min(110, shutil.get_terminal_size((80, 24)).columns)) - 1


def paragraphs(text: str, wide: int) -> str:
    """Text folded to the width, paragraph by paragraph."""
    return "\n\n".join(textwrap.fill(part, wide, break_on_hyphens=False) for part in text.split("\n\n"))


def _rows(flags: Sequence[Flag], wide: int) -> str:
    return "\n".join(row(flag.usage, _explained(flag), wide) for flag in flags)


def row(name: str, words: str, wide: int, column: int = COLUMN) -> str:
    """``  --steps N             optimizer steps (default 800)``, folded to the width."""
    name = f"  {name}"
    lines = textwrap.wrap(words, wide - column, break_on_hyphens=False, break_long_words=False) or [""]
    first = name.ljust(column) + lines.pop(0) if len(name) <= column - 2 else name
    return "\n".join([first.rstrip(), *(" " * column + line for line in lines)])


def _explained(flag: Flag) -> str:
    """What a flag is for, with its choices, and its default where that tells something and the words do not."""
    more = [f"one of {', '.join(map(str, flag.choices))}"] if flag.choices else []
    if not (flag.required or flag.kind is bool or "default" in flag.help or _is_empty(flag.default)):
        more.append(f"default {flag.default:g}" if isinstance(flag.default, float) else f"default {flag.default}")
    about = f"turns this off: {flag.help}" if flag.spelled.startswith("--no-") else flag.help
    return f"{about} ({'; '.join(more)})" if more else about


def _is_empty(value: Any) -> bool:
    return value is None or value == () or (isinstance(value, str) and not value.strip())
