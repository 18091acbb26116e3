"""Breadth-first orders and the rows of an adjacency: by hand, against networkx, there and back."""

import networkx as nx
import pytest
import torch

from cutaway.blocks.graphs.breadth_first import adjacency_rows, breadth_first_order, graph_of_rows, order_bandwidth
from cutaway.blocks.graphs.graph import Graph


def random_graph(seed: int, n: int = 13, p: float = 0.15) -> tuple[Graph, nx.Graph]:
    """A graph that falls into pieces."""
    made = nx.gnp_random_graph(n, p, seed=seed)
    return Graph(torch.tensor(list(made.edges)).reshape(-1, 2).T, n), made


def test_by_hand():
    star = Graph(torch.tensor([[0, 0, 0], [1, 2, 3]]), 5)
    order = breadth_first_order(star, torch.tensor([2, 3, 4, 0, 1]))
    assert order.tolist() == [2, 0, 3, 1, 4]  # from 2 to its neighbour 0, then 0's by priority, then the lone vertex
    assert order_bandwidth(star, order) == 2
    rows = adjacency_rows(star, order, 2)
    assert rows.int().tolist() == [[0, 0], [1, 0], [1, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize("seed", range(5))
def test_distances_never_fall_within_a_component(seed: int):
    graph, made = random_graph(seed)
    order = breadth_first_order(graph, torch.randperm(13, generator=torch.Generator().manual_seed(seed))).tolist()
    assert sorted(order) == list(range(13))
    for piece in nx.connected_components(made):
        places = [v for v in order if v in piece]
        apart = nx.single_source_shortest_path_length(made, places[0])
        far = [apart[v] for v in places]
        assert far == sorted(far)
        assert order[order.index(places[0]) : order.index(places[0]) + len(places)] == places  # one after another


@pytest.mark.parametrize("seed", range(5))
def test_rows_there_and_back(seed: int):
    graph, made = random_graph(seed, p=0.3)
    order = breadth_first_order(graph)
    again = graph_of_rows(adjacency_rows(graph, order, max(1, order_bandwidth(graph, order))))
    named = {frozenset(order[edge].tolist()) for edge in again.edges.T}
    assert named == {frozenset(edge) for edge in made.edges}
    assert again.vertices == 13


def test_loops_and_edges_given_twice_have_no_place():
    graph = Graph(torch.tensor([[0, 1, 1], [1, 0, 1]]), 2)
    assert adjacency_rows(graph, torch.tensor([0, 1]), 1).int().tolist() == [[0], [1]]
    alone = Graph(torch.zeros(2, 0, dtype=torch.int64), 1)
    assert graph_of_rows(adjacency_rows(alone, breadth_first_order(alone), 3)).vertices == 1


def test_an_edge_that_reaches_too_far():
    ring = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    with pytest.raises(ValueError, match=r"at most 2 vertices back \(bandwidth\), got one that reaches 3 back"):
        adjacency_rows(ring, torch.arange(4), 2)
