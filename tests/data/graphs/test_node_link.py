"""Graphs as JSON: the forms that programs write, and mistakes in them."""

import json
from pathlib import Path
from typing import Any

import networkx
import pytest

import cutaway as cut

NODES = [{"id": "a", "size": 1.5}, {"id": "b", "size": 2.5}, {"id": "c", "size": 3.5}]
LINKS = [{"source": "a", "target": "b", "weight": 2}, {"source": "b", "target": "c", "weight": 3}]


def read(folder: Path, value: Any, name: str = "graph.json") -> cut.data.GraphData:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return cut.data.read_graph(path)


@pytest.mark.parametrize("name", ["graph.json", "graph.txt", "graph.csv", "graph"])
@pytest.mark.parametrize("key", ["links", "edges"])
def test_nodes_and_links_whatever_the_file_is_called(tmp_path: Path, name: str, key: str):
    for value in ({"nodes": NODES, key: LINKS}, json.dumps({"nodes": NODES, key: LINKS}, indent=2)):
        data = read(tmp_path, value, name)
        assert (data.names, data.graph.edges.T.tolist()) == (("a", "b", "c"), [[0, 1], [1, 2]])
        assert (data.graph.weights.tolist(), data.feature_names) == ([2.0, 3.0], ("size",))


@pytest.mark.parametrize("graph", [networkx.karate_club_graph(), networkx.DiGraph([("a", "b"), ("c", "b")])])
@pytest.mark.parametrize("form", ["node_link_data", "adjacency_data", "cytoscape_data"])
def test_what_networkx_writes(tmp_path: Path, graph: networkx.Graph, form: str):
    data = read(tmp_path, getattr(networkx, form)(graph))
    again = cut.data.to_networkx(data)
    assert data.graph.directed is graph.is_directed()
    pairs = {tuple(sorted(map(str, pair))) for pair in graph.edges}
    assert {tuple(sorted(pair)) for pair in again.edges} == pairs


def test_ends_are_ids_as_text_or_places(tmp_path: Path):
    numbered = [{"id": 1}, {"id": 2}]
    for ends in ((1, 2), ("1", "2"), (1.0, 2.0)):
        data = read(tmp_path, {"nodes": numbered, "links": [{"source": ends[0], "target": ends[1]}]})
        assert (data.names, data.graph.edges.T.tolist()) == (("1", "2"), [[0, 1]])
    for nodes in ([{"name": "x"}, {"name": "y"}], [{"id": "x"}, {"id": "y"}], ["x", "y"]):
        data = read(tmp_path, {"nodes": nodes, "links": [{"source": 0, "target": 1}]})
        assert (data.names, data.graph.edges.T.tolist()) == (("x", "y"), [[0, 1]])
        assert "links name their ends by the places of nodes, from 0" in data.notes


def test_lists_of_edges(tmp_path: Path):
    for value in ([["a", "b"], ["b", "c"]], LINKS, {"edges": LINKS}, {"edges": [["a", "b", 2], ["b", "c", 3]]}):
        assert read(tmp_path, value).names == ("a", "b", "c")
    lines = "\n".join(map(json.dumps, LINKS))
    for name in ("graph.jsonl", "graph.txt"):
        assert read(tmp_path, lines, name).graph.weights.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"nodes": [*NODES, {"id": "a", "size": 9.0}], "links": LINKS}, "got 'a' as nodes 1 and 4 of graph.json"),
        ({"nodes": NODES, "links": [{"source": "a", "target": "z"}]}, "got 'z' as target of link 1 in graph.json"),
        ({"nodes": NODES, "links": [{"source": "a"}]}, "must have a source and a target, got"),
        ({"nodes": NODES, "links": LINKS, "edges": LINKS}, "one list of links, got links and edges"),
        ({"nodes": NODES}, "must have a list of links beside its nodes, got none"),
        ({"nodes": {"a": {}}, "links": LINKS}, "must have nodes and links"),
        (
            {"nodes": NODES, "links": [*LINKS, {"source": "b", "target": "a", "weight": 5}]},
            "same weight both ways, got 2 from a to b and 5 back",
        ),
        (
            {"nodes": NODES, "links": [*LINKS, {"source": "a", "target": "c"}]},
            r"got none \('weight'\) for a – c in graph",
        ),
        ({"nodes": [{"id": {"x": 1}}], "links": []}, "name of a node must be text or a number"),
        ("[" * 100_000, "nested too deep"),
        ('{"nodes": [{"id": ' + "9" * 5000 + '}], "links": []}', "a number too long to read"),
        ('{"nodes": [}', "must be JSON, got graph.json, which is not"),
        ({"a": ["b"], "b": ["a"]}, "must have nodes and links, .* got a, b in graph.json"),
    ],
)
def test_mistakes(tmp_path: Path, value: Any, message: str):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, value)
