"""The graph type: what follows from its edges, graphs made from it, and what it refuses."""

import copy

import networkx as nx
import pytest
import torch

from cutaway.blocks import Graph

TRIANGLE = torch.tensor([[0, 1, 0], [1, 2, 2]])


def random_graph(n: int = 11, m: int = 29, directed: bool = False, seed: int = 0) -> Graph:
    torch.manual_seed(seed)
    return Graph(
        torch.randint(n, (2, m)),
        vertices=n,
        weights=torch.rand(m, dtype=torch.float64),
        x=torch.randn(n, 3, dtype=torch.float64),
        edge_features=torch.randn(m, 2, dtype=torch.float64),
        directed=directed,
    )


def test_path_of_the_notes():
    path = Graph(torch.tensor([[0, 1], [1, 2]]))
    assert path.vertices == 3
    assert path.adjacency().to_dense().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert path.degrees().tolist() == [1, 2, 1]
    assert path.arcs.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert path.arc_edges.tolist() == [0, 1, 0, 1]


def test_a_self_loop_is_one_arc():
    graph = Graph(torch.tensor([[0, 1, 1], [0, 1, 2]]))
    assert graph.arcs.tolist() == [[0, 1, 1, 2], [0, 1, 2, 1]]
    assert graph.arc_edges.tolist() == [0, 1, 2, 2]
    assert graph.adjacency().to_dense().tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 0]]


def test_directed_edges_go_one_way():
    graph = Graph(TRIANGLE, directed=True, weights=torch.tensor([1.0, 2.0, 4.0]))
    assert graph.adjacency().to_dense().tolist() == [[0, 1, 4], [0, 0, 2], [0, 0, 0]]
    assert graph.degrees("out").tolist() == [5, 2, 0]
    assert graph.degrees("in").tolist() == [0, 1, 6]


@pytest.mark.parametrize("directed", [False, True])
def test_adjacency_is_networkx(directed: bool):
    """Self-loops and edges given twice are among these; weights of equal edges add."""
    graph = random_graph(directed=directed)
    other = nx.MultiDiGraph() if directed else nx.MultiGraph()
    other.add_nodes_from(range(graph.vertices))
    other.add_weighted_edges_from(
        (i, j, w) for (i, j), w in zip(graph.edges.T.tolist(), graph.weights.tolist(), strict=True)
    )
    right = torch.from_numpy(nx.to_numpy_array(other, weight="weight", multigraph_weight=sum))
    torch.testing.assert_close(graph.adjacency().to_dense(), right)
    torch.testing.assert_close(graph.degrees(), right.sum(1))
    torch.testing.assert_close(graph.degrees("in"), right.sum(0))


@pytest.mark.parametrize("directed", [False, True])
def test_neighbours_list_every_arc(directed: bool):
    graph = random_graph(directed=directed)
    for listed, own, other in ((graph.incoming, 1, 0), (graph.outgoing, 0, 1)):
        assert torch.equal(graph.arcs[own][listed.arcs], listed.rows())
        assert torch.equal(graph.arcs[other][listed.arcs], listed.ends)
        assert listed.arcs.sort().values.tolist() == list(range(graph.arcs.shape[1]))


def test_what_is_worked_out_is_kept():
    graph = random_graph()
    assert graph.adjacency() is graph.adjacency()
    assert graph.with_x(torch.zeros(11, 7)).incoming is graph.incoming
    assert graph.with_x(torch.zeros(11, 7)).x.shape == (11, 7)
    assert graph.x.shape == (11, 3)


def test_weights_that_learn_are_read_anew():
    graph = Graph(TRIANGLE, weights=torch.ones(3, requires_grad=True))
    assert graph.adjacency() is not graph.adjacency()
    graph.degrees().square().sum().backward()
    assert graph.weights.grad.tolist() == [8, 8, 8]


@pytest.mark.parametrize("directed", [False, True])
def test_permuted(directed: bool):
    graph, order = random_graph(directed=directed), torch.randperm(11)
    other = graph.permuted(order)
    torch.testing.assert_close(other.adjacency().to_dense(), graph.adjacency().to_dense()[order][:, order])
    assert torch.equal(other.x, graph.x[order])
    assert torch.equal(other.edge_features, graph.edge_features)
    assert torch.equal(order[other.edges], graph.edges)


def test_subgraph():
    graph = random_graph()
    chosen = torch.tensor([7, 2, 5, 0])
    part = graph.subgraph(chosen)
    torch.testing.assert_close(part.adjacency().to_dense(), graph.adjacency().to_dense()[chosen][:, chosen])
    mask = torch.zeros(11, dtype=torch.bool).index_fill(0, chosen, True)
    assert torch.equal(graph.subgraph(mask).x, graph.x[mask])


def test_edges_are_cut_by_mask_or_pair():
    graph = Graph(TRIANGLE, edge_features=torch.tensor([[5.0], [6.0], [7.0]]))
    for cut_away in (torch.tensor([False, True, False]), torch.tensor([[2], [1]]), [(1, 2)], [(2, 1), (1, 2)]):
        part = graph.without_edges(cut_away)
        assert part.edges.tolist() == [[0, 0], [1, 2]]
        assert part.edge_features.tolist() == [[5], [7]]
        assert part.vertices == 3
    assert graph.without_edges([]).edges.shape == (2, 3)
    one_way = Graph(TRIANGLE, directed=True)
    with pytest.raises(ValueError, match=r"must be there, got 2 → 1, which is no edge"):
        one_way.without_edges([(2, 1)])
    with pytest.raises(ValueError, match=r"shape \(3,\), one entry per edge, got \(4,\)"):
        graph.without_edges(torch.ones(4, dtype=torch.bool))


