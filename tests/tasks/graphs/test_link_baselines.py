"""Scores of pairs without a model: worked by hand, and equal to networkx's."""

import networkx as nx
import numpy as np
import pytest

from cutaway.tasks.graphs.link_baselines import LinkRules


@pytest.fixture
def karate() -> tuple[nx.Graph, LinkRules, np.ndarray]:
    graph = nx.karate_club_graph()
    edges = np.array(graph.edges).T
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 34, (2, 50))
    return graph, LinkRules(edges, 34), pairs[:, pairs[0] != pairs[1]]


def test_equal_to_networkx(karate: tuple[nx.Graph, LinkRules, np.ndarray]):
    graph, rules, pairs = karate
    listed = [tuple(map(int, pair)) for pair in pairs.T]
    assert rules.common(pairs).tolist() == [len(list(nx.common_neighbors(graph, *pair))) for pair in listed]
    assert rules.adamic_adar(pairs) == pytest.approx([p for _, _, p in nx.adamic_adar_index(graph, listed)])
    assert rules.attachment(pairs).tolist() == [p for _, _, p in nx.preferential_attachment(graph, listed)]


def test_edges_given_twice_and_self_loops_change_nothing():
    pairs = np.array([[0], [2]])
    once = LinkRules(np.array([[0, 1], [1, 2]]), 3)
    twice = LinkRules(np.array([[0, 1, 1, 1], [1, 2, 0, 1]]), 3)
    assert once.common(pairs) == twice.common(pairs) == 1


def test_what_people_with_my_taste_like():
    """People 0 and 1 both like film 3; 1 likes 4 too. So 0 – 4 has a path of three steps, 0 – 5 has none."""
    rules = LinkRules(np.array([[0, 1, 1, 2], [3, 3, 4, 5]]), 6)
    found = rules.three_steps(np.array([[0, 0], [4, 5]]))
    assert found[0] == pytest.approx(1 / np.sqrt(2 * 2))
    assert found[1] == 0
    assert rules.common(np.array([[0], [4]])) == 0


def test_the_foe_of_my_foe_is_my_friend():
    rules = LinkRules(np.array([[0, 1, 1], [1, 2, 3]]), 4, signs=np.array([-1.0, -2.0, 1.0]))
    assert rules.common(np.array([[0, 0], [2, 3]])).tolist() == [1, -1]
