"""The text format of MUTAG and its like."""

from pathlib import Path

import pytest

import cutaway as cut

TEXT = "2\n3 a\n0 1 1\n5 2 0 2\n0 1 1\n2 b\n5 1 1\n5 1 0\n"


def test_by_hand(tmp_path: Path):
    (tmp_path / "graphs.txt").write_text(TEXT)
    data = cut.data.read_graphs(tmp_path / "graphs.txt", validation=0, test=0)
    one, two = data.train.graphs
    assert one.edges.tolist() == [[0, 1], [1, 2]]
    assert one.x.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert two.x.tolist() == [[0, 1], [0, 1]]
    assert (data.classes, data.train.targets.tolist()) == (("a", "b"), [0, 1])
    assert data.feature_names == ("tag 0", "tag 5")


def test_features_after_the_neighbours_and_degrees_without_tags(tmp_path: Path):
    path = tmp_path / "graphs.txt"
    path.write_text("2\n2 a\n0 1 1 0.5\n0 1 0 2\n1 b\n0 0 7\n")
    data = cut.data.read_graphs(path, validation=0, test=0)
    assert data.feature_names == ("degree 0", "degree 1", "feature_1")
    assert data.train.graphs[0].x.tolist() == [[0, 1, 0.5], [0, 1, 2]]
    assert data.train.graphs[1].x.tolist() == [[1, 0, 7]]


def test_public_data(data_folder: Path):
    mutag = cut.data.read_graphs(data_folder / "graphs" / "MUTAG.txt.xz", validation=0, test=0)
    assert mutag.train.targets.bincount().tolist() == [63, 125]
    assert len(mutag.feature_names) == 7
    proteins = cut.data.read_graphs(data_folder / "graphs" / "PROTEINS.txt.xz", validation=0, test=0)
    assert proteins.train.targets.bincount().tolist() == [663, 450]
    assert sum(graph.vertices for graph in proteins.train.graphs) / 1113 == pytest.approx(39.06, abs=0.01)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n3 a\n0 1 1\n", r"graph 1 of graphs\.txt must have the lines that its first says, got others near line 2"),
        ("1\n2 a\n0 1 1\n0 1 5\n", r"got one to vertex 5 in graph 1 of graphs\.txt, which has 2"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str):
    (tmp_path / "graphs.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        cut.data.read_graphs(tmp_path / "graphs.txt")


def test_what_is_merged_and_left_out_is_noted(tmp_path: Path):
    path = tmp_path / "graphs.txt"
    path.write_text("2\n3 a\n0 2 1 1\n0 4 0 2 0 1\n1 1 1\n2 b\n0 1 1 0.5\n1 0\nthe end\n")
    data = cut.data.read_graphs(path, validation=0, test=0)
    assert [graph.edges.T.tolist() for graph in data.train.graphs] == [[[0, 1], [1, 2]], [[0, 1]]]
    assert data.notes == (
        "1 self-loop left out",
        "2 edges are named both ways: undirected, kept once",
        "1 edge came again: each counted once",
        "lines after graph 2 are left out",
        "features of vertices are left out: some have more of them than others",
    )


def test_a_line_lists_as_many_neighbours_as_it_says(tmp_path: Path):
    (tmp_path / "graphs.txt").write_text("1\n2 a\n0 3 1\n0 1 0\n")
    with pytest.raises(ValueError, match=r"got 1 where it says 3 in line 3 of graphs\.txt"):
        cut.data.read_graphs(tmp_path / "graphs.txt")