def test_sparse_features_stay_sparse():
    dense = torch.tensor([[0.0, 1, 0], [2, 0, 3], [0, 0, 0]])
    graph = Graph(TRIANGLE, x=dense.to_sparse_csr())
    order = torch.tensor([2, 1, 0])
    other = graph.permuted(order)
    assert other.x.layout == torch.sparse_csr
    assert torch.equal(other.x.to_dense(), dense[order])
    both = Graph.batch([graph, other])
    assert torch.equal(both.x.to_dense(), torch.cat([dense, dense[order]]))
    assert [torch.equal(part.x.to_dense(), x) for part, x in zip(both.split(), (dense, dense[order]))] == [True, True]


def test_to_changes_floats_alone():
    graph = Graph(TRIANGLE, weights=torch.rand(3), x=torch.randn(3, 2), membership=torch.zeros(3, dtype=torch.int64))
    other = graph.to(torch.float64)
    assert (other.x.dtype, other.weights.dtype, other.edges.dtype) == (torch.float64, torch.float64, torch.int64)
    assert graph.to("meta").edges.device.type == "meta"
    assert graph.to(device="cpu", dtype=torch.float16).x.dtype == torch.float16


def test_copies_are_apart():
    graph = random_graph()
    other = copy.deepcopy(graph)
    other.x[0] = 5
    assert not torch.equal(graph.x, other.x)
    assert torch.equal(graph.adjacency().to_dense(), other.adjacency().to_dense())


@pytest.mark.parametrize("directed", [False, True])
def test_empty_graphs(directed: bool):
    for n in (0, 1, 4):
        graph = Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=n, directed=directed)
        assert graph.adjacency().shape == (n, n)
        assert graph.degrees().tolist() == [0] * n
        assert graph.arcs.shape == (2, 0)
        assert graph.incoming.starts.tolist() == [0] * (n + 1)


def test_the_number_of_vertices_comes_from_x():
    assert Graph(TRIANGLE, x=torch.zeros(5, 1)).vertices == 5
    assert Graph(torch.zeros(2, 0, dtype=torch.int64), x=torch.zeros(2, 1)).vertices == 2


def test_other_whole_numbers_become_int64():
    assert Graph(TRIANGLE.int()).edges.dtype == torch.int64


def test_repr_says_what_is_inside():
    assert repr(Graph(TRIANGLE, x=torch.zeros(3, 2))) == "Graph(vertices=3, edges=3, directed=False, x=(3, 2))"


MISTAKES = {
    r"must join vertices 0 to 2 \(vertices=3\), got edge 1: 1 → 3": dict(
        edges=torch.tensor([[0, 1], [1, 3]]), vertices=3
    ),
    r"got edge 0: -1 → 1": dict(edges=torch.tensor([[-1], [1]])),
    r"whole vertex numbers, got torch.float32; convert them with edges.long\(\)": dict(edges=TRIANGLE.float()),
    r"shape \(2, edges\), got \(3, 2\); transpose it": dict(edges=TRIANGLE.T),
    r"shape \(2, edges\), got \(3,\); give sources": dict(edges=TRIANGLE[0]),
    r"shape \(3,\), one per edge, got \(2,\)": dict(edges=TRIANGLE, weights=torch.ones(2)),
    r"weights must be a float tensor, got torch.int64": dict(edges=TRIANGLE, weights=torch.ones(3).long()),
    r"weights must be finite, got nan at edge 1": dict(edges=TRIANGLE, weights=torch.tensor([1, float("nan"), 1])),
    r"x must have shape \(3, features\), one row per vertex, got \(4, 2\)": dict(
        edges=TRIANGLE, vertices=3, x=torch.zeros(4, 2)
    ),
    r"one row per vertex, got \(3,\)": dict(edges=TRIANGLE, x=torch.zeros(3)),
    r"one row per edge, got \(4, 1\)": dict(edges=TRIANGLE, edge_features=torch.zeros(4, 1)),
    r"int64 tensor of shape \(3,\), the graph of every vertex, got torch.float32": dict(
        edges=TRIANGLE, membership=torch.zeros(3)
    ),
    r"must stay inside one graph, got 1 → 2 from graph 0 to 1": dict(
        edges=TRIANGLE, membership=torch.tensor([0, 0, 1])
    ),
    r"must name graphs 0 to 1 \(graphs=2\), got 0 to 2": dict(
        edges=TRIANGLE, membership=torch.tensor([0, 0, 2]), graphs=2
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_told(message: str):
    with pytest.raises(ValueError, match=message):
        Graph(**MISTAKES[message])


def test_mistakes_in_parts_are_told():
    graph = Graph(TRIANGLE)
    with pytest.raises(ValueError, match="each of the numbers 0 to 2 once"):
        graph.permuted(torch.tensor([0, 1, 1]))
    with pytest.raises(ValueError, match="must differ, got one twice"):
        graph.subgraph(torch.tensor([1, 1]))
    with pytest.raises(ValueError, match="one of out, in, got 'both'"):
        graph.degrees("both")
