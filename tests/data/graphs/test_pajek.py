"""Pajek's files as they are written, and mistakes in them."""

from pathlib import Path

import networkx
import pytest

import cutaway as cut

VERTICES = '*Vertices 3\n1 "Ann Lee" 0.1 0.2 0.5 ellipse\n2 "Bob"\n3 Cy\n'


def read(folder: Path, text: str, name: str = "graph.net") -> cut.data.GraphData:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return cut.data.read_graph(path)


def named(data: cut.data.GraphData) -> list[tuple[str, ...]]:
    return [tuple(data.names[v] for v in pair) for pair in data.graph.edges.T.tolist()]


def test_arcs_edges_and_both(tmp_path: Path):
    data = read(tmp_path, VERTICES + "*Arcs\n1 2 2.5\n2 3\n")
    assert (named(data), data.graph.directed) == ([("Ann Lee", "Bob"), ("Bob", "Cy")], True)
    assert data.graph.weights.tolist() == [2.5, 1.0]  # Pajek's weight where none is given
    assert data.graph.x is None  # places to draw at are no features
    data = read(tmp_path, VERTICES + "*Edges\n1 2\n2 3\n")
    assert (data.graph.directed, data.graph.weights) == (False, None)
    data = read(tmp_path, VERTICES + "*Arcs\n1 2 1\n*Edges\n2 3 4\n")
    assert named(data) == [("Ann Lee", "Bob"), ("Bob", "Cy"), ("Cy", "Bob")]
    assert data.graph.weights.tolist() == [1.0, 4.0, 4.0]
    assert any("an edge is an arc each way" in note for note in data.notes)


@pytest.mark.parametrize(
    "lines", ["*Edgeslist\n1 2 3\n", "*Matrix\n0 1 1\n1 0 0\n1 0 0\n", "*edges\r\n1 2\r\n% no\r\n1 3"]
)
@pytest.mark.parametrize("name", ["graph.net", "graph.paj", "graph.txt"])
def test_other_forms(tmp_path: Path, lines: str, name: str):
    data = read(tmp_path, "% drawn by hand\n*Network friends\n" + VERTICES + lines, name)
    assert named(data) == [("Ann Lee", "Bob"), ("Ann Lee", "Cy")]
    assert not data.graph.directed


def test_what_networkx_writes(tmp_path: Path):
    networkx.write_pajek(networkx.karate_club_graph(), tmp_path / "karate.net")
    graph = cut.data.as_graph(tmp_path / "karate.net")
    assert (graph.vertices, graph.edges.shape[1]) == (34, 78)


def test_vertices_without_labels_relations_and_partitions(tmp_path: Path):
    assert read(tmp_path, "*Vertices 3\n*Edges\n1 2\n").names == ("1", "2", "3")
    data = read(tmp_path, VERTICES + '*Arcs :1 "knows"\n1 2\n*Arcs :2 "likes"\n2 3\n')
    assert data.edge_feature_names == ("relation=:1 knows", "relation=:2 likes")
    data = read(tmp_path, VERTICES + "*Edges\n1 2\n*Partition clubs\n*Vertices 3\n1\n2\n1\n")
    assert named(data) == [("Ann Lee", "Bob")]
    assert "left out: *Partition" in data.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (VERTICES + "2 Ben\n*Edges\n1 2\n", r"a vertex must have one line, got 2 again in line 5 of graph\.net"),
        (VERTICES + "*Edges\n1 9\n", r"numbers, 1 to 3, got '9' in line 6 of graph.net"),
        (VERTICES + "*Edges\nAnn Bob\n", "1 to 3, got 'Ann' in line 6"),
        (VERTICES + "*Edges\n1\n", "an edge must have two ends, got '1' in line 6"),
        ('*Vertices 2\n1 "a"\n2 "a"\n*Edges\n1 2\n', "names of vertices must differ, got 'a' and 'a'"),
        ("*Vertices 999999999999\n*Edges\n1 2\n", "at most 50,000,000 vertices"),
        ("*Vertices many\n*Edges\n1 2\n", r"\*Vertices must say how many there are, got 'many' in line 1"),
        ("*Network x\n1 2\n", r"must begin with \*Vertices, got '1 2'"),
        (VERTICES + "*Matrix\n0 1\n", r"\*Matrix must have 3 rows of as many numbers, got 1 rows of 2"),
        (VERTICES + "*Edges\n1 2 1\n2 1 2\n", "same weight both ways, got 1 from Ann Lee to Bob and 2 back"),
        (VERTICES + VERTICES, r"one graph was asked for, got a second \*Vertices in line 5"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)
