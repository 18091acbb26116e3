"""What the heads do, drawn: the numbers are head_scores' own."""

import re

import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import head_scores, head_summary

NAMES = ("entropy", "distance", "previous", "induction")


def test_the_numbers_drawn_are_the_scores():
    weights, tokens = torch.rand(3, 2, 8, 8).softmax(-1), list("abcdabcd")
    picture = head_summary(weights, tokens)
    expect_drawn(picture)
    for layer in range(3):
        for name, score in head_scores(weights[layer], tokens).items():
            found = [r["score"] for r in rows_of(picture, name) if r["layer"] == str(layer)]
            assert found == pytest.approx(score.values, rel=1e-5)
    assert {"Entropy (nats)", "Mean distance (tokens)", "layer", "head"} <= set(words_of(picture))
    assert f"{head_scores(weights[0])['entropy'].values[0]:.2f}" in words_of(picture)


def test_the_strongest_are_named_in_words():
    weights = torch.full((2, 2, 4, 4), 0.25)
    weights[1, 0] = torch.eye(4).roll(-1, 1)  # key i − 1 for query i, and the last for the first
    assert "previous: 1 at layer 1, head 0" in head_summary(weights).alt


def test_without_tokens_or_copies():
    weights = torch.full((1, 2, 3, 3), 1 / 3)
    assert head_summary(weights).note == "Induction scores need the tokens: pass tokens=."
    picture = head_summary(weights, ["a", "b", "c"])
    assert "No token occurs twice" in picture.note
    assert "induction: none" in picture.alt
    assert [r["score"] for r in rows_of(picture, "induction")] == [None, None]
    expect_drawn(picture)
    assert head_summary(weights, ["a", "b", "a"]).note == ""


def test_many_heads_have_no_room_for_numbers():
    def numbers(heads: int) -> list[str]:
        picture = head_summary(torch.rand(2, heads, 4, 4).softmax(-1))
        return [word for word in words_of(picture) if re.fullmatch(r"\d\.\d\d", word)]

    assert len(numbers(3)) == 12  # entropy and previous; distance has one digit
    assert numbers(12) == []
