"""Pooling by clusters, against the matrix product and torch_geometric's pooling."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import batch_of_graphs, odd_graph, vertex_features
from torch_geometric.data import Data

from cutaway.blocks import Graph, coarsen, pool_clusters
from cutaway.blocks.graph_layers.cluster_pooling import match_neighbours

CLUSTERS = torch.tensor([0, 1, 1, 2, 0, 3, 3, 3, 2, 4, 4, 5, 0])


@pytest.mark.parametrize("directed", [False, True])
def test_adjacency_is_a_product(directed: bool):
    graph = odd_graph(directed)
    C = torch.nn.functional.one_hot(CLUSTERS).double()
    A = graph.adjacency().to_dense()
    right = C.T @ A @ C
    right.fill_diagonal_(0)
    torch.testing.assert_close(coarsen(graph, CLUSTERS).adjacency().to_dense(), right)


@pytest.mark.parametrize("kind", ["mean", "max"])
def test_equals_torch_geometric(kind: str):
    graph = odd_graph(weights=False).with_x(vertex_features(odd_graph(), 3))
    pool = torch_geometric.nn.avg_pool if kind == "mean" else torch_geometric.nn.max_pool
    data = Data(x=graph.x, edge_index=graph.arcs)
    theirs = pool(CLUSTERS, data)
    ours = coarsen(graph, CLUSTERS, kind)
    torch.testing.assert_close(ours.x, theirs.x)
    assert {tuple(arc) for arc in ours.arcs.T.tolist()} == {tuple(arc) for arc in theirs.edge_index.T.tolist()}


def test_sums_and_order():
    graph = odd_graph()
    x, order = vertex_features(graph, 3), torch.randperm(13)
    one = pool_clusters(x, CLUSTERS, "sum")
    torch.testing.assert_close(one, torch.nn.functional.one_hot(CLUSTERS).double().T @ x)
    torch.testing.assert_close(pool_clusters(x[order], CLUSTERS[order], "sum"), one)


def test_clusters_keep_to_their_graphs():
    graph = batch_of_graphs(features=2)
    numbers = torch.tensor([0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 4, 5, 5])
    assert coarsen(graph, numbers).membership.tolist() == [0, 0, 1, 2, 3, 3]
    assert coarsen(graph, numbers).edge_features.shape[1] == 2
    with pytest.raises(ValueError, match="must stay inside one graph, got cluster 0 in two"):
        coarsen(graph, torch.zeros(13, dtype=torch.int64))


def test_mistakes_are_told():
    with pytest.raises(ValueError, match=r"without gaps, got 2 numbers from 0 to 2; use torch.unique"):
        coarsen(Graph(torch.tensor([[0], [1]])), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match=r"shape \(2,\), one number per vertex, got \(3,\)"):
        coarsen(Graph(torch.tensor([[0], [1]])), torch.tensor([0, 2, 1]))
    empty = coarsen(Graph(torch.zeros(2, 0, dtype=torch.int64)), torch.zeros(0, dtype=torch.int64))
    assert empty.vertices == 0


def test_matched_neighbours_are_pairs_of_neighbours():
    graph = batch_of_graphs()
    clusters = match_neighbours(graph)
    sizes = torch.bincount(clusters)
    assert set(sizes.tolist()) <= {1, 2}
    joined = {tuple(sorted(edge)) for edge in graph.edges.T.tolist()}
    for c in range(len(sizes)):
        own = (clusters == c).nonzero()[:, 0].tolist()
        assert len(own) == 1 or tuple(own) in joined
    alone = [v for v in range(graph.vertices) if sizes[clusters[v]] == 1]
    assert not any((a, b) in joined for a in alone for b in alone if a < b)  # else they would have been joined
    assert coarsen(graph, clusters).vertices == len(sizes)


def test_heavy_edges_between_vertices_of_few_edges_come_first():
    weights = torch.tensor([1.0, 5.0, 1.0])
    path = Graph(torch.tensor([[0, 1, 2], [1, 2, 3]]), weights=weights)
    assert match_neighbours(path).tolist() == [0, 1, 1, 2]
    star = Graph(torch.tensor([[0, 0, 0, 3], [1, 2, 3, 4]]))
    assert match_neighbours(star).tolist()[3] == match_neighbours(star).tolist()[4]
    assert match_neighbours(Graph(torch.empty(2, 0, dtype=torch.int64), 2)).tolist() == [0, 1]
