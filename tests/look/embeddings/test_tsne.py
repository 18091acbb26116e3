"""t-SNE: near rows stay near, and one seed makes one map."""

import sys

import numpy as np
import pytest
import torch

from cutaway.look.embeddings import tsne as projections
from cutaway.look.embeddings.tsne import tsne, unit


def clusters(seed: int = 0, each: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Three far clusters in ten dimensions."""
    draw = np.random.default_rng(seed)
    centres = 10 * np.eye(3, 10)
    return np.concatenate([c + draw.normal(0, 0.3, (each, 10)) for c in centres]), np.repeat(np.arange(3), each)


def nearest_share(places: np.ndarray, groups: np.ndarray) -> float:
    """The share of points whose nearest other point is of their own group."""
    gaps = np.linalg.norm(places[:, None] - places, axis=-1)
    np.fill_diagonal(gaps, np.inf)
    return float((groups[gaps.argmin(1)] == groups).mean())


@pytest.mark.parametrize("by", ["cosine", "euclidean"])
def test_clusters_stay_together_by_both_libraries(by, monkeypatch):
    x, groups = clusters()
    assert nearest_share(tsne(x, by=by), groups) == 1
    monkeypatch.setattr(projections, "FEW", 10)  # now openTSNE
    assert nearest_share(tsne(x, by=by), groups) == 1


def test_one_seed_makes_one_map():
    x, _ = clusters()
    assert np.array_equal(tsne(x, seed=3), tsne(torch.from_numpy(x), seed=3))
    one_wide = np.arange(12.0)[:, None]  # no two principal components to start from: the seed does
    assert not np.array_equal(tsne(one_wide, by="euclidean", seed=1), tsne(one_wide, by="euclidean", seed=2))


def test_cosine_sees_directions_only():
    x, _ = clusters()
    lengths = np.random.default_rng(1).integers(1, 5, (len(x), 1)) * 2.0
    assert np.allclose(unit(x * lengths), unit(x))
    assert unit(np.zeros((1, 3))).tolist() == [[0, 0, 0]]
    assert np.allclose(tsne(x * 4), tsne(x))  # a power of two: the same numbers, bit for bit


def test_few_rows_have_a_perplexity_that_fits():
    assert tsne(np.eye(4)).shape == (4, 2)
    assert tsne(np.random.default_rng(0).normal(size=(7, 1)), by="euclidean").shape == (7, 2)


def test_messages():
    with pytest.raises(ValueError, match="needs at least 4 rows, got 3; draw so few with scatter"):
        tsne(np.eye(3))
    with pytest.raises(ValueError, match="rows must be finite, got 2 of 5 with infinite numbers or NaN"):
        tsne(np.where(np.eye(5) * [1, 1, 0, 0, 0] > 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="rows must differ, got 6 that are all the same"):
        tsne(np.ones((6, 3)))
    with pytest.raises(ValueError, match="from 1 to below the number of rows, 5, got 5; leave it out"):
        tsne(np.eye(5), perplexity=5)


@pytest.mark.untyped
def test_the_measure_must_be_known():
    with pytest.raises(ValueError, match="by must be cosine or euclidean, got 'city'; pick one of these"):
        tsne(np.eye(5), by="city")


def test_a_missing_library_is_missed_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(ModuleNotFoundError, match=r"a t-SNE map needs sklearn.*pip install 'cutaway\[words\]'"):
        tsne(np.eye(5))
    monkeypatch.setattr(projections, "FEW", 3)
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"of more than 3 rows needs openTSNE.*pip install 'cutaway\[words\]'"
    ):
        tsne(np.eye(5))
