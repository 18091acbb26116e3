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
    assert "1 self-loop left out" in data.notes
    (tmp_path / "TOY_A.txt").write_text("1, 2\n3, 4\n")
    with pytest.raises(ValueError, match=r"vertices of one graph, got 3, 4 in line 2 of TOY_A\.txt"):
        cut.data.read_graphs(tmp_path)


def test_tu_edges_whose_two_ways_contradict_are_refused(tmp_path: Path):
    write_tu(tmp_path, edge_attributes="1\n1\n2\n2.5\n3\n3\n")
    with pytest.raises(
        ValueError, match=r"got 2 and 2\.5 as TOY_edge_attributes\.txt of 2 – 3 in TOY_A\.txt, the only such edge"
    ):
        cut.data.read_graphs(tmp_path)
    (tmp_path / "TOY_edge_attributes.txt").unlink()
    write_tu(tmp_path, edge_labels="0\n1\n0\n0\n1\n1\n")
    with pytest.raises(ValueError, match=r"got 0 and 1 as TOY_edge_labels\.txt of 1 – 2"):
        cut.data.read_graphs(tmp_path)


def test_tu_edges_that_come_again_are_noted(tmp_path: Path):
    write_tu(tmp_path, A="1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n4, 5\n5, 4\n5, 4\n")
    data = cut.data.read_graphs(tmp_path, validation=0, test=0)
    assert [graph.edges.T.tolist() for graph in data.train.graphs] == [[[0, 1], [1, 2]], [[0, 1]]]
    assert data.notes == ("1 edge came again: each counted once",)


def test_tu_labels_of_edges_are_features(tmp_path: Path):
    write_tu(tmp_path, edge_labels="7\n7\n2\n2\n7\n7\n", edge_attributes=".5\n.5\n1\n1\n2\n2\n")
    data = cut.data.read_graphs(tmp_path, validation=0, test=0)
    assert data.edge_feature_names == ("tag 2", "tag 7", "feature_1")
    assert [g.edge_features.tolist() for g in data.train.graphs] == [[[0, 1, 0.5], [1, 0, 1]], [[0, 1, 2]]]
    (tmp_path / "again").mkdir()  # one of its labels alone, for predictions: the same columns
    write_tu(tmp_path / "again", A="1, 2\n2, 1\n", graph_indicator="1\n1\n", graph_labels="1\n",
             edge_labels="2\n2\n", edge_attributes="4\n4\n")  # fmt: skip
    again = cut.data.read_graphs(tmp_path / "again", like=data.features, labelled=False, validation=0, test=0)
    assert again.train.graphs[0].edge_features.tolist() == [[1, 0, 4]]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"graph_indicator": "1\n2\n1\n2\n2\n"}, r"got graph 1 after 2 in line 3 of TOY_graph_indicator\.txt"),
        ({"graph_labels": "1\n0.5\n"}, r"TOY_graph_labels\.txt must hold whole numbers, got 0\.5 in line 2"),
        ({"graph_labels": "1\n1\n2\n"}, r"a line for each of the 2 graphs, got 3"),
        ({"node_attributes": "1\n2\n"}, r"TOY_node_attributes\.txt must have a line for each of the 5 vertices, got 2"),
        ({"edge_attributes": "1\n"}, r"a line for each of the 6 lines of A, got 1"),
        ({"A": "1, 2, 3\n"}, r"TOY_A\.txt must have two numbers a line, got 3"),
    ],
)
def test_tu_files_that_do_not_fit_each_other(tmp_path: Path, files: dict[str, str], message: str):
    write_tu(tmp_path, **files)
    with pytest.raises(ValueError, match=message):
        cut.data.read_graphs(tmp_path)


def test_tu_columns_that_are_not_read_are_noted(tmp_path: Path):
    write_tu(tmp_path, node_labels="0, 1\n1, 1\n0, 1\n1, 0\n1, 0\n", graph_attributes="0.5\n2\n")
    data = cut.data.read_graphs(tmp_path, validation=0, test=0)
    assert data.notes == (
        "TOY_node_labels.txt has 2 columns: the first is taken",
        "TOY_graph_attributes.txt is left out: the classes in TOY_graph_labels.txt are taken",
    )
