"""Flags from dataclasses and functions, by tyro, with mistakes told in one line."""

import contextlib
import io
import re
from collections.abc import Sequence
from typing import Any

import tyro

CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)


def parse_flags(target: Any, prog: str, argv: Sequence[str]) -> Any:
    """What ``target`` (a dataclass or a function, which is called) makes of the flags. Help exits; a mistake raises."""
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            return tyro.cli(target, prog=prog, args=list(argv), config=CONFIG)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise ValueError(f"{_one_line(told.getvalue())}; see `{prog} --help`") from None


def _one_line(box: str) -> str:
    """The message inside tyro's frame."""
    lines = [re.sub(r"[│╭╮╰╯]", "", line).strip() for line in box.splitlines()]
    kept = []
    for line in lines:
        if line and set(line) <= {"─", " "}:
            break  # below the rule stands only where to find help
        if line and not re.fullmatch(r"─+ .* ─+", line):
            kept.append(line)
    return " ".join(kept).rstrip(". ") or "the flags could not be read"
