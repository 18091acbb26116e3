"""A text coloured token by token."""

import itertools

import pytest
import torch
from look.rendered import expect_drawn, expect_self_contained, rows_of, words_of

from cutaway.look import token_strip

TOKENS = ["Once", " upon", "   ", "\n", "antidisestablishmentarianism", "</script>", "", " the", "\x00", "é"]


def test_every_token_is_there():
    values = torch.linspace(-1, 2, 10)
    picture = token_strip(values, TOKENS, title="Mattered", value="gradient")
    expect_drawn(picture)
    rows = rows_of(picture)
    assert [row["value"] for row in rows] == pytest.approx(values.tolist(), abs=1e-5)
    assert {"Once", "␣upon", "␣␣␣", "↵", "antidisestablishmentari…", "</script>", "∅", "␣the"} <= set(words_of(picture))
    assert picture.note == "Strongest: 'é' at 9, 2."
    expect_self_contained(picture.to_html(), charts=1)


def test_lines():
    rows = rows_of(token_strip([1.0] * 10, TOKENS))
    assert rows[4]["top"] > rows[3]["top"]  # after a line break
    rows = rows_of(token_strip(range(300), ["word"] * 300))
    assert max(row["right"] for row in rows) <= 680
    for one, other in itertools.pairwise(rows):
        assert other["left"] >= one["right"] or other["top"] > one["top"]


def test_nothing_but_zeros_and_what_is_no_number():
    expect_drawn(token_strip([0.0, 0.0], ["a", "b"]), colours=3)
    expect_drawn(token_strip([float("nan"), 1.0], ["a", "b"]), colours=3)


def test_messages():
    with pytest.raises(ValueError, match="a token for every value, got 1 for 2; decode them one by one"):
        token_strip([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="at most 2000 tokens can be shown, got 2001; pass a part"):
        token_strip(range(2001), ["a"] * 2001)
