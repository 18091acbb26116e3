"""Degrees, clustering and components against networkx; equal shapes have equal hashes."""

import networkx as nx
import numpy as np
import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.tasks.graphs.generation.statistics import (
    compare_graphs,
    novelty,
    shape_hash,
    vertex_statistics,
)


def made(graph: nx.Graph) -> Graph:
    return Graph(torch.tensor(list(graph.edges)).reshape(-1, 2).T, len(graph))


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_networkx(seed: int):
    graph = nx.gnp_random_graph(17, 0.15, seed=seed)
    found = vertex_statistics(made(graph))
    assert found.degree.tolist() == [d for _, d in graph.degree]
    np.testing.assert_allclose(found.clustering, [*nx.clustering(graph).values()], atol=1e-12)
    assert found.component.tolist() == [len(nx.node_connected_component(graph, v)) for v in graph]


def test_the_same_graphs_are_at_distance_0_and_others_are_not():
    rings = [made(nx.cycle_graph(n)) for n in (5, 6, 7)]
    whole = [made(nx.complete_graph(n)) for n in (5, 6, 7)]
    assert max(compare_graphs(rings, rings).values()) == pytest.approx(0, abs=1e-12)
    found = compare_graphs(rings, whole)
    assert found["degree_mmd"] > 0.5
    assert found["clustering_mmd"] > 0.5
    assert found["component_mmd"] == pytest.approx(0, abs=1e-12)


def test_shapes():
    path, star = made(nx.path_graph(4)), made(nx.star_graph(3))
    other = path.permuted(torch.tensor([2, 0, 3, 1]))
    assert shape_hash(path) == shape_hash(other)
    assert shape_hash(path) != shape_hash(star)
    assert novelty([path, other, star, star], [path]) == {"novel": 0.5, "unique": 0.5}
