"""Histograms count every number once."""

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import histogram


def test_counts_by_hand():
    picture = histogram(torch.tensor([0.0, 0.1, 0.9, 1.0, 0.5]), bins=2)
    assert [(r["from"], r["to"], r["count"]) for r in rows_of(picture)] == [(0.0, 0.5, 2), (0.5, 1.0, 3)]
    assert picture.note == "5 values, mean 0.5, deviation 0.405, 20 % exactly zero."  # √(0.82 / 5)
    expect_drawn(picture, colours=4)


def test_every_number_is_counted():
    x = torch.randn(10_000)
    rows = rows_of(histogram(x, bins=17))
    assert sum(r["count"] for r in rows) == 10_000
    assert [r["count"] for r in rows] == np.histogram(x.numpy(), 17)[0].tolist()


def test_several_share_their_axis():
    picture = histogram({"a": torch.zeros(3), "b<i>": torch.full((2, 2), 10.0)}, bins=5, value="weight")
    rows = rows_of(picture)
    assert [r["count"] for r in rows] == [3, 0, 0, 0, 0, 0, 0, 0, 0, 4]
    assert {r["from"] for r in rows} == {0.0, 2.0, 4.0, 6.0, 8.0}
    assert {"a", "b<i>", "weight"} <= set(words_of(picture))
    assert "a: 3 values" in picture.alt
    expect_drawn(picture, colours=4)


def test_several_stand_in_the_order_given_with_their_names_as_they_are():
    words = words_of(histogram({"of training images": [1.0, 2.0], "a normal one": [1.0, 3.0]}))
    assert words.index("of training images") < words.index("a normal one")


def test_names_are_cut_to_what_tells_them_apart():
    picture = histogram({"blocks.0.mlp.up.weight": [1.0], "blocks.0.mlp.down.weight": [2.0]})
    assert {"up", "down"} <= set(words_of(picture))
    assert "blocks.0.mlp.up.weight: 1 values" in picture.alt


def test_one_value_and_no_numbers():
    assert sum(r["count"] for r in rows_of(histogram([3.0, 3.0]))) == 2
    picture = histogram([1.0, float("nan"), float("inf")])
    assert "2 not finite, left out" in picture.note
    assert sum(r["count"] for r in rows_of(picture)) == 1
    expect_drawn(histogram([float("nan")]), colours=3)


def test_half_precision_keeps_its_mean():
    x = torch.full((100_000,), 0.1, dtype=torch.float16)
    assert "mean 0.09998" in histogram(x).note  # 0.1 in half precision, not a sum that overflowed


def test_log_counts():
    picture = histogram(torch.cat([torch.zeros(5000), torch.ones(3)]), log=True, bins=4)
    assert {"0", "1", "10", "100", "1k", "count (log axis)"} <= set(words_of(picture))
    expect_drawn(picture, colours=4)


def test_messages():
    with pytest.raises(ValueError, match="bins must be above 0, got 0; try bins=60"):
        histogram([1.0], bins=0)
    with pytest.raises(ValueError, match="1 to 24 histograms, got 25; make several pictures"):
        histogram({str(i): [1.0] for i in range(25)})
    with pytest.raises(ValueError, match=r"a must hold at least one number, got shape \(0,\)"):
        histogram({"a": []})
