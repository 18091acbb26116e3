r"""Reads the words of a command line: flags with their values, and words by their place.

    --steps 800   --steps=800   --resume   RUN   --          (after `--` no word is a flag)

A mistake is a ValueError in one sentence: the rule, what came, the way out.
"""

import difflib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cutaway.commands.flag_types import flags_of
from cutaway.commands.help_pages import help_page
from cutaway.commands.messages import speak_of
from cutaway.tasks.abilities.flag import SHOWN, Flag

HELP = ("-h", "--help")


def parse_flags(target: type, prog: str, argv: Sequence[str], more: Callable[[], str] | None = None) -> Any:
    """A dataclass filled from the words of a command line. `--help` prints and exits; a mistake raises.

    ``more`` is a last part of the page, made only when the page is shown.
    """
    flags = flags_of(target)
    if asks_for_help(argv):
        exit_with_help(help_page(prog, target, flags, more=more() if more else ""))
    return target(**read_flags(flags, prog, argv))


def exit_with_help(page: str) -> None:
    """Shows the page and exits."""
    print(page)
    sys.exit(0)


def asks_for_help(argv: Sequence[str]) -> bool:
    """Whether the words have --help before any --."""
    words = argv[: list(argv).index("--")] if "--" in argv else argv
    return any(word in HELP for word in words)


def read_flags(flags: Sequence[Flag], prog: str, argv: Sequence[str]) -> dict[str, Any]:
    """The values of those flags that were given."""
    speak_of(flags, argv)
    known = {spelling: flag for flag in flags if not flag.positional for spelling in flag.spellings}
    places = [flag for flag in flags if flag.positional]
    found: dict[str, Any] = {}
    words = list(argv)
    before: Flag | None = None  # the flag whose value came last
    while words:
        word = words.pop(0)
        if word == "--":
            while words:
                _take_place(places, prog, found, words.pop(0), before, known)
        elif _looks_like_a_flag(word):
            before = _take_flag(known, prog, found, word, words)
        else:
            _take_place(places, prog, found, word, before, known)
    for flag in flags:
        if flag.required and found.get(flag.name, "") == "":
            shown = " ".join(
                [prog, *(f.metavar or f.spelled if f.positional else f.usage for f in flags if f.required)]
            )
            raise ValueError(
                f"{flag.spelled}, {re.split('[;(,]', flag.help)[0].strip()}, must be given, got none; write `{shown}`"
            )
    return found


def _looks_like_a_flag(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _is_number(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _take_flag(known: dict[str, Flag], prog: str, found: dict[str, Any], word: str, rest: list[str]) -> Flag:
    """Reads one flag and its values, which are taken from the rest."""
    name, equals, value = word.partition("=")
    name = name.replace("_", "-")
    if name not in known:
        raise ValueError(_unknown(known, prog, name))
    flag = known[name]
    if flag.name in found and not flag.several:
        raise ValueError(f"a flag must be given once, got {flag.spelled} twice; leave one out")
    if flag.kind is bool:
        if equals:
            raise ValueError(f"{name} must stand alone, got {word[:SHOWN]!r}; write {name}, or leave it out")
        found[flag.name] = not name.startswith("--no-") if flag.spelled.startswith("--no-") or flag.optional else True
        return flag
    values = [value] if equals else _values(flag, rest)
    if not values or (values == [""] and flag.kind is not str):
        raise ValueError(f"{flag.spelled} must have a value, got none; {flag.example()}")
    read = [flag.read(text) for text in values]
    found[flag.name] = (*found.get(flag.name, ()), *read) if flag.several else read[0]
    return flag


def _values(flag: Flag, rest: list[str]) -> list[str]:
    """Takes the values of a flag from the words that follow it; what begins with -- is the next flag."""
    values: list[str] = []
    while rest and not (rest[0].startswith("--") and rest[0].strip("-")) and rest[0] != "--":
        values.append(rest.pop(0))
        if not flag.several:
            break
    return values


def _take_place(
    places: list[Flag], prog: str, found: dict[str, Any], word: str, before: Flag | None, known: dict[str, Flag]
) -> None:
    """Gives a word without a flag to the next place that is free."""
    free = [flag for flag in places if flag.several or flag.name not in found]
    if free:
        read = free[0].read(word)
        found[free[0].name] = (*found.get(free[0].name, ()), read) if free[0].several else read
        return
    takes = f"{', '.join(flag.spelled for flag in places)} and flags" if places else "flags alone"
    name, equals, value = word.partition("=")
    near = _alike(name, known, cutoff=0.8)
    path = next((flag for flag in known.values() if flag.metavar == "PATH" and flag.name not in found), None)
    last = found.get(before.name) if before is not None and before.kind is str and not before.choices else None
    if near:
        way = f"did you mean {known[near].given(value) if equals else known[near].usage}?"
    elif path and os.path.exists(word):
        way = f"did you mean {path.given(word)}?"
    elif isinstance(last, str):
        assert before is not None
        way = f"put a value of several words in quotes: {before.spelled} {shlex.quote(f'{last} {word}')}"
    else:
        way = "leave it out"
    raise ValueError(f"`{prog}` takes {takes}, got the word {word[:SHOWN]!r} too; {way}")


def _unknown(known: dict[str, Flag], prog: str, name: str) -> str:
    begins = [spelling for spelling in known if name.strip("-") and spelling[2:].startswith(name.lstrip("-"))]
    near = begins[0] if len(begins) == 1 else _alike(name, known) or next(iter(begins), "")
    way = f"did you mean {near}?" if near else f"`{prog} --help` lists them"
    return f"a flag must be one that `{prog}` has, got {name[:SHOWN]}; {way}"


def _alike(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The flag that is spelled most like a word; empty if none is near."""
    names = {spelling.lstrip("-"): spelling for spelling in known}
    near = difflib.get_close_matches(word.lstrip("-").lower(), names, n=1, cutoff=cutoff)
    return names[near[0]] if near else ""
