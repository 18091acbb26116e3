"""Attention maps: one head, all heads, few tokens and many."""

import numpy as np
import pytest
import torch
from look.rendered import cells_of, expect_drawn, expect_self_contained, rows_of, words_of

import cutaway as cut
from cutaway.look import attention_grid, attention_map, head_scores


def causal(*shape: int) -> torch.Tensor:
    n = shape[-1]
    return torch.randn(*shape, n).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf).softmax(-1)


def test_one_head_with_its_tokens():
    weights = causal(5)
    picture = attention_map(weights, ["The", " cat", "\n", "<script>", "</script>"])
    expect_drawn(picture)
    assert len(cells_of(picture)) == 25
    words = words_of(picture)
    for token in ("The", "␣cat", "↵", "<script>", "</script>"):
        assert words.count(token) == 2  # once on each axis
    assert {"query", "key", "weight"} <= set(words)
    assert np.array([r["values"] for r in rows_of(picture)]) == pytest.approx(weights.numpy(), abs=1e-5)
    expect_self_contained(picture.to_html(), charts=1)


def test_queries_of_their_own():
    picture = attention_map(torch.rand(2, 3), ["a", "b", "c"], ["x", "y"])
    assert {"a", "b", "c", "x", "y"} <= set(words_of(picture))
    with pytest.raises(
        ValueError, match=r"queries must be given .* got weights of shape \(2, 3\) with tokens for the 3"
    ):
        attention_map(torch.rand(2, 3), ["a", "b", "c"])


def test_a_map_of_2048_tokens_is_an_image_that_says_so():
    weights = torch.eye(2048)
    picture = attention_map(weights, ["x"] * 2048)
    assert "Drawn as an image" in picture.note
    assert "strongest of 4\u00a0×\u00a04 values" in picture.note
    assert "Pass a part" in picture.note
    assert len(picture.to_json()) < 100_000
    expect_drawn(picture)


def test_all_heads():
    weights, tokens = causal(3, 2, 6), list("abcabc")
    picture = attention_grid(weights, tokens)
    expect_drawn(picture)
    rows = rows_of(picture)
    assert [(r["layer"], r["head"]) for r in rows] == [(str(i), h) for i in range(3) for h in range(2)]
    scores = head_scores(weights[2], tokens)
    for name, score in scores.items():
        assert rows[5][name] == pytest.approx(score.values[1], rel=1e-5)
    assert picture.alt == "Attention maps of 6 heads in 3 layers, 6 × 6 tokens each."
    assert {"layer", "head", "weight", "0", "1", "2"} <= set(words_of(picture))


def test_heads_of_many_tokens_are_small():
    picture = attention_grid(causal(2, 2, 400))
    assert "strongest of a block" in picture.note
    assert len(picture.to_json()) < 200_000


def test_layers_of_different_heads_and_lengths():
    picture = attention_grid({"encoder.weights": torch.rand(2, 4, 4), "cross.weights": torch.rand(3, 2, 4)})
    assert len(rows_of(picture)) == 5
    expect_drawn(picture)


def test_all_zero_and_broken_weights_still_draw():
    weights = torch.zeros(1, 2, 3, 3)
    weights[0, 1] = torch.nan
    expect_drawn(attention_grid(weights), colours=3)


def test_from_a_trace():
    model = cut.blocks.MultiHeadAttention(8, 2)
    with cut.trace(model, "weights") as seen:
        model(torch.randn(1, 5, 8))
    picture = attention_grid(seen, list("abcde"))
    assert [r["head"] for r in rows_of(picture)] == [0, 1]


def test_messages():
    with pytest.raises(ValueError, match="tokens must name each of the 4 keys, got 2; decode the tokens"):
        attention_map(torch.rand(4, 4), ["a", "b"])
    with pytest.raises(ValueError, match="queries must name each of the 2 queries, got 1"):
        attention_map(torch.rand(2, 3), ["a", "b", "c"], ["x"])
    with pytest.raises(ValueError, match="tokens must name each of the 4 keys, got 1"):
        attention_grid(torch.rand(2, 2, 4, 4), ["a"])
    with pytest.raises(ValueError, match="at most 576 heads, got 25 layers of up to 24; pass fewer layers"):
        attention_grid(torch.rand(25, 24, 2, 2))
    with pytest.raises(
        ValueError, match=r"weights must have the axes \(queries, keys\), got shape \(2, 3, 3\); pick one"
    ):
        attention_map(torch.rand(2, 3, 3))
