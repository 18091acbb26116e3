"""Folders of graphs: TU's layout, and a sub-folder a class."""

from pathlib import Path

import networkx
import pytest

import cutaway as cut


def write_tu(folder: Path, **more: str) -> None:
    files = {
        "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
        "graph_indicator": "1\n1\n1\n2\n2\n",
        "graph_labels": "1\n-1\n",
    }
    for name, text in (files | more).items():
        (folder / f"TOY_{name}.txt").write_text(text)


def test_tu_layout(tmp_path: Path):
    write_tu(
        tmp_path,
        node_labels="0\n1\n0\n1\n1\n",
        node_attributes="0.5\n1\n2\n3\n4\n",
        edge_attributes="1\n1\n2\n2\n3\n3\n",
    )
    data = cut.data.read_graphs(tmp_path, validation=0, test=0)
    one, two = data.train.graphs
    assert one.edges.tolist() == [[0, 1], [1, 2]]
    assert one.edge_features.tolist() == [[1], [2]]
    assert one.x.tolist() == [[1, 0, 0.5], [0, 1, 1], [1, 0, 2]]
    assert two.edges.tolist() == [[0], [1]]
    assert (data.classes, data.train.targets.tolist()) == (("-1", "1"), [1, 0])
    assert data.name == "TOY"


def test_a_sub_folder_a_class(tmp_path: Path):
    for kind, make in (("rings", networkx.cycle_graph), ("stars", networkx.star_graph)):
        (tmp_path / kind).mkdir()
        for n in (3, 5):
            networkx.write_graphml(make(n), tmp_path / kind / f"{n}.graphml")
    data = cut.data.read_graphs(tmp_path, validation=0, test=0)
    assert data.classes == ("rings", "stars")
    assert [graph.vertices for graph in data.train.graphs] == [3, 5, 4, 6]
    assert data.feature_names == tuple(f"degree {d}" for d in range(6))


def test_mistakes(tmp_path: Path):
    write_tu(tmp_path, A="1, 9\n")
    with pytest.raises(ValueError, match=r"got one to vertex 9 in .*, which has 5; mend TOY_A\.txt"):
        cut.data.read_graphs(tmp_path)
    write_tu(tmp_path, A="1, b\n")
    with pytest.raises(ValueError, match=r"TOY_A\.txt must hold numbers with commas between"):
        cut.data.read_graphs(tmp_path)


def test_a_broken_graph_is_named_with_its_folder(tmp_path: Path):
    for kind in ("one", "two"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "3.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "two/3.csv").write_text("source,target\na,b\nb\n")
    with pytest.raises(ValueError, match=r"the 2 fields of the first, got 1 in line 3 of two/3\.csv"):
        cut.data.read_graphs(tmp_path)


def test_tu_edges_that_are_named_one_way_alone_stay(tmp_path: Path):
    write_tu(tmp_path)
    (tmp_path / "TOY_A.txt").write_text("2, 1\n3, 2\n3, 3\n5, 4\n")
    data = cut.data.read_graphs(tmp_path, validation=0, test=0)
    assert [graph.edges.T.tolist() for graph in data.train.graphs] == [[[0, 1], [1, 2]], [[0, 1]]]
    assert "1 self-loops left out" in data.notes
    (tmp_path / "TOY_A.txt").write_text("1, 2\n3, 4\n")
    with pytest.raises(ValueError, match=r"vertices of one graph, got 3, 4 in line 2 of TOY_A\.txt"):
        cut.data.read_graphs(tmp_path)
