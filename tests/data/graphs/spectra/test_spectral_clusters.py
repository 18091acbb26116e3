"""Spectral clustering beside scikit-learn's."""

import networkx
import numpy as np
import pytest
import sklearn.cluster
import sklearn.datasets
import sklearn.metrics
import torch

import cutaway as cut
from cutaway.blocks.graphs.cuts import normalised_cut
from cutaway.data.graphs.similarity import similarity_graph
from cutaway.data.graphs.spectra.spectral_clusters import eigengap, spectral_clusters, spectral_embedding

same = sklearn.metrics.adjusted_rand_score


@pytest.mark.parametrize("name", ["blobs", "moons", "circles", "karate"])
def test_the_same_partition_as_scikit_learns(name: str):
    if name == "karate":
        graph, k = cut.data.as_graph(networkx.karate_club_graph()), 2
    else:
        points = {
            "blobs": lambda: sklearn.datasets.make_blobs(150, centers=3, cluster_std=2.5, random_state=1)[0],
            "moons": lambda: sklearn.datasets.make_moons(200, noise=0.05, random_state=0)[0],
            "circles": lambda: sklearn.datasets.make_circles(200, factor=0.4, noise=0.05, random_state=0)[0],
        }[name]()
        graph, k = similarity_graph(points, 12), 3 if name == "blobs" else 2
    theirs = sklearn.cluster.SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(
        cut.data.to_scipy(graph).tocsr()
    )
    assert same(spectral_clusters(graph, k).of, theirs) == 1


def test_the_eigengap_finds_the_blocks():
    theirs = networkx.planted_partition_graph(5, 40, 0.4, 0.01, seed=0)
    found = spectral_clusters(cut.data.as_graph(theirs))
    assert len(found.sizes) == 5
    assert found.by_eigengap
    assert same(found.of, np.repeat(np.arange(5), 40)) == 1
    assert found.sizes == (40,) * 5
    graph = cut.data.as_graph(theirs)
    expected = normalised_cut(graph.adjacency(torch.float64), torch.from_numpy(found.of))
    assert found.normalised_cut == pytest.approx(expected.item())
    # the relaxation is a lower bound
    assert found.normalised_cut >= found.spectrum.values[:5].sum() - 1e-9


def test_small_pieces_are_set_aside():
    blocks = networkx.planted_partition_graph(3, 40, 0.4, 0.02, seed=0)
    theirs = networkx.disjoint_union_all([blocks, networkx.empty_graph(5), networkx.path_graph(2)])
    found = spectral_clusters(cut.data.as_graph(theirs), 3)
    assert found.aside == 7
    assert (found.of[120:] == -1).all()
    assert same(found.of[:120], np.repeat(np.arange(3), 40)) > 0.9
    two = networkx.disjoint_union(blocks, blocks)
    assert same(spectral_clusters(cut.data.as_graph(two), 2).of, np.repeat([0, 1], 120)) == 1


def test_embedding_and_gap():
    path = cut.data.as_graph(networkx.path_graph(9))
    line = spectral_embedding(path, 1, "plain")[:, 0]
    assert (np.diff(line) < 0).all() or (np.diff(line) > 0).all()
    assert eigengap(np.array([0.0, 0.0, 0.7, 0.8])) == 2
    assert eigengap(np.array([0.0, 1.0])) == 2


def test_mistakes():
    graph = cut.data.as_graph(networkx.path_graph(5))
    with pytest.raises(ValueError, match="from 2 to the number of vertices, got 1 for 5; try clusters=2"):
        spectral_clusters(graph, 1)
    with pytest.raises(ValueError, match="got 6 for 5"):
        spectral_clusters(graph, 6)
    with pytest.raises(ValueError, match="give a graph of two vertices or more"):
        spectral_clusters(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64), 1))
    with pytest.raises(ValueError, match="dimensions must be from 1 to the number of vertices − 1, got 5 for 5"):
        spectral_embedding(graph, 5)
