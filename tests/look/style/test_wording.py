"""Words and numbers as they are shown."""

import math

import pytest

from cutaway.look.style.wording import duration, escape, flattened, number, visible, whole_characters


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("the", "the"),
        (" the", "␣the"),
        ("\n", "↵"),
        ("\t\r", "⇥␍"),
        ("\x00\x1b", "␀␛"),
        ("", "∅"),
        ("a" * 13, "a" * 11 + "…"),
        ("\ud800", "\ufffd"),
        ("日本", "日本"),
    ],
)
def test_tokens(token: str, shown: str):
    assert visible(token) == shown


def test_escape_leaves_no_markup_and_nothing_unwritable():
    assert escape("<b a='1' c=\"2\">&amp;") == "&lt;b a=&#x27;1&#x27; c=&quot;2&quot;&gt;&amp;amp;"
    shown = escape("a\x00b\ud800c\r\nd\te")
    assert shown == "a\ufffdb\ufffdc\nd\te"
    assert shown.encode()  # UTF-8 takes it
    assert whole_characters("x\udfffy😀") == "x\ufffdy😀"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (-3, "−3"),
        (1.0, "1"),
        (0.12345, "0.1235"),
        (123456.7, "123,457"),
        (-0.5, "−0.5"),
        (1e-9, "1e−09"),
        (1e20, "1e+20"),
        (math.nan, "not a number"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (None, "not a number"),
        (True, "True"),
        ("muon", "muon"),
    ],
)
def test_numbers(value: object, shown: str):
    assert number(value) == shown


def test_durations():
    assert [duration(s) for s in (0.04, 59.94, 60, 3599.4, 3600, 90000)] == [
        *("0.0 s", "59.9 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "25 h 0 min")
    ]


def test_settings_on_one_level():
    assert flattened({"a": {"b": {"c": 1}, "d": {}}, "e": [1]}) == {"a.b.c": 1, "a.d": {}, "e": [1]}
