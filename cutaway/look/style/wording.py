r"""Formats words and numbers for display: tokens with visible blanks, short numbers, text that is safe in HTML."""

import html
import math
import re
from collections.abc import Mapping
from typing import Any

_BLANKS = {" ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\x7f": "␡"}
# What neither HTML nor UTF-8 can hold: control characters but tab and newline, and halves of surrogate pairs.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def whole_characters(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8 cannot hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def writable(text: str) -> str:
    """The text with a mark in place of what neither HTML nor SVG nor UTF-8 can hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def visible(token: str, longest: int = 12) -> str:
    r"""A token with its blanks and control characters made visible, cut if long.

    >>> visible(" the\n")
    '␣the↵'
    """
    shown = "".join(_BLANKS.get(c, chr(0x2400 + ord(c)) if ord(c) < 32 else c) for c in token) or "∅"
    return short(shown, longest)


def short(text: str, longest: int) -> str:
    """A name as it is, cut if long.

    >>> short("gradient descent", 10)
    'gradient …'
    """
    shown = writable(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def quoted(token: str, longest: int = 24) -> str:
    r"""A token as it is written within a sentence, in quotes, cut if long.

    >>> quoted(" the\n")
    "' the\\n'"
    """
    return repr(token if len(token) <= longest else f"{token[: longest - 1]}…")


def escape(text: str) -> str:
    """Any text as HTML that shows it."""
    return html.escape(writable(text.replace("\r\n", "\n")), quote=True)


def number(value: Any, digits: int = 4) -> str:
    """A value as a person writes it: thousands set apart, few digits.

    >>> number(1234567), number(0.000123456), number(2.0), number(None)
    ('1,234,567', '0.0001235', '2', 'not a number')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        return str(value)
    if value is None or math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if isinstance(value, int) or 10**digits <= abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def duration(seconds: float) -> str:
    """A stretch of time.

    >>> duration(3.21), duration(75), duration(7384)
    ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def flattened(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as one level, with dotted names.

    >>> flattened({"norm": {"kind": "rms"}, "width": 8})
    {'norm.kind': 'rms', 'width': 8}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
