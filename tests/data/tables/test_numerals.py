"""Numerals in every notation, and the one notation that a column shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.tables.numerals import Notation, find_numerals, is_code, read_notation, split_numeral

EVERY = [Notation(decimal, group) for decimal in ".," for group in ("", ".", ",", " ", "'") if group != decimal]


@pytest.mark.parametrize(
    ("texts", "example", "numbers"),
    [
        (["1", "2.5", "-3e2", ".5", "+7"], "", [1, 2.5, -300, 0.5, 7]),
        (["1.234,56", "12,5"], "1.234,56", [1234.56, 12.5]),
        (["1,234.50", "12.5", "1234.5"], "1,234.56", [1234.5, 12.5, 1234.5]),
        (["1,234,567", "12"], "1,234.56", [1234567, 12]),
        (["12,34,567.50", "1,000"], "1,234.56", [1234567.5, 1000]),  # Indian groups
        (["1 234,5", "1\u00a0234,5", "1\u202f234,5", "1\u2009234,5"], "1 234,56", [1234.5] * 4),
        (["1'234.5", "1’234.5"], "1'234.56", [1234.5] * 2),
        (["0,123", "1,5"], "1234,56", [0.123, 1.5]),
        (["12.5%", "3 %"], "1234.56%", [12.5, 3]),
        (["$3", "$ 4.50", "-$5", "$-6", "($7)", "8", "US$9"][:6], "$1234.56", [3, 4.5, -5, -6, -7, 8]),
        (["3 €", "4,50 €", "€5"], "€1234,56", [3, 4.5, 5]),
        (["EUR 1.000,50", "2.000 EUR"], "EUR1.234,56", [1000.5, 2000]),
        (["R$ 4,50"], "R$1234,56", [4.5]),
        (["(3)", "−4", "5-", "6"], "", [-3, -4, -5, 6]),
    ],
)
def test_notations_of_columns(texts, example, numbers):
    found = find_numerals(texts)
    assert (found.other, found.code, found.clash) == (None, None, None)
    notation = found.notation()
    assert notation.example == example
    assert read_notation(example) == notation
    assert [notation.number(text) for text in texts] == numbers


@pytest.mark.parametrize(
    "text", ["", "abc", "1-2", "12.05.2023", "1,2,3", "$", "3 $ 4", "(-3)", "(3", "--3", "1 2", "$3€"]
)
def test_no_numerals(text):
    parts = split_numeral(text)
    assert parts is None or not parts.readings


def test_one_mark_alone_is_read_by_the_table():
    thousands = find_numerals(["1,234", "5,678"])
    assert thousands.decimal is None
    assert thousands.notation(".").number("1,234") == 1234
    assert thousands.notation(",").number("1,234") == 1.234
    points = find_numerals(["1.234", "5.678"])
    assert points.notation(".").number("1.234") == 1.234
    assert points.notation(",").number("1.234") == 1234
    assert find_numerals(["1.234", "5.6"]).decimal == "."
    assert find_numerals(["1.234", "5,6"]).decimal == ","


@pytest.mark.parametrize(
    ("texts", "clash"),
    [
        (["1,5", "1.5"], ("1,5", "1.5")),
        (["7", "1.234,56", "1,234.56"], ("1.234,56", "1,234.56")),
        (["5%", "0.05"], ("5%", "0.05")),
        (["$5", "3 €"], ("$5", "3 €")),
    ],
)
def test_two_notations_clash(texts, clash):
    assert find_numerals(texts).clash == clash


def test_codes_are_no_numbers():
    for code in ("007", "00", "-012", "+4930123456", "1234567890123456"):
        assert is_code(code)
        assert find_numerals(["12", code]).code == code
    for number in ("0", "0.5", "-0", "+5", "123456789012345", "1e20"):
        assert not is_code(number)


def test_words_between_numbers():
    found = find_numerals(["1", "2", "unknown", "3"])
    assert (found.other, found.share) == ("unknown", 0.75)
    assert find_numerals(["inf", "-Infinity"]).other == "inf"  # no number beside them: words
    assert find_numerals(["inf", "1.5"]).other is None


@given(
    st.floats(-1e12, 1e12).map(lambda x: round(x, 2)),
    st.sampled_from(EVERY),
    st.sampled_from(["", "$", "€", "%", "EUR"]),
)
def test_what_is_written_is_read(x, marks, unit):
    notation = Notation(marks.decimal, marks.group, unit)
    text = f"{abs(x):,.2f}".replace(",", "G").replace(".", notation.decimal).replace("G", notation.group)
    text = ("-" if x < 0 else "") + (f"{text}{unit}" if unit == "%" else f"{unit}{text}")
    assert notation.number(text) == pytest.approx(x, rel=1e-12)
    assert read_notation(notation.example) == notation


def test_a_currency_may_be_left_out_but_no_percent_and_no_other():
    assert Notation(unit="$").number("3") == 3
    assert Notation(unit="$").number("3 €") is None
    assert Notation(unit="%").number("3") is None
    assert Notation().number("$3") is None


def test_a_notation_that_is_none():
    with pytest.raises(ValueError, match=r"a notation must be an example such as 1\.234,56, got 'abc'; train the run"):
        read_notation("abc")
