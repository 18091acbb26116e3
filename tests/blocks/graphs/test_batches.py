"""Several graphs as one, and back."""

import pytest
import torch

from cutaway.blocks import Graph


def little(n: int, m: int, **others) -> Graph:
    return Graph(torch.randint(max(n, 1), (2, m)), vertices=n, x=torch.randn(n, 3), **others)


def same(one: Graph, other: Graph) -> None:
    assert (one.vertices, one.directed, one.graphs) == (other.vertices, other.directed, other.graphs)
    for name in ("edges", "weights", "x", "edge_features", "graph_features"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or torch.equal(a, b), name


def test_adjacency_is_block_diagonal():
    parts = [little(3, 4), little(2, 1), little(0, 0), little(4, 7)]
    right = torch.block_diag(*(part.adjacency().to_dense() for part in parts if part.vertices))
    assert torch.equal(Graph.batch(parts).adjacency().to_dense(), right)


@pytest.mark.parametrize("directed", [False, True])
def test_split_undoes_batch(directed: bool):
    parts = [
        little(
            n,
            m,
            weights=torch.rand(m),
            edge_features=torch.randn(m, 2),
            graph_features=torch.randn(1, 5),
            directed=directed,
        )
        for n, m in ((3, 4), (1, 0), (5, 9), (2, 3), (0, 0))
    ]
    whole = Graph.batch(parts)
    assert whole.graphs == 5
    for part, other in zip(parts, whole.split(), strict=True):
        same(part, other)
    for part, other in zip(parts, Graph.batch([Graph.batch(parts[:2]), *parts[2:]]).split(), strict=True):
        same(part, other)


def test_split_keeps_order_where_vertices_are_mixed():
    whole = Graph(torch.tensor([[0, 1, 4], [2, 3, 0]]), membership=torch.tensor([0, 1, 0, 1, 0]))
    first, second = whole.split()
    assert first.edges.tolist() == [[0, 2], [1, 0]]
    assert second.edges.tolist() == [[0], [1]]


def test_absent_weights_are_one_beside_given_ones():
    whole = Graph.batch([Graph(torch.tensor([[0], [1]])), Graph(torch.tensor([[0], [1]]), weights=torch.tensor([3.0]))])
    assert whole.weights.tolist() == [1, 3]


def test_mistakes_are_told():
    edge = torch.tensor([[0], [1]])
    plain = Graph(edge)
    cases = {
        "at least one graph, got none": [],
        "directed=False at 0 and directed=True at 1": [plain, Graph(edge, directed=True)],
        "must all have x or none, got x at 1 and none at 0": [plain, Graph(edge, x=torch.zeros(2, 1))],
        "equally many x, got 1 at 0 and 4 at 1": [Graph(edge, x=torch.zeros(2, w)) for w in (1, 4)],
        "must all be dense or all sparse, got both, at 0 and at 1": [
            Graph(edge, x=torch.eye(2)),
            Graph(edge, x=torch.eye(2).to_sparse_csr()),
        ],
    }
    for message, graphs in cases.items():
        with pytest.raises(ValueError, match=message):
            Graph.batch(graphs)
