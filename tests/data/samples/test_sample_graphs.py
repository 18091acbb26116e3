"""Sample graphs: what they hold, the same every time."""

import networkx
import numpy as np

import cutaway as cut
from cutaway.data.samples.sample_graphs import make_citations


def test_the_karate_club():
    data = cut.data.read_graph("karate-club")
    assert (data.graph.vertices, data.graph.edges.shape[1], data.classes) == (34, 78, ("Mr. Hi", "Officer"))
    assert data.graph.weights is None
    theirs = {frozenset(edge) for edge in networkx.karate_club_graph().edges}
    assert {frozenset(edge) for edge in data.graph.edges.T.tolist()} == theirs


def test_citations_cite_their_field_and_earlier_papers():
    raw, again = make_citations(), make_citations()
    assert raw.fingerprint.digest == again.fingerprint.digest
    assert (raw.pairs[:, 0] > raw.pairs[:, 1]).all()
    assert len(np.unique(raw.pairs, axis=0)) == len(raw.pairs)
    same = raw.labels[raw.pairs[:, 0]] == raw.labels[raw.pairs[:, 1]]
    assert 0.75 < same.mean() < 0.9
    data = cut.data.read_graph("citations")
    assert len(data.classes) == 6
    assert data.counts == {"training": 720, "validation": 240, "test": 240}


def test_trees_are_trees_of_three_kinds():
    data = cut.data.read_graphs("trees", validation=0, test=0)
    assert data.classes == ("chain", "hubs", "random")
    assert data.counts["training"] == 450
    degrees = {name: [] for name in data.classes}
    for graph, target in zip(data.train.graphs, data.train.targets.tolist()):
        assert graph.edges.shape[1] == graph.vertices - 1
        assert cut.data.connected_components(graph).sizes == (graph.vertices,)
        degrees[data.classes[target]].append(graph.degrees().max().item())
    assert np.mean(degrees["chain"]) < np.mean(degrees["random"]) < np.mean(degrees["hubs"])
