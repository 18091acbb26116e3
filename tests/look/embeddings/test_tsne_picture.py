"""Maps of embeddings: labels written where few, the colours of groups, the words that warn."""

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import embedding_map, scatter, tsne


def test_labels_stand_where_the_rows_are():
    x = torch.randn(12, 5)
    names = [f"word {i}" for i in range(12)]
    picture = embedding_map(x, names, ["even", "odd"] * 6, seed=4)
    rows = rows_of(picture)
    places = tsne(x, seed=4)
    assert [(r["x"], r["y"]) for r in rows] == [pytest.approx(place, rel=1e-4) for place in places.tolist()]
    assert [r["group"] for r in rows] == ["even", "odd"] * 6
    assert {"word␣0", "even", "odd", "t-SNE 1", "t-SNE 2"} <= set(words_of(picture))
    assert "t-SNE of 12 rows of 5 numbers, by angle: near points are alike" in picture.note
    expect_drawn(picture)


def test_many_labels_go_under_the_pointer():
    picture = embedding_map(torch.randn(201, 3), [f"w{i}" for i in range(201)], by="euclidean")
    assert picture.spec()["mark"]["type"] == "point"
    assert rows_of(picture)[200]["label"] == "w200"
    assert "by distance" in picture.note
    many = embedding_map(torch.randn(14, 3), list("abcdefghijklmn"), torch.arange(14) % 7)  # more groups than colours
    assert many.spec()["mark"]["type"] == "point"


def test_several_perplexities_side_by_side():
    x, names = torch.randn(40, 5), [f"w{i}" for i in range(40)]
    picture = embedding_map(x, names, ["even", "odd"] * 20, perplexity=(2, 12.5))
    rows = rows_of(picture)
    assert [row["map"] for row in rows] == ["perplexity 2"] * 40 + ["perplexity 12.5"] * 40
    for k, perplexity in enumerate((2, 12.5)):
        places = tsne(x, perplexity=perplexity)
        drawn = np.array([(row["x"], row["y"]) for row in rows[40 * k : 40 * (k + 1)]])
        assert np.abs(drawn).max() == pytest.approx(1, abs=1e-3)
        ratio = np.ptp(places, axis=0) / np.ptp(drawn, axis=0)
        assert ratio[0] == pytest.approx(ratio[1], rel=1e-3)  # stretched alike in both directions
    assert "Large distances, and the sizes of clusters, mean nothing." in picture.note
    assert {"perplexity 2", "perplexity 12.5", "even", "odd"} <= set(words_of(picture))
    expect_drawn(picture)
    one = embedding_map(x, perplexity=[5])
    assert "at perplexity 5: near points are alike. Large distances, and the sizes of clusters, mean" in one.note
    many = embedding_map(x, groups=torch.arange(40) % 9, perplexity=(2, 5))
    assert "more groups than colours" in many.note


def test_written_labels_do_not_hide_each_other():
    rows = rows_of(scatter([[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]], labels=["one", "two", "far"], written=True))
    assert rows[0]["place"] < rows[1]["place"]
    assert rows[2]["place"] == pytest.approx(9)
    assert rows[0]["y"] == 0  # under the pointer stands where it is


def test_messages():
    with pytest.raises(ValueError, match="labels must be one for each of the 5 rows, got 2; pass the same rows"):
        embedding_map(np.eye(5), ["a", "b"])
    with pytest.raises(ValueError, match="groups must be one for each of the 5 rows, got 1"):
        embedding_map(np.eye(5), groups=["a"])
    with pytest.raises(ValueError, match="one picture shows at most 6 perplexities, got 7"):
        embedding_map(torch.randn(20, 3), perplexity=range(2, 9))
    with pytest.raises(ValueError, match="perplexity must be from 1 to below the number of rows, 20, got 20"):
        embedding_map(torch.randn(20, 3), perplexity=(5, 20))
    with pytest.raises(ValueError, match="labels in the place of points, got no labels; pass labels="):
        scatter(np.eye(2), written=True)
    with pytest.raises(ValueError, match="at most 6 groups can be told apart, got 7"):
        scatter(np.zeros((7, 2)), list("abcdefg"), labels=list("abcdefg"), written=True)
