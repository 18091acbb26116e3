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


def crumbly() -> tuple[networkx.Graph, np.ndarray]:
    """Two communities of 300, and thirty trees of five that hang by an edge: each a cheaper cut than the middle."""
    random = np.random.default_rng(0)
    graph = networkx.planted_partition_graph(2, 300, 0.02, 0.004, seed=1)
    side = [0] * 300 + [1] * 300
    for _ in range(30):
        root, first = int(random.integers(600)), len(side)
        networkx.add_path(graph, [root, *range(first, first + 5)])
        side += [side[root]] * 5
    return graph, np.array(side)


def test_parts_that_hang_by_an_edge_are_not_clusters():
    """What Zhang and Rohe 2018 describe: the plain cut breaks off crumbs, the regularised one finds the communities."""
    theirs, side = crumbly()
    graph = cut.data.as_graph(theirs)
    plain = spectral_clusters(graph, 2, regularise="never")
    assert plain.sizes[1] < 30
    assert plain.regularised == 0
    assert plain.crumbs
    found = spectral_clusters(graph, 2)
    assert found.crumbs == plain.crumbs
    tried = dict(found.tried)
    assert [round(tau / float(graph.degrees().mean()), 2) for tau in tried] == [0.0, 0.03, 0.1, 0.3, 1.0]
    assert found.modularity == max(tried.values()) == tried[found.regularised] > tried[0.0]
    assert found.spectrum.kind == "regularised"
    assert same(side[found.kept], found.of[found.kept]) > 0.6
    assert same(side[plain.kept], plain.of[plain.kept]) < 0.1
    np.testing.assert_allclose(np.linalg.norm(found.embedding[found.kept], axis=1), 1)
    again = spectral_clusters(graph, 2, regularise="always")
    assert np.array_equal(found.of, again.of)
    assert again.crumbs == ()


def test_good_cuts_are_left_as_they_are():
    graph = cut.data.as_graph(networkx.planted_partition_graph(3, 60, 0.3, 0.02, seed=1))
    assert spectral_clusters(graph, 3).regularised == 0


def test_cora_in_seven(data_folder):
    data = cut.data.read_graph(data_folder / "graphs/cora.npz")
    found = spectral_clusters(data.graph, 7)
    assert max(found.sizes) < 0.6 * data.graph.vertices
    known = data.targets.numpy()
    assert sklearn.metrics.normalized_mutual_info_score(known[found.kept], found.of[found.kept]) > 0.35


@pytest.mark.untyped
def test_mistakes_about_regularising():
    graph = cut.data.as_graph(networkx.path_graph(9))
    with pytest.raises(ValueError, match="normalised cut alone, got kind='plain'"):
        spectral_clusters(graph, 2, "plain", regularise="always")
    with pytest.raises(ValueError, match="regularise must be one of auto, always, never, got 'yes'"):
        spectral_clusters(graph, 2, regularise="yes")


@pytest.mark.parametrize("weights", [None, [0.0, 0.0]])
def test_without_edges_there_are_no_clusters(weights: list[float] | None):
    pairs = torch.tensor([[0, 1], [1, 2]]) if weights else torch.empty(2, 0, dtype=torch.int64)
    graph = cut.blocks.Graph(pairs, 5, weights=None if weights is None else torch.tensor(weights))
    with pytest.raises(ValueError, match=r"clusters are found by edges, got 5 vertices without any"):
        cut.data.spectral_clusters(graph, 2)
