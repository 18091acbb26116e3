"""Layouts: inside the frame, the same every time, neighbours near."""

import networkx
import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.look.graph_signals.vertex_layouts import force_layout, spectral_layout


def neighbours_nearer(graph: cut.blocks.Graph, places: np.ndarray) -> float:
    """The mean length of an edge beside the mean distance of all pairs."""
    i, j = graph.edges.numpy()
    every = np.linalg.norm(places[:, None] - places, axis=-1).mean()
    return float(np.linalg.norm(places[i] - places[j], axis=1).mean() / every)


@pytest.mark.parametrize("layout", [force_layout, spectral_layout])
@pytest.mark.parametrize("n", [20, 40])
def test_a_ring_is_drawn_as_one(layout, n: int):
    graph = cut.data.as_graph(networkx.cycle_graph(n))
    places = layout(graph)
    assert places.shape == (n, 2)
    assert np.abs(places).max() == pytest.approx(1)
    assert neighbours_nearer(graph, places) < 0.4
    assert np.array_equal(places, layout(graph))


def test_many_vertices_are_pushed_by_samples():
    graph = cut.data.as_graph(networkx.planted_partition_graph(4, 150, 0.1, 0.001, seed=0))
    places = force_layout(graph, rounds=60)
    assert neighbours_nearer(graph, places) < 0.6
    centres = places.reshape(4, 150, 2).mean(1)
    spread = places.reshape(4, 150, 2).std(1).mean()
    apart = np.linalg.norm(centres[:, None] - centres, axis=-1)[np.triu_indices(4, 1)].min()
    assert apart > spread


def test_odd_graphs():
    assert force_layout(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64), 0)).shape == (0, 2)
    assert force_layout(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64), 1)).tolist() == [[0, 0]]
    assert np.isfinite(force_layout(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64), 5))).all()
    loop = cut.blocks.Graph(torch.tensor([[0, 0, 1], [0, 1, 1]]), 4)
    assert np.isfinite(force_layout(loop)).all()
    assert np.isfinite(spectral_layout(loop)).all()
