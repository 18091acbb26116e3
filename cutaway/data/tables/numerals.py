r"""Numerals: numbers as people write them, and the notation that all numbers of a column share.

    1234.5   1,234.50   1.234,50   1 234,50   1'234.50   12,34,567      marks for decimals and between groups
    $3   3 €   EUR 3   12.5%                                            a unit before or behind; 12.5% is 12.5
    -3   −3   3-   (3)                                                  below zero

One numeral alone may be read in two ways (is 1,234 a thousand or a little more than one?). A column is read in the one
notation that fits all of it. What only looks like a number is no numeral: 007 and +4930123456 are codes.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

# Spaces that typographers put between groups, and apostrophes, to one of each; minus signs to a hyphen.
_ALIKE = str.maketrans(
    dict.fromkeys("\u00a0\u202f\u2009\u2007\u2008\u200a", " ") | dict.fromkeys("’ʼ`´", "'") | {"−": "-"}
)
_CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|TRY|RUB|SGD|HKD"
_WORDS = "kr|zł|Kč|Ft|Fr\\.|lei|лв|руб\\."
_UNIT = rf"(?:[A-Z]{{0,3}}[$€£¥₹₽₩₺₪₫₴₦฿₱₡₲₵₸₼₾]|{_CODES}|{_WORDS}|[%‰])"
_SHAPE = re.compile(
    rf"(?P<open>\()? ?(?P<sign>[+-])? ?(?P<before>{_UNIT})? ?(?P<sign2>[+-])?"
    r"(?P<body>[0-9.,' ]*[0-9][.,]?)(?P<exponent>[eE][+-]?[0-9]+)?"
    rf"(?P<sign3>-)? ?(?P<after>{_UNIT})? ?(?P<close>\))?"
)
_PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# A code, not a number: leading zeros; a telephone number; more digits than float64 can tell apart.
_CODE = re.compile(r"-?0[0-9]+|\+[0-9]{7,}|[+-]?[0-9]{16,}")

# Marks (decimals, groups) in the order in which they are tried where several fit: as in English, then by others.
_MARKS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))


def _body(decimal: str, group: str) -> re.Pattern[str]:
    d, g = re.escape(decimal), re.escape(group)
    plain = rf"[0-9]+({d}[0-9]*)?|{d}[0-9]+"
    threes = rf"[1-9][0-9]{{0,2}}({g}[0-9]{{3}})+({d}[0-9]*)?"
    lakhs = rf"[1-9][0-9]?(,[0-9]{{2}})+,[0-9]{{3}}({d}[0-9]*)?"  # India: 12,34,567
    return re.compile("|".join([plain, *([threes] if group else []), *([lakhs] if group == "," else [])]))


_BODIES = {marks: _body(*marks) for marks in _MARKS}


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written: the mark before decimals, the mark between groups, and the unit."""

    decimal: str = "."
    group: str = ""
    unit: str = ""

    @property
    def example(self) -> str:
        """A number in this notation, which `read_notation` reads; "" for plain ones, as a program writes them.

        >>> Notation(",", ".", "€").example
        '€1.234,56'
        """
        if self == Notation():
            return ""
        number = f"1{self.group}234{self.decimal}56"
        return f"{number}{self.unit}" if self.unit in ("%", "‰") else f"{self.unit}{number}"

    def number(self, text: str) -> float | None:
        """The number that a text is in this notation; None if it is none. A currency may be left out, % may not.

        >>> Notation(",", ".").number("-1.234,50"), Notation(unit="$").number("($3)"), Notation().number("1,5")
        (-1234.5, -3.0, None)
        """
        if _INFINITE.fullmatch(text):
            return float(text)
        parts = split_numeral(text)
        if parts is None or not _BODIES[self.decimal, self.group].fullmatch(parts.body):
            return None
        if parts.unit != self.unit and (parts.unit or self.unit in ("%", "‰")):
            return None
        body = parts.body.replace(self.group, "") if self.group else parts.body
        return parts.sign * float(body.replace(self.decimal, ".") + parts.exponent)


def read_notation(example: str) -> Notation:
    """The notation of an example.

    >>> read_notation("1.234,56%"), read_notation("")
    (Notation(decimal=',', group='.', unit='%'), Notation(decimal='.', group='', unit=''))
    """
    if not example:
        return Notation()
    found = re.fullmatch(r"(?P<before>.*?)1(?P<group>\D?)234(?P<decimal>\D)56(?P<after>.*)", example)
    if found is None:
        raise ValueError(f"a notation must be an example such as 1.234,56, got {example!r}; train the run again")
    return Notation(found["decimal"], found["group"], found["before"] or found["after"])


