"""Random walks against dense powers and torch_geometric, signs of eigenvectors against what may not matter."""

import pytest
import torch
import torch_geometric.transforms
from graph_cases import batch_of_graphs, odd_graph, shaken, vertex_features
from torch_geometric.data import Data

from cutaway.blocks import Graph, LaplacianEncoding, RandomWalkEncoding, flip_signs, random_walk_encoding
from cutaway.blocks.graph_layers import structural_encodings


@pytest.mark.parametrize("graph", [odd_graph(), odd_graph(directed=True), batch_of_graphs()], ids=repr)
@pytest.mark.parametrize("columns", [2, 256])
def test_walks_are_powers_of_a_matrix(graph: Graph, columns: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(structural_encodings, "COLUMNS", columns)
    A = graph.adjacency(torch.float64).to_dense()
    P = A / A.sum(1, keepdim=True).clamp(min=1e-300)
    right = torch.stack([torch.linalg.matrix_power(P, k).diagonal() for k in range(1, 6)], 1)
    torch.testing.assert_close(random_walk_encoding(graph, 5, torch.float64), right)


def test_equals_torch_geometric():
    graph = Graph(odd_graph().edges.sort(0).values.unique(dim=1), 13)  # theirs counts an edge once
    data = torch_geometric.transforms.AddRandomWalkPE(4)(Data(edge_index=graph.arcs, num_nodes=13))
    torch.testing.assert_close(random_walk_encoding(graph, 4), data.random_walk_pe)


def test_walks_follow_a_permutation():
    graph, order = odd_graph(), torch.randperm(13)
    one = random_walk_encoding(graph.permuted(order), 4, torch.float64)
    torch.testing.assert_close(one, random_walk_encoding(graph, 4, torch.float64)[order])


def test_signs_are_of_a_whole_graph():
    graph = batch_of_graphs()
    q = vertex_features(graph, 6)
    torch.manual_seed(0)
    signs = flip_signs(q, graph) / q
    assert set(signs.round().unique().tolist()) == {-1, 1}
    for number in range(4):
        mine = signs[graph.membership == number]
        assert torch.equal(mine.round(), mine[:1].round().expand_as(mine))
    assert torch.equal(flip_signs(q, Graph(graph.edges, 13)).abs(), q.abs())


def test_encodings_are_maps_of_them():
    graph, q = odd_graph(), vertex_features(odd_graph(), 3)
    layer = shaken(LaplacianEncoding(3, 5))
    assert not torch.equal(layer(q, graph), layer(q, graph)) or not torch.equal(layer(q, graph), layer(q, graph))
    assert torch.equal(layer.eval()(q, graph), layer.map(q))
    walk = shaken(RandomWalkEncoding(4, 5))
    torch.testing.assert_close(walk(graph), walk.map(random_walk_encoding(graph, 4, torch.float64)))


def test_no_vertices_and_mistakes():
    empty = Graph(torch.zeros(2, 0, dtype=torch.int64))
    assert random_walk_encoding(empty, 3).shape == (0, 3)
    alone = Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=2)
    assert torch.equal(random_walk_encoding(alone, 3), torch.zeros(2, 3))
    with pytest.raises(ValueError, match="weights must be 0 or more, since they are the chances of a walk"):
        random_walk_encoding(Graph(torch.tensor([[0], [1]]), weights=torch.tensor([-1.0])), 3)
    with pytest.raises(ValueError, match="one row per vertex"):
        flip_signs(torch.zeros(3, 2), alone)
