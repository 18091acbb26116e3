"""Signed numbers as bars."""

import pytest
from look.rendered import expect_drawn, words_of

from cutaway.look import Picture
from cutaway.look.charts.bars import NEGATIVE, POSITIVE, bar_chart


def bars(numbers: dict[str, float]) -> Picture:
    chart, rows = bar_chart(numbers, "amount (kg)")
    return Picture(chart, "Bars", "Some bars.", data=rows)


def test_signs_and_words():
    picture = bars({"up": 2.0, "down": -1.5, "nothing": 0.0, "no number": float("nan")})
    expect_drawn(picture, colours=3)
    assert {"up", "down", "nothing", "2", "−1.5", "0", "amount (kg)"} <= set(words_of(picture))
    svg = picture.to_svg()
    assert POSITIVE in svg
    assert NEGATIVE in svg


def test_small_numbers_keep_their_digits():
    assert "0.00012" in words_of(bars({"a": 0.00012, "b": 0.00003}))


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_one_bar(value: float):
    expect_drawn(bars({"alone": value}), colours=2)


def test_too_many():
    with pytest.raises(ValueError, match="at most 200 bars, got 201; pass a part of them"):
        bars({str(i): 1.0 for i in range(201)})