@dataclass(frozen=True)
class Numeral:
    """A numeral in its parts. ``body`` holds digits and marks."""

    sign: float
    body: str
    exponent: str
    unit: str

    @property
    def readings(self) -> frozenset[tuple[str, str]]:
        """The marks (decimals, groups) in which it is a number."""
        return _readings(self.body)


def split_numeral(text: str) -> Numeral | None:
    """The parts of a numeral; None if the text is none in any notation."""
    found = _SHAPE.fullmatch(text.translate(_ALIKE).strip())
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [mark for mark in (found["sign"], found["sign2"], found["sign3"], found["open"]) if mark]
    if len(signs) > 1 or (found["before"] and found["after"]):
        return None
    unit = (found["before"] or found["after"] or "").strip()
    body = found["body"].strip()
    return Numeral(-1.0 if signs and signs[0] != "+" else 1.0, body, found["exponent"] or "", unit)


@lru_cache(maxsize=4096)
def _readings_of_shape(shape: str) -> frozenset[tuple[str, str]]:
    return frozenset(marks for marks, pattern in _BODIES.items() if pattern.fullmatch(shape))


def _readings(body: str) -> frozenset[tuple[str, str]]:
    # Whether a pattern fits depends on marks, counts of digits and a zero at the start: bodies of one shape share it.
    first = "0" if body[0] == "0" else "1"
    return _readings_of_shape(
        first + re.sub("[0-9]", "1", body[1:]) if body[0].isdigit() else re.sub("[0-9]", "1", body)
    )


def is_plain(text: str) -> bool:
    """Whether a text is a number as programs write it, with a point for decimals and nothing else."""
    return _PLAIN.fullmatch(text) is not None


def is_infinite(text: str) -> bool:
    return _INFINITE.fullmatch(text) is not None


def is_code(text: str) -> bool:
    """Whether a text has digits alone and yet is no number: 007, +4930123456, or more digits than float64 holds."""
    return _CODE.fullmatch(text) is not None


@dataclass(frozen=True)
class Numerals:
    """What the texts of a column are as numerals: the marks that fit all, the unit, and what stands in the way.

    ``other`` is a text that is no numeral, ``code`` one that is a code, ``clash`` two that share no notation.
    """

    readings: frozenset[tuple[str, str]]
    unit: str = ""
    share: float = 1.0  # of the texts that are numerals
    other: str | None = None
    code: str | None = None
    clash: tuple[str, str] | None = None

    @property
    def decimal(self) -> str | None:
        """The decimal mark, if the texts leave no doubt; None if they have none, or could be read either way."""
        marks = {decimal for decimal, _ in self.readings}
        return marks.pop() if len(marks) == 1 else None

    def notation(self, decimal: str = ".") -> Notation:
        """The notation that fits; of several, one with this decimal mark."""
        first = sorted(_MARKS, key=lambda marks: marks[0] != decimal) if decimal == "," else _MARKS
        return Notation(*next(marks for marks in first if marks in self.readings), self.unit)


def find_numerals(texts: Collection[str]) -> Numerals:
    """What the different texts of a column are as numerals."""
    if all(map(_PLAIN.fullmatch, texts)):
        return _plain_numerals(texts)
    readings, units, seen = frozenset(_MARKS), dict[str, str](), dict[frozenset[tuple[str, str]], str]()
    infinite = 0
    others, clash = list[str](), None
    for text in texts:
        if is_infinite(text):
            infinite += 1
            continue
        parts = split_numeral(text)
        if parts is None or not parts.readings:
            others.append(text)
            continue
        units.setdefault(parts.unit, text)
        seen.setdefault(parts.readings, text)
        if clash is None and not readings & parts.readings:
            clash = (next((t for r, t in seen.items() if not r & parts.readings), next(iter(seen.values()))), text)
        readings &= parts.readings
    share = 1 - len(others) / len(texts)
    unit = next((u for u in units if u), "")
    if clash is None and (len(units.keys() - {""}) > 1 or (unit in ("%", "‰") and "" in units)):
        first, second, *_ = units.values()
        clash = (first, second)
    if infinite == len(texts):
        others = list(texts)  # words, with no number beside them
    return Numerals(readings, unit, share, others[0] if others else None, _first_code(texts), clash)


def _plain_numerals(texts: Collection[str]) -> Numerals:
    readings = frozenset(_MARKS)
    for text in texts:
        if "." in text:  # digits alone fit everything
            parts = split_numeral(text)
            readings &= parts.readings if parts is not None else readings
            if {decimal for decimal, _ in readings} == {"."}:
                break
    return Numerals(readings, code=_first_code(texts))


def _first_code(texts: Collection[str]) -> str | None:
    return next((text for text in texts if is_code(text)), None)


__all__ = [
    "Notation",
    "Numeral",
    "Numerals",
    "find_numerals",
    "is_code",
    "is_infinite",
    "is_plain",
    "read_notation",
    "split_numeral",
]
