"""Scores of vertices beside networkx's."""

import networkx
import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.data.graphs.vertex_scores import pagerank, vertex_scores

KARATE = networkx.karate_club_graph()
THEIRS = {
    "degree": lambda g: dict(g.degree(weight="weight")),
    "pagerank": networkx.pagerank,
    "core": networkx.core_number,
    "clustering": networkx.clustering,
    "betweenness": networkx.betweenness_centrality,
    "closeness": networkx.closeness_centrality,
}


@pytest.mark.parametrize("name", THEIRS)
def test_equal_to_networkxs(name: str):
    ours = vertex_scores(cut.data.as_graph(KARATE), [name])[name]
    theirs = THEIRS[name](KARATE)
    np.testing.assert_allclose(ours, [theirs[v] for v in KARATE], atol=1e-5)


def test_pagerank_of_a_directed_graph_with_dead_ends():
    theirs = networkx.DiGraph([(0, 1), (1, 2), (3, 1), (2, 0), (0, 4)])
    ours = pagerank(cut.data.as_graph(theirs, directed=True))
    expected = networkx.pagerank(theirs, tol=1e-12)
    nodes = list(theirs)
    np.testing.assert_allclose(ours, [expected[v] for v in nodes], atol=1e-8)
    assert ours.sum() == pytest.approx(1)


def test_a_large_graph_is_sampled_and_loops_do_not_count():
    graph = cut.data.as_graph(networkx.gnm_random_graph(2500, 4000, seed=0))
    exact = networkx.Graph(cut.data.to_networkx(graph))
    assert vertex_scores(graph, ["core"])["core"].max() == max(networkx.core_number(exact).values())
    loop = cut.blocks.Graph(torch.tensor([[0, 0], [0, 1]]))
    assert vertex_scores(loop, ["core"])["core"].tolist() == [1, 1]


def test_mistakes():
    with pytest.raises(ValueError, match="score must be one of degree, pagerank"):
        vertex_scores(cut.data.as_graph(KARATE), ["rank"])
    with pytest.raises(ValueError, match="from 0 to below 1, got 1"):
        pagerank(cut.data.as_graph(KARATE), damping=1)
    with pytest.raises(ValueError, match="weights of 0 or more, got some below"):
        pagerank(cut.blocks.Graph(torch.tensor([[0], [1]]), weights=torch.tensor([-1.0])))
