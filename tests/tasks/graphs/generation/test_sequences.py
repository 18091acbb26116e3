"""Graphs as sequences: orders that fit, batches that are a function of seed and step, what is left out and said."""

import pytest
import torch

from cutaway.blocks.graphs.breadth_first import graph_of_rows, order_bandwidth
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.tasks.graphs.generation.sequences import (
    SequenceBatches,
    draw_order,
    fitting_bandwidth,
    fixed_sequences,
    narrow_order,
    plain_graphs,
)


def ring(n: int) -> Graph:
    return Graph(torch.stack([torch.arange(n), (torch.arange(n) + 1) % n]), n)


def star(n: int) -> Graph:
    return Graph(torch.stack([torch.zeros(n - 1, dtype=torch.int64), torch.arange(1, n)]), n)


def rows_of(*graphs: Graph) -> GraphRows:
    return GraphRows(graphs, tuple(f"graph {i}" for i in range(len(graphs))), None)


def test_plain_graphs():
    messy = Graph(torch.tensor([[0, 1, 1, 2], [1, 0, 1, 1]]), 4, weights=torch.rand(4), x=torch.rand(4, 2))
    plain, notes = plain_graphs(rows_of(messy, ring(9)), largest=8)
    assert [graph.edges.tolist() for graph in plain] == [[[0, 1], [1, 2]]]
    assert plain[0].vertices == 4
    assert plain[0].x is None
    assert plain[0].weights is None
    assert notes == ["1 of 2 graphs have more than 8 vertices (largest): left out", "1 self-loops: left out"]
    with pytest.raises(ValueError, match=r"must be undirected, got 'graph 1', which is directed"):
        plain_graphs(rows_of(ring(3), Graph(torch.tensor([[0], [1]]), directed=True)), 8)


def test_a_ring_reaches_two_back_and_a_star_as_far_as_it_is_wide():
    assert fitting_bandwidth([ring(9)]) == 2
    assert fitting_bandwidth([star(9)]) == 7  # from a leaf, which nearly all orders begin with
    assert fitting_bandwidth([Graph(torch.zeros(2, 0, dtype=torch.int64), 3)]) == 1
    found = narrow_order(star(9), 7)
    assert found is not None
    assert order_bandwidth(star(9), found) == 7
    assert narrow_order(star(9), 6) is None


def test_batches_are_a_function_of_seed_and_step():
    graphs = [ring(5), star(6), ring(7), star(8)]
    batches = SequenceBatches(graphs, 7, 3, seed=1)
    again = SequenceBatches(graphs, 7, 3, seed=1)
    first, second = batches.at(4), again.at(4)
    assert torch.equal(first.rows, second.rows)
    assert torch.equal(first.sizes, second.sizes)
    halves = [SequenceBatches(graphs, 7, 4, 1, rank, 2).at(2).sizes.tolist() for rank in (0, 1)]
    assert halves[0] + halves[1] == SequenceBatches(graphs, 7, 4, 1).at(2).sizes.tolist()
    orders = {draw_order(graphs[1], 1, number).tolist()[0] for number in range(20)}
    assert len(orders) > 3


def test_orders_that_are_too_wide_give_way():
    batches = SequenceBatches([star(6)], 4, 1)
    for step in range(10):
        rows, sizes = batches.at(step)
        assert graph_of_rows(rows[0, : int(sizes[0])].bool()).edges.shape[1] == 5


def test_fixed_sequences_hold_every_graph_that_fits_as_often():
    parts = fixed_sequences([star(9), ring(5)], 6, orders=3)
    assert sum(len(part.sizes) for part in parts) == 3
    assert fixed_sequences([star(9)], 6) == []
