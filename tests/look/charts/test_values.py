"""Any value, drawn by its shape."""

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, words_of

from cutaway.look.charts.values import value_pictures, value_statistics


def titles(address: str, value: torch.Tensor, **names: list[str]) -> list[str]:
    return [picture.title for picture in value_pictures(address, value, **names)]


def test_attention_by_head():
    weights = torch.softmax(torch.randn(1, 2, 3, 3), -1)
    found = value_pictures("blocks.0.attention.weights", weights, list("abc"))
    address = "blocks.0.attention.weights"
    assert [p.title for p in found] == [f"{address}: every head", f"{address}, head 0", f"{address}, head 1"]
    assert found[1].alt.startswith("Heat map of weight: 3 × 3 (query × key)")
    assert {"a", "b", "c", "query", "key"} <= set(words_of(found[1]))
    for picture in found:
        expect_drawn(picture)


def test_scores_may_have_any_sign_and_holes():
    scores = torch.randn(1, 2, 3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf)
    found = value_pictures("attention.scores", scores)
    assert [p.title for p in found] == ["attention.scores, head 0", "attention.scores, head 1"]
    assert "3 of 9 values are no finite numbers" in found[0].note


def test_cross_attention_reads_one_text_and_writes_another():
    weights = torch.full((1, 1, 2, 3), 1 / 3)
    (_, map_of) = value_pictures("decoder.0.cross.weights", weights, list("abc"), ["x", "y"])
    assert {"x", "y", "a", "b", "c"} <= set(words_of(map_of))
    (rows,) = value_pictures("decoder.0.mlp.hidden", torch.randn(1, 2, 4), list("abc"), ["x", "y"])
    assert {"x", "y", "token", "unit"} <= set(words_of(rows))


def test_matrices_vectors_and_more_axes():
    (picture,) = value_pictures("mlp.hidden", torch.randn(1, 3, 100), ["a", "bb", "c"])
    assert {"a", "bb", "c"} <= set(words_of(picture))  # named, wide as it is
    assert picture.alt.startswith("Heat map of value: 3 × 100 (token × unit)")
    (picture,) = value_pictures("head", torch.tensor([[1.0], [-3.0]]))
    assert picture.alt == "Bars of 2 entries; the strongest is 1, −3."
    expect_drawn(picture)
    (picture,) = value_pictures("x", torch.randn(65))
    assert picture.alt.startswith("Histogram of value. 65 values")
    assert titles("x", torch.tensor(2.0)) == ["x"]
    assert titles("queries", torch.randn(1, 2, 3, 4)) == ["queries: all its values", "queries [0]", "queries [1]"]
    many = value_pictures("queries", torch.randn(20, 3, 4))
    assert len(many) == 17
    assert "Maps of the first 16 of 20 matrices follow." in many[0].note


def test_statistics():
    told = value_statistics(torch.tensor([[1.0, 0.0, torch.inf]]))
    assert told == {
        "shape": "1 × 3",
        "mean": 0.5,
        "deviation": 0.5,
        "least": 0.0,
        "greatest": 1.0,
        "exactly zero": 1,
        "not finite": 1,
    }
    assert value_statistics(np.array([np.nan])) == {"shape": "1", "not finite": 1}
    assert value_statistics(torch.tensor(3))["shape"] == "a number"
    with pytest.raises(ValueError, match="must hold at least one number"):
        value_statistics([])
