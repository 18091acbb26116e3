"""Rules of edges with labels: worked by hand."""

import numpy as np

from cutaway.data.graphs.link_splits import Pairs
from cutaway.tasks.graphs.edges import class_rules, value_rules_of_edges


def test_habits_of_classes_by_hand():
    known = Pairs(np.array([[0, 0, 1], [2, 3, 3]]), np.array([0, 0, 1]))
    found = class_rules(known, np.array([[0], [3]]), 4, 2)
    p = np.array([2 / 3, 1 / 3])
    first = (np.array([2, 0]) + 5 * p) / 7
    second = (np.array([1, 1]) + 5 * p) / 7
    assert np.allclose(found["habits"][0], np.log(first) + np.log(second) - np.log(p), atol=1e-6)
    assert np.allclose(found["majority"][0], np.log(p), atol=1e-6)


def test_habits_of_values_by_hand():
    known = Pairs(np.array([[0, 0, 1], [2, 3, 3]]), np.array([5.0, 3.0, 1.0]))
    found = value_rules_of_edges(known, np.array([[1, 1], [2, 3]]), 4, ordered=True)
    b0, b1 = (2 + 0) / 7, -2 / 6
    b2, b3 = (2 - b0) / 6, (0 - b0 - 2 - b1) / 7
    assert np.allclose(found["habits"][:, 0], [3 + b1 + b2, 3 + b1 + b3])
    assert found["mean"].tolist() == [[3.0], [3.0]]


def test_either_way_round_of_an_undirected_edge_is_the_same():
    rng = np.random.default_rng(0)
    known = Pairs(rng.integers(0, 8, (2, 30)), rng.normal(size=30))
    asked = rng.integers(0, 8, (2, 9))
    there, back = (value_rules_of_edges(known, pairs, 8, ordered=False)["habits"] for pairs in (asked, asked[::-1]))
    assert np.allclose(there, back)
