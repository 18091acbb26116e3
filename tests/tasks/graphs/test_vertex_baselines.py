"""Rules without a network: worked by hand, and as networkx and scikit-learn have them."""

import networkx as nx
import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.tasks.graphs.vertex_baselines import (
    feature_scores,
    feature_values,
    label_propagation,
    neighbour_means,
    value_rules,
    vertex_rules,
)


def two_cliques() -> Graph:
    """Vertices 0–3 all joined, 4–7 all joined, and one edge between."""
    pairs = [(i, j) for part in (range(4), range(4, 8)) for i in part for j in part if i < j] + [(3, 4)]
    return Graph(torch.tensor(pairs).T)


def test_labels_spread_in_their_clique():
    targets = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    found = label_propagation(two_cliques(), targets, torch.tensor([0, 7]), 2)
    assert found.argmax(1).tolist() == targets.tolist()


def test_label_propagation_is_the_fixed_point_of_its_equation():
    graph = nx.karate_club_graph()
    edges = torch.tensor(list(graph.edges)).T
    targets = torch.tensor([int(graph.nodes[v]["club"] == "Officer") for v in graph])
    train = torch.tensor([0, 33])
    a = nx.to_numpy_array(graph, weight=None)
    d = a.sum(1) ** -0.5
    y = np.zeros((34, 2))
    y[0, targets[0]] = y[33, targets[33]] = 1
    exact = np.linalg.solve(np.eye(34) - 0.9 * d[:, None] * a * d, 0.1 * y)
    found = label_propagation(Graph(edges), targets, train, 2)
    assert np.abs(found.numpy() - exact).max() < 0.01
    assert (found.argmax(1).numpy() == exact.argmax(1)).all()


def test_directed_edges_carry_labels_one_way():
    graph = Graph(torch.tensor([[0, 2], [1, 1]]), vertices=3, directed=True)
    found = label_propagation(graph, torch.tensor([1, 0, 0]), torch.tensor([0]), 2)
    assert found[2].sum() == 0


def test_features_alone():
    x = torch.tensor([[0.0], [0.1], [1.0], [0.9], [0.05], [0.95]])
    scores = feature_scores(x, torch.tensor([0, 0, 1, 1]), torch.arange(4), torch.tensor([4, 5]))
    assert scores.argmax(1).tolist() == [0, 1]
    sparse = feature_scores(x.to_sparse_csr(), torch.tensor([0, 0, 1, 1]), torch.arange(4), torch.tensor([4, 5]))
    assert torch.allclose(scores, sparse, atol=1e-4)
    assert feature_scores(None, torch.tensor([0, 1]), torch.arange(2), torch.arange(2)) is None


def test_all_rules_beside_each_other():
    targets = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    train = torch.tensor([0, 1, 7])
    found = vertex_rules(two_cliques().with_x(torch.eye(8)), targets, train, torch.tensor([2, 3, 4, 5]), 2)
    assert list(found) == ["majority", "features alone", "label propagation"]
    assert found["majority"]["metrics"]["accuracy"] == 0.5
    assert found["label propagation"]["metrics"]["accuracy"] == 1.0
    assert "features alone" not in vertex_rules(two_cliques(), targets, train, torch.tensor([2, 3]), 2)


def test_values_by_hand():
    star = Graph(torch.tensor([[0, 0, 0, 4], [1, 2, 3, 5]]), 7, weights=torch.tensor([1.0, 3.0, 1.0, 1.0]))
    targets = torch.tensor([0.0, 2.0, 6.0, 9.0, 5.0, 1.0, float("nan")])
    train = torch.tensor([1, 2, 4])
    found = neighbour_means(star, targets, train)
    mean = 13 / 3
    expected = [(2 + 3 * 6) / 4, mean, mean, mean, mean, 5.0, mean]
    assert torch.allclose(found, torch.tensor(expected))
    rules = value_rules(star, targets, train, torch.tensor([0, 5]))
    assert list(rules) == ["mean", "neighbours' mean"]
    assert rules["neighbours' mean"]["metrics"]["rmse"] == np.sqrt((25 + 16) / 2).astype(np.float32)
    assert set(rules["mean"]["metrics"]) == {"rmse", "mae", "r2"}


def test_ridge_regression_on_features():
    x = torch.linspace(-1, 1, 40)[:, None]
    y = 3 * x[:, 0] + 1
    train, held = torch.arange(0, 40, 2), torch.arange(1, 40, 2)
    assert (feature_values(x, y[train], train, held) - y[held]).abs().max() < 0.3  # alpha = 1 pulls a little
    sparse = feature_values(x.to_sparse_csr(), y[train], train, held)
    assert (sparse - y[held]).abs().max() < 0.3
    assert feature_values(None, y[train], train, held) is None
