"""Nearest rows: by hand, by brute force, by faiss, and of real word vectors."""

import io
import lzma

import numpy as np
import pytest
import torch

from cutaway.look import neighbour_rows
from cutaway.look.embeddings import vector_index
from cutaway.look.embeddings.neighbours import nearest

ROWS = [[1.0, 0.0], [0.0, 1.0], [3.0, 4.0], [-1.0, 0.0]]


@pytest.mark.parametrize(
    ("by", "rows", "scores"),
    [
        ("cosine", [0, 2, 1, 3], [1, 0.6, 0, -1]),
        ("dot", [2, 0, 1, 3], [6, 2, 0, -2]),
        ("euclidean", [0, 1, 3, 2], [1, 5**0.5, 3, 17**0.5]),
    ],
)
def test_by_hand(by, rows, scores):
    found = nearest(ROWS, [[2.0, 0.0]], count=4, by=by)
    assert found.rows.tolist() == [rows]
    assert found.scores[0].tolist() == pytest.approx(scores)


@pytest.mark.parametrize("by", ["cosine", "dot", "euclidean"])
def test_faiss_says_the_same(by, monkeypatch):
    x, q = torch.randn(500, 7), torch.randn(3, 7)
    plain = nearest(x, q, 5, by)
    monkeypatch.setattr(vector_index, "_MANY", 100)
    fast = nearest(x, q, 5, by)
    assert np.array_equal(plain.rows, fast.rows)
    assert np.allclose(plain.scores, fast.scores, atol=1e-5)
    if by == "euclidean":
        gaps = np.linalg.norm(x.numpy()[None] - q.numpy()[:, None], axis=-1)
        assert np.array_equal(plain.rows, np.argsort(gaps, 1)[:, :5])


def test_by_name_without_itself():
    names = ["east", "north", "far", "west"]
    rows = neighbour_rows(ROWS, names, ["east", "west"], count=2)
    assert [(r["of"], r["place"], r["neighbour"]) for r in rows] == [
        ("east", 1, "far"),
        ("east", 2, "north"),
        ("west", 1, "north"),
        ("west", 2, "far"),
    ]
    assert rows[0]["score"] == pytest.approx(0.6)
    rows = neighbour_rows(ROWS, names, {"north-east": [1.0, 1.0]}, count=2, without=["far"])
    assert [r["neighbour"] for r in rows] == ["east", "north"]
    assert len(neighbour_rows(ROWS, names, ["east"], count=99)) == 3  # all there are


def test_words_of_glove(data_folder):
    """king is near queen, and king − man + woman nearest to it (Mikolov et al. 2013)."""
    folder = data_folder / "weights" / "glove"
    vectors = np.load(io.BytesIO(lzma.decompress((folder / "glove.6B.50d.top20k.f16.npy.xz").read_bytes())))
    words = lzma.decompress((folder / "words.txt.xz").read_bytes()).decode().split()
    assert vectors.shape == (len(words), 50)
    near = {row["neighbour"] for row in neighbour_rows(vectors, words, ["king"], count=10)}
    assert {"queen", "prince", "emperor"} <= near
    days = [row["neighbour"] for row in neighbour_rows(vectors, words, ["monday"], count=4)]
    assert set(days) == {"tuesday", "wednesday", "thursday", "friday"}
    at = {word: i for i, word in enumerate(words)}
    x = vectors.astype(np.float32)
    sum_of = x[at["king"]] - x[at["man"]] + x[at["woman"]]
    rows = neighbour_rows(x, words, {"king − man + woman": sum_of}, count=1, without=["king", "man", "woman"])
    assert rows[0]["neighbour"] == "queen"


def test_messages():
    with pytest.raises(ValueError, match="as wide as the matrix, got width 3 for rows of 2"):
        nearest(ROWS, [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="count must be from 1 to the number of rows, 4, got 5; ask for fewer"):
        nearest(ROWS, [[1.0, 2.0]], count=5)
    with pytest.raises(ValueError, match="names must be one for each of the 4 rows, got 2"):
        neighbour_rows(ROWS, ["a", "b"], ["a"])
    with pytest.raises(ValueError, match="one of the 4 rows, got 'nord'; did you mean 'north'"):
        neighbour_rows(ROWS, ["east", "north", "far", "west"], ["nord"])
    with pytest.raises(ValueError, match="one of the 4 rows, got 'qq'; they begin with 'east'"):
        neighbour_rows(ROWS, ["east", "north", "far", "west"], ["qq"])
    with pytest.raises(ValueError, match="of must name at least one row, got none"):
        neighbour_rows(ROWS, ["east", "north", "far", "west"], [])


@pytest.mark.untyped
def test_the_measure_must_be_known():
    with pytest.raises(ValueError, match="by must be cosine, dot or euclidean, got 'city'"):
        nearest(ROWS, [[1.0, 0.0]], by="city")
