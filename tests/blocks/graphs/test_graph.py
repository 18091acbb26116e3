"""The graph type: what follows from its edges, graphs made from it, and what it refuses."""

import copy

import networkx as nx
import pytest
import torch

from cutaway.blocks import Graph
from cutaway.blocks.graph_layers.chebyshev import ChebyshevLayer
from cutaway.blocks.graph_layers.cluster_pooling import match_neighbours
from cutaway.blocks.graph_layers.fixed_point import FixedPointLayer
from cutaway.blocks.graph_layers.gcn import GCNLayer
from cutaway.blocks.graph_layers.graph_conv import GraphConvLayer
from cutaway.blocks.graph_layers.structural_encodings import random_walk_encoding
from cutaway.blocks.graphs.breadth_first import breadth_first_order
from cutaway.blocks.graphs.neighbours import max_neighbours, mean_neighbours

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


def outputs_of(graph: Graph) -> torch.Tensor:
    """What the layers of different caches give, side by side."""
    torch.manual_seed(7)
    layers = [GCNLayer(3, 2), GraphConvLayer(3, 2, aggregate="mean"), ChebyshevLayer(3, 2), FixedPointLayer(3, 2)]
    layers = [layer.double() for layer in layers]
    x = torch.arange(33.0, dtype=torch.float64).reshape(11, 3).sin()
    bare = graph.but(edge_features=None)
    walks = random_walk_encoding(bare, 3, torch.float64)
    ours = [layer(x, graph) for layer in layers]
    return torch.cat([*ours, walks, graph.adjacency().to_dense(), graph.degrees()[:, None]], 1).detach()


CHANGES = {
    "weights by index": lambda g: g.weights.__setitem__(0, 5.0),
    "weights without gradients": lambda g: g.weights.mul_(3),
    "a weight to 0": lambda g: g.weights.__setitem__(slice(0, 3), 0.0),
    "a weight from 0": lambda g: g.weights.__setitem__(4, 2.0),
    "edges by index": lambda g: g.edges.__setitem__((0, 2), 9),
    "an edge to a loop": lambda g: g.edges.__setitem__((slice(None), 1), 3),
    "all edges": lambda g: g.edges.copy_(g.edges.flip(0).roll(1, 1)),
}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_place_is_noticed(name: str, moved: bool):
    def fresh() -> Graph:
        graph = random_graph().but(edge_features=None)
        graph.weights[4] = 0.0
        return graph.to(torch.float64) if moved else graph

    graph = fresh()
    beside = graph.with_x(torch.zeros(11, 1))  # shares what was worked out
    before = outputs_of(graph)
    CHANGES[name](graph)
    right = Graph(graph.edges.clone(), 11, graph.weights.clone(), graph.x)
    assert not torch.equal(outputs_of(graph), before)
    assert torch.equal(outputs_of(graph), outputs_of(right))
    assert torch.equal(outputs_of(beside), outputs_of(right))
    assert graph.loops == right.loops
    assert torch.equal(copy.deepcopy(graph).arcs, right.arcs)


def test_features_of_edges_and_membership_changed_in_place_are_noticed():
    graph = Graph(TRIANGLE, edge_features=torch.ones(3, 1), membership=torch.zeros(3, dtype=torch.int64), graphs=2)
    assert graph.with_loops().edge_features.sum() == 6
    graph.edge_features.mul_(2)
    assert graph.with_loops().edge_features.sum() == 12
    graph.membership[0] = 1
    with pytest.raises(ValueError, match="an edge must stay inside one graph, got 0 → 1 from graph 1 to 0"):
        graph.adjacency()
    weighted = Graph(TRIANGLE.clone(), weights=torch.ones(3))
    assert not weighted.signed
    weighted.weights[1] = -1
    assert weighted.signed
    weighted.edges[0, 0] = 8
    with pytest.raises(ValueError, match=r"must join vertices 0 to 2 \(vertices=3\), got edge 0: 8 → 1"):
        weighted.adjacency()


def test_weights_that_begin_to_learn_are_noticed():
    graph = Graph(TRIANGLE, weights=torch.tensor([1.0, 0.0, 2.0]))
    assert graph.arcs.shape[1] == 4
    graph.weights.requires_grad_()
    assert graph.arcs.shape[1] == 6  # 0 may become something else: its gradient is known
    graph.degrees().sum().backward()
    assert graph.weights.grad.tolist() == [2, 2, 2]
    with torch.inference_mode():
        made = Graph(TRIANGLE, weights=torch.ones(3))
        assert made.degrees().tolist() == [2, 2, 2]
        made.weights[0] = 4
        assert made.degrees().tolist() == [5, 5, 2]


@pytest.mark.parametrize("name", ["weights", "edges", "x", "edge_features", "membership", "directed", "vertices"])
def test_a_graph_is_not_changed_but_built_anew(name: str):
    graph = random_graph()
    with pytest.raises(AttributeError, match=rf"does not change once it is built.*graph = graph\.but\({name}=…\)"):
        setattr(graph, name, None)
    with pytest.raises(AttributeError, match="does not change"):
        delattr(graph, name)
    other = graph.but(weights=None, edge_features=None, directed=True)
    assert (other.weights, other.edge_features, other.directed) == (None, None, True)
    assert torch.equal(other.arcs, graph.edges)
    with pytest.raises(ValueError, match="got 'weight'; name one of these"):
        graph.but(weight=None)


@pytest.mark.parametrize("directed", [False, True])
def test_an_edge_of_weight_0_is_no_edge(directed: bool):
    """Every layer, sum and list is that of the graph without it; a self-loop of weight 0 is none either."""
    graph = random_graph(directed=directed).but(edge_features=None)
    zero = torch.zeros(29, dtype=torch.bool)
    zero[[0, 5, 9]] = True
    zero |= graph.edges[0] == graph.edges[1]
    assert int((graph.edges[0] == graph.edges[1]).sum())
    silent = graph.but(weights=graph.weights.masked_fill(zero, 0.0))
    without = graph.without_edges(zero)
    assert torch.equal(silent.arcs, without.arcs)
    assert torch.equal(silent.arc_weights, without.arc_weights)
    assert torch.equal(silent.with_loops().arcs, without.with_loops().arcs)
    assert silent.without_absent().edges.tolist() == without.edges.tolist()
    assert int(silent.present.sum()) == without.edges.shape[1]
    for mix in (mean_neighbours, max_neighbours):
        assert torch.equal(mix(graph.x, silent), mix(graph.x, without))
    if not directed:
        assert torch.equal(outputs_of(silent), outputs_of(without))
        assert torch.equal(breadth_first_order(silent), breadth_first_order(without))
        assert torch.equal(match_neighbours(silent), match_neighbours(without))


def test_weights_as_features():
    graph = random_graph()
    told = graph.weights_as_features(2.0)
    assert told.weights is None
    assert torch.equal(told.edge_features, torch.cat([graph.edge_features, graph.weights[:, None] / 2], 1))
    silent = graph.but(weights=graph.weights.clone().index_fill_(0, torch.tensor([3]), 0.0))
    assert torch.equal(silent.weights_as_features().arcs, silent.arcs)
    assert Graph(TRIANGLE).weights_as_features(2.0).edge_features.tolist() == [[0.5]] * 3


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
