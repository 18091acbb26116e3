"""Walks as text: a line a walk, the same text at every reading, names that are words."""

import itertools

import networkx
import pytest
import torch

import cutaway as cut
from cutaway.data.graphs.random_walks import Steps, walk
from cutaway.tasks.graphs import walk_texts
from cutaway.tasks.graphs.walk_texts import walk_source, walk_words


def club() -> "cut.data.GraphData":
    return cut.data.read_graph("karate-club")


def test_lines_are_the_walks_of_the_graph():
    data = club()
    source = walk_source(data, 7, 3, 5, 1.0, 2.0)
    rows = [line.split(" ") for line in "".join(source.pieces()).splitlines()]
    expected = walk(Steps(data.graph.arcs.numpy(), data.graph.vertices), 7, 3, 5, 1.0, 2.0)
    assert rows == [[data.names[v] for v in row] for row in expected.tolist()]
    assert len(rows) == 3 * data.graph.vertices
    joined = {frozenset((data.names[i], data.names[j])) for i, j in data.graph.edges.T.tolist()}
    assert all(frozenset(pair) in joined for row in rows for pair in itertools.pairwise(row))


def test_the_text_is_the_same_at_every_reading_however_it_is_cut(monkeypatch: pytest.MonkeyPatch):
    source = walk_source(club(), 5, 2, 0, 1.0, 1.0)
    text = "".join(source.pieces())
    assert "".join(source.pieces()) == text
    assert source.fingerprint.size == len(text.encode())
    monkeypatch.setattr(walk_texts, "_ROWS", 7)
    small = walk_source(club(), 5, 2, 0, 1.0, 1.0)
    assert len(list(small.pieces())) == 2 * -(-34 // 7)
    assert "".join(small.pieces()) == text
    assert small.fingerprint.digest == source.fingerprint.digest
    assert walk_source(club(), 5, 2, 1, 1.0, 1.0).fingerprint.digest != source.fingerprint.digest  # another seed


def test_walks_end_where_no_edge_leads_on_and_vertices_alone_are_lines_of_their_own():
    graph = networkx.DiGraph([("a", "b"), ("b", "c")])
    graph.add_node("alone")
    rows = "".join(walk_source(cut.data.read_graph(graph), 9, 1, 0, 1.0, 1.0).pieces()).splitlines()
    assert sorted(rows) == ["a b c", "alone", "b c", "c"]


def test_edges_of_weight_0_are_not_walked():
    graph = networkx.Graph([("a", "b"), ("b", "c")])
    networkx.set_edge_attributes(graph, {("a", "b"): 0.0, ("b", "c"): 2.0}, "weight")
    rows = "".join(walk_source(cut.data.read_graph(graph), 3, 4, 0, 1.0, 1.0).pieces()).splitlines()
    assert set(rows) == {"a", "b c b", "c b c"}


def test_names_become_words():
    assert walk_words(("paper 1", "paper_1", "paper\t1", " b ", "")) == ["paper_1", "paper_1_2", "paper_1_3", "b", "_"]
    assert len(set(walk_words(("x", "x_2", "x", "x_2", "x")))) == 5  # numbered names may be there already
    assert torch.unique(torch.tensor([len(word.split()) for word in walk_words(("a b", "c\u3000d"))])).tolist() == [1]
