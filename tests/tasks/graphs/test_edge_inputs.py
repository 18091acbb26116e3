"""What a model reads of edges: features by the scale of training, weights where nothing else weighs messages."""

import math

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.tasks.graphs.edge_inputs import edge_settings, edges_in_words, expect_readable_edges

EDGES = [[0, 1, 2], [1, 2, 0]]


def graph_with(features: list[list[float]] | None = None, weights: list[float] | None = None) -> Graph:
    return Graph(
        torch.tensor(EDGES),
        vertices=3,
        edge_features=None if features is None else torch.tensor(features),
        weights=None if weights is None else torch.tensor(weights),
    )


def test_features_are_scaled_and_kinds_stay():
    found = edge_settings("gat", [graph_with([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])])
    assert found["edge_inputs"] == 2
    assert found["edge_mean"] == pytest.approx((2.0, 0.0))
    assert found["edge_std"] == pytest.approx((math.sqrt(2 / 3), 1.0))
    assert "edge_mean" not in edge_settings("gat", [graph_with([[1.0], [0.0], [1.0]])])


def test_a_feature_that_is_the_same_for_all_is_not_divided_by_nothing():
    assert edge_settings("gat", [graph_with([[7.0], [7.0], [7.0]])])["edge_std"] == (1.0,)


def test_attention_reads_weights_as_a_feature_and_a_sum_multiplies_by_them():
    graph = graph_with(weights=[1.0, 2.0, 2.0])
    found = edge_settings("gat", [graph])
    assert found["edge_inputs"] == 1
    assert found["weight_scale"] == pytest.approx(math.sqrt(3))
    assert "read the weight of an edge as a feature" in edges_in_words(found, "gat", [graph], ())
    assert edge_settings("gcn", [graph])["edge_inputs"] == 0


def test_features_that_a_layer_cannot_read_are_refused_or_left_out_aloud():
    graph = graph_with([[1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match=r"layers 'gcn' read no features of edges, got length in g\.csv; take layers"):
        expect_readable_edges("gcn", [graph], ["length"], "g.csv")
    expect_readable_edges("gat", [graph], ["length"], "g.csv")
    found = edge_settings("gat", [graph], ignore=True)
    assert found["edge_inputs"] == 0
    assert edges_in_words(found, "gat", [graph], ["length"]) == "\nfeatures of edges are left out: length"
