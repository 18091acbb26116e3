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


@pytest.mark.parametrize(("p", "q"), [(1e9, 1.0), (1.0, 1e9), (1e-9, 1.0), (0.3, 4.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_by_its_own_distribution(p: float, q: float, weighted: bool):
    """Of every pair t → v of a graph with parallel edges, loops, a hub and leaves: the shares of the equation."""
    rng = np.random.default_rng(0)
    graph = nx.star_graph(9)
    graph.add_edges_from([(1, 2), (2, 3), (10, 1), (10, 0), (4, 4), (11, 10)])
    ends = np.array([*graph.edges, (0, 3), (1, 2)]).T
    arcs = np.concatenate([ends, ends[::-1]], 1)
    weights = rng.random(arcs.shape[1]) + 0.1 if weighted else np.ones(arcs.shape[1])
    a = np.zeros((12, 12))
    np.add.at(a, tuple(arcs), weights)
    steps = Steps(arcs, 12, weights)
    uniform = (np.arange(4000) + 0.5) / 4000
    for t, v in np.argwhere(a > 0):
        α = np.where(np.arange(12) == t, 1 / p, np.where(a[t] > 0, 1.0, 1 / q))
        expected = a[v] * α / (a[v] * α).sum()
        found = steps.step_by_bias(np.full(4000, t), np.full(4000, v), uniform, p, q)
        shares = np.bincount(found, minlength=12) / 4000
        # every arc of a row begins and ends within one of 4,000 equal steps, and of a row there are 12 at most
        assert np.abs(shares - expected).max() <= 4 / 4000, (t, v)


@pytest.mark.parametrize(("p", "q"), [(1e6, 1.0), (1.0, 1e6), (1e-6, 1.0)])
def test_walks_on_a_star_end(p: float, q: float):
    """At a leaf there is one way; by rejection alone it would be refused a million times."""
    hub, leaves = np.zeros(3000, np.int64), np.arange(1, 3001)
    steps = Steps(np.stack([np.concatenate([hub, leaves]), np.concatenate([leaves, hub])]), 3001)
    walks = walk(steps, length=6, turns=1, seed=1, back=p, away=q)
    assert (walks >= 0).all()
    assert ((walks[:, 1:] == 0) != (walks[:, :-1] == 0)).all()  # hub and leaf by turns
    if p > 1:
        at_hub = walks[:, 1] == 0
        assert (walks[at_hub, 0] != walks[at_hub, 2]).all()  # it does not turn back at the hub
