"""Similarity graphs: by hand and beside scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
import sklearn.neighbors
import torch

import cutaway as cut
from cutaway.data.graphs.similarity import similarity_graph

POINTS = np.random.default_rng(0).normal(size=(60, 3))


def test_by_hand():
    points = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.5, 0.0]]
    one = similarity_graph(points, 1, scale=1.0)
    assert one.edges.T.tolist() == [[0, 1], [2, 3]]
    torch.testing.assert_close(one.weights, torch.tensor([np.exp(-0.5), np.exp(-0.125)]).float())
    near = similarity_graph(points, radius=2.0, weights="none")
    assert near.edges.T.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert near.weights is None
    # 3's second neighbour is 1 (2.5 away); 1's are 0 and 2: not mutual
    assert [1, 3] in similarity_graph(points, 2).edges.T.tolist()
    assert [1, 3] not in similarity_graph(points, 2, mutual=True).edges.T.tolist()


@pytest.mark.parametrize("mutual", [False, True])
def test_equal_to_scikit_learns(mutual: bool):
    theirs = sklearn.neighbors.kneighbors_graph(POINTS, 5).toarray()
    theirs = theirs * theirs.T if mutual else np.maximum(theirs, theirs.T)
    ours = similarity_graph(POINTS, 5, weights="none", mutual=mutual)
    assert np.array_equal(cut.data.to_scipy(ours).toarray(), theirs)
    ball = sklearn.neighbors.radius_neighbors_graph(POINTS, 0.9).toarray()
    assert np.array_equal(cut.data.to_scipy(similarity_graph(POINTS, radius=0.9, weights="none")).toarray(), ball)


def test_a_table_is_brought_to_one_spread():
    frame = pd.DataFrame({"a": POINTS[:, 0], "b": 1000 * POINTS[:, 1], "kind": ["x", "y"] * 30})
    graph = similarity_graph(frame, 4)
    assert graph.x.shape == (60, 4)
    torch.testing.assert_close(graph.x.std(0, correction=0), torch.ones(4))


def test_points_that_coincide():
    graph = similarity_graph(np.zeros((5, 2)), 2)
    assert torch.isfinite(graph.weights).all()
    assert not (graph.edges[0] == graph.edges[1]).any()


def test_mistakes():
    with pytest.raises(ValueError, match="from 1 to the number of points − 1, got 60 for 60 points; try neighbours=10"):
        similarity_graph(POINTS, 60)
    with pytest.raises(ValueError, match="give neighbours or radius, got both"):
        similarity_graph(POINTS, 3, 0.5)
    with pytest.raises(ValueError, match="radius must be above 0, got -1"):
        similarity_graph(POINTS, radius=-1)
    with pytest.raises(ValueError, match=r"shape \(points, dimensions\), got \(60,\)"):
        similarity_graph(POINTS[:, 0])
    with pytest.raises(ValueError, match="nan or inf in row 1"):
        similarity_graph([[0.0], [np.nan], [1.0]], 1)
