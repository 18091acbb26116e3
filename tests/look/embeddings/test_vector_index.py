"""The index of vectors: approximate search beside exact search, by every measure, and what it refuses."""

import numpy as np
import pytest
import torch

from cutaway.look import VectorIndex, recall
from cutaway.look.embeddings import vector_index
from cutaway.look.embeddings.vector_index import Nearest

MEASURES = ["cosine", "dot", "euclidean"]


def rows_of_many_lengths(rows: int, width: int = 12) -> np.ndarray:
    numbers = np.random.default_rng(0)
    return numbers.normal(size=(rows, width)) * numbers.uniform(0.2, 3, size=(rows, 1))


@pytest.mark.parametrize("by", MEASURES)
@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_approximate_search_finds_nearly_all_with_exact_scores(kind, by):
    x, q = rows_of_many_lengths(3000), rows_of_many_lengths(40)
    exact = VectorIndex(x, by).search(q, 10)
    found = VectorIndex(x, by, kind, effort=32 if kind == "ivf" else 128).search(q, 10)
    assert recall(found, exact) > 0.95
    steps = np.diff(found.scores, axis=1)
    assert (steps >= 0).all() if by == "euclidean" else (steps <= 0).all()
    sample = found.rows[:, 0]
    expected = {
        "dot": np.einsum("vd,vd->v", x[sample], q),
        "euclidean": np.linalg.norm(x[sample] - q, axis=1),
        "cosine": np.einsum("vd,vd->v", x[sample], q) / np.linalg.norm(x[sample], axis=1) / np.linalg.norm(q, axis=1),
    }[by]
    assert np.allclose(found.scores[:, 0], expected)


def test_effort_buys_recall():
    x, q = rows_of_many_lengths(4000), rows_of_many_lengths(60)
    exact = VectorIndex(x, "dot").search(q, 10)
    shares = [recall(VectorIndex(x, "dot", "ivf", effort=n).search(q, 10), exact) for n in (4, 16, 10**6)]
    assert shares == sorted(shares)
    assert shares[0] < 0.9
    assert shares[-1] == 1  # every cell


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_the_same_rows_make_the_same_index(kind):
    x, q = rows_of_many_lengths(1000), rows_of_many_lengths(20)
    first, second = (VectorIndex(x, kind=kind).search(q, 5) for _ in range(2))
    assert np.array_equal(first.rows, second.rows)


@pytest.mark.parametrize("kind", ["exact", "hnsw", "ivf"])
def test_few_rows_and_all_of_them(kind):
    x = rows_of_many_lengths(5)
    found = VectorIndex(x, kind=kind).search(x, 5)
    assert found.rows[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(np.sort(found.rows, 1), np.tile(np.arange(5), (5, 1)))
    assert len(VectorIndex(torch.tensor(x), kind=kind)) == 5


def test_recall_by_hand():
    scores = np.zeros((2, 2))
    one, other = Nearest(np.array([[1, 2], [3, 4]]), scores), Nearest(np.array([[2, 5], [4, 3]]), scores)
    assert recall(one, other) == 0.75
    with pytest.raises(ValueError, match=r"the same vectors and count, got \(2, 2\) and \(1, 2\)"):
        recall(one, Nearest(np.array([[1, 2]]), scores))


@pytest.mark.untyped
def test_unknown_names():
    with pytest.raises(ValueError, match="kind must be exact, hnsw or ivf, got 'lsh'; pick one of these"):
        VectorIndex(np.eye(3), kind="lsh")
    with pytest.raises(ValueError, match="by must be cosine, dot or euclidean, got 'l1'"):
        VectorIndex(np.eye(3), by="l1")


def test_bad_options():
    with pytest.raises(ValueError, match="effort is 1 or more, of an approximate search, got 3 for 'exact'; leave it"):
        VectorIndex(np.eye(3), effort=3)
    with pytest.raises(ValueError, match="count must be from 1 to the number of rows, 3, got 4"):
        VectorIndex(np.eye(3), kind="hnsw").search(np.eye(3), 4)


@pytest.mark.parametrize("by", MEASURES)
def test_many_vectors_are_searched_in_parts_and_equals_stay_in_order(by, monkeypatch):
    x = np.repeat(rows_of_many_lengths(20, 3), 5, axis=0)[np.random.default_rng(1).permutation(100)]  # many equals
    whole = VectorIndex(x, by).search(x, 7)
    monkeypatch.setattr(vector_index, "_PAIRS", 300)
    parts = VectorIndex(x, by).search(x, 7)
    assert np.array_equal(whole.rows, parts.rows)
    for i in range(100):
        equal = [j for j in range(100) if np.array_equal(x[j], x[i])]
        if by != "dot":
            assert whole.rows[i][:5].tolist() == equal


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_and_vectors_must_be_finite(bad):
    x = np.ones((5, 2))
    y = x.copy()
    y[3, 1] = bad
    with pytest.raises(ValueError, match=r"rows to search must be finite, got 1 of 5 .* the first at 3"):
        VectorIndex(y)
    with pytest.raises(ValueError, match="vectors to search must be finite, got 1 of 5"):
        VectorIndex(x).search(y, 1)
