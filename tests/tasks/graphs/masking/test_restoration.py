"""Hidden vertices and edges: which are hidden, what is asked of them, and what the naive rules say."""

import numpy as np
import pytest
import torch
from torch import nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.models.graphs.graph_encoder import GraphEncoder
from cutaway.tasks.graphs.masking.restoration import (
    GraphMasks,
    GraphSetMasks,
    HiddenParts,
    Restoration,
    find_kinds,
    neighbour_means,
)


def ring(n: int = 12, features: int = 3) -> Graph:
    edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    return Graph(edges, n, x=nn.functional.one_hot(torch.arange(n) % features, features).float())


def test_kinds_are_found_by_their_names_and_values():
    x = torch.tensor([[1.0, 0.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.1, 1.0, 0.0]])
    graph = Graph(torch.tensor([[0], [1]]), 2, x=x)
    kinds = find_kinds(("element=C", "element=N", "charge", "tag 1", "tag 2"), [graph])
    assert [(kind.name, kind.first, kind.last, kind.values) for kind in kinds] == [
        ("element", 0, 2, ("C", "N")),
        ("tag", 3, 5, ("1", "2")),
    ]
    assert find_kinds(("a=1", "a=2"), [Graph(torch.tensor([[0], [1]]), 2, x=torch.ones(2, 2))]) == ()  # both are 1


def test_batches_are_functions_of_the_step():
    graph, m = ring(), 12
    open_vertices = np.arange(12) < 6
    one = GraphMasks(graph, (0.5, 0.5), open_vertices, np.ones(m, bool), seed=2)
    other = GraphMasks(graph, (0.5, 0.5), open_vertices, np.ones(m, bool), seed=2)
    next(one)
    for a, b in zip(one.at(3)[1:], other.at(3)[1:], strict=True):
        assert np.array_equal(a, b)
    drawn = [one.at(step) for step in range(100)]
    assert not any(parts.vertices[6:].any() for parts in drawn)  # those of validation stay seen
    assert np.mean([parts.vertices[:6].mean() for parts in drawn]) == pytest.approx(0.5, abs=0.06)
    assert all(parts.pairs.shape == (2, parts.edges.sum()) for parts in drawn)


def test_random_pairs_stay_within_a_graph():
    rows = GraphRows((ring(5), ring(7), ring(4)), ("a", "b", "c"), None)
    parts = GraphSetMasks(rows, (0.3, 0.9), 3, seed=1).at(0)
    membership = parts.graph.membership.numpy()
    assert np.array_equal(membership[parts.pairs[0]], membership[parts.pairs[1]])


def test_the_cost_of_kinds_by_hand():
    graph = ring()
    torch.manual_seed(0)
    model = GraphEncoder(inputs=3, width=4).eval()
    hidden = np.zeros(12, bool)
    hidden[[2, 5]] = True
    parts = HiddenParts(graph, hidden, np.zeros(12, bool), np.empty((2, 0), np.int64))
    kinds = find_kinds(("tag 0", "tag 1", "tag 2"), [graph])
    restored = model(graph, torch.from_numpy(hidden))[[2, 5]]
    want = nn.functional.cross_entropy(restored, torch.tensor([2, 2]))
    task = Restoration(kinds)
    torch.testing.assert_close(task.cost(model, parts), want)
    found = task.metrics(model, parts)
    assert found["accuracy"] == (restored.argmax(-1) == 2).double().mean().item()
    assert found["loss"] == pytest.approx(want.item())


def test_the_cost_of_edges_does_not_see_them():
    graph = ring()
    torch.manual_seed(0)
    model = GraphEncoder(inputs=3, width=4).eval()
    edges = np.zeros(12, bool)
    edges[[0, 4]] = True
    parts = HiddenParts(graph, np.zeros(12, bool), edges, np.array([[0, 4], [6, 9]]))
    states = model.encode(graph.without_edges(torch.from_numpy(edges)))
    scores = model.score(states, torch.tensor([[0, 4, 0, 4], [1, 5, 6, 9]]))
    want = nn.functional.binary_cross_entropy_with_logits(scores, torch.tensor([1.0, 1.0, 0.0, 0.0]))
    torch.testing.assert_close(Restoration().cost(model, parts), want)


def test_naive_rules():
    graph = ring(12, 2)  # kinds alternate: neighbours are always of the other one
    hidden = np.zeros(12, bool)
    hidden[[0, 6]] = True
    around = neighbour_means(graph, torch.from_numpy(hidden))
    assert torch.equal(around, torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    kinds = find_kinds(("tag 0", "tag 1"), [graph])
    parts = HiddenParts(graph, hidden, np.zeros(12, bool), np.empty((2, 0), np.int64))
    found = Restoration(kinds).baselines(parts, torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert found["most frequent"]["metrics"]["accuracy"] == 1.0
    assert found["neighbours"]["metrics"]["accuracy"] == 0.0


def test_one_process_takes_the_whole_graph():
    with pytest.raises(ValueError, match="a step over the whole graph is taken by one process, got 2"):
        GraphMasks(ring(), (0.5, 0.0), np.ones(12, bool), np.ones(12, bool), 0, 0, 2)
