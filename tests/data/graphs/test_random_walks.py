"""Random walks: along edges only, by weights, back and away as p and q say, ended where nothing leads on."""

import itertools

import networkx as nx
import numpy as np
import pytest

from cutaway.data.graphs.random_walks import Steps, walk


def karate() -> np.ndarray:
    edges = np.array(nx.karate_club_graph().edges).T
    return np.concatenate([edges, edges[::-1]], 1)


def test_every_step_is_an_edge_and_every_vertex_begins():
    arcs = karate()
    real = set(map(tuple, arcs.T.tolist()))
    walks = walk(Steps(arcs, 34), length=10, turns=3, seed=0, back=0.5, away=2.0)
    assert walks.shape == (102, 10)
    assert sorted(walks[:34, 0].tolist()) == list(range(34))
    assert all((a, b) in real for row in walks.tolist() for a, b in itertools.pairwise(row))
    assert np.array_equal(walks, walk(Steps(arcs, 34), 10, 3, 0, 0.5, 2.0))


def test_a_walk_ends_where_nothing_leads_on():
    walks = walk(Steps(np.array([[0, 1], [1, 2]]), 4), length=5, turns=1)
    by_start = {row[0]: row[1:].tolist() for row in walks}
    assert by_start == {0: [1, 2, -1, -1], 1: [2, -1, -1, -1], 2: [-1] * 4, 3: [-1] * 4}


def test_steps_in_proportion_to_weights():
    steps = Steps(np.array([[0, 0, 0], [1, 2, 3]]), 4, np.array([1.0, 3.0, 0.0]))
    uniform = (np.arange(400) + 0.5) / 400
    found = np.bincount(steps.step(np.zeros(400, np.int64), uniform), minlength=4)
    assert found.tolist() == [0, 100, 300, 0]


def test_back_and_away():
    """From t = 0 at v = 1 of a triangle 0 1 2 with a tail 1 – 3: back to 0, on to 2 (near 0) or to 3 (away)."""
    ends = np.array([[0, 1, 0, 1], [1, 2, 2, 3]])
    arcs = np.concatenate([ends, ends[::-1]], 1)
    p, q = 4.0, 0.5
    walks = walk(Steps(arcs, 4), length=3, turns=6000, seed=2, back=p, away=q)
    third = walks[(walks[:, 0] == 0) & (walks[:, 1] == 1), 2]
    expected = np.array([1 / p, 0, 1, 1 / q]) / (1 / p + 1 + 1 / q)
    assert np.bincount(third, minlength=4) / len(third) == pytest.approx(expected, abs=0.03)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="weights of 0 or more, got -2"):
        Steps(np.array([[0], [1]]), 2, np.array([-2.0]))
