"""Graphs to learn from: parts, fingerprints, notes, every source, every mistake."""

from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest
import torch

import cutaway as cut


def test_parts_are_drawn_by_seed_with_each_class_in_its_share():
    data = cut.data.read_graph("citations", validation=0.1, test=0.3, seed=5)
    again = cut.data.read_graph("citations", validation=0.1, test=0.3, seed=5)
    other = cut.data.read_graph("citations", validation=0.1, test=0.3, seed=6)
    assert np.array_equal(data.train, again.train)
    assert not np.array_equal(data.train, other.train)
    test = data.open_test()
    together = np.concatenate([data.train, data.validation, test])
    assert np.array_equal(np.sort(together), np.arange(1200))
    for part, share in ((data.train, 0.6), (data.validation, 0.1), (test, 0.3)):
        counts = torch.bincount(data.targets[part], minlength=6)
        torch.testing.assert_close(counts.float(), torch.bincount(data.targets).float() * share, atol=1.5, rtol=0)
    assert data.splits.test_reads == 1


def test_fingerprints_follow_the_content(tmp_path: Path):
    path, table = tmp_path / "edges.csv", tmp_path / "vertices.csv"
    path.write_text("a,b\nb,c\n")
    table.write_text("id,age\na,1\nb,2\nc,3\n")
    digests = {
        cut.data.read_graph(path).fingerprint.digest,
        cut.data.read_graph(path, vertices=table).fingerprint.digest,
    }
    table.write_text("id,age\na,1\nb,2\nc,4\n")
    digests.add(cut.data.read_graph(path, vertices=table).fingerprint.digest)
    path.write_text("a,b\na,c\n")
    digests.add(cut.data.read_graph(path, vertices=table).fingerprint.digest)
    assert len(digests) == 4
    assert cut.data.read_graph("citations").fingerprint.digest == cut.data.read_graph("citations").fingerprint.digest


def test_as_graph_takes_everything(tmp_path: Path):
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    sources = [
        tmp_path / "edges.csv",
        str(tmp_path / "edges.csv"),
        frame,
        {"source": [0, 1], "target": [1, 2]},
        networkx.path_graph(3),
        networkx.to_scipy_sparse_array(networkx.path_graph(3)),
        np.array([[0, 1], [1, 2]]),
        torch.tensor([[0, 1], [1, 2]]),
        [(0, 1), (1, 2)],
    ]
    for source in sources:
        graph = cut.data.as_graph(source)
        assert isinstance(graph, cut.blocks.Graph)
        assert graph.vertices == 3
        assert graph.edges.tolist() == [[0, 1], [1, 2]]
        assert cut.data.as_graph(source, directed=True).directed or isinstance(source, networkx.Graph)
    assert cut.data.as_graph(graph) is graph
    assert cut.data.as_graph([(0, 1)], vertices=5).vertices == 5
    assert cut.data.as_graph(tmp_path / "edges.csv", vertices=5).vertices == 5


def test_an_undirected_graph_may_be_read_as_directed():
    """An undirected graph of networkx has its edges both ways then, as a symmetric matrix has."""
    graph = cut.data.as_graph(networkx.path_graph(3), directed=True)
    torch.testing.assert_close(
        graph.adjacency().to_dense(), torch.from_numpy(networkx.to_numpy_array(networkx.path_graph(3))).float()
    )


def test_empty_and_isolated():
    assert cut.data.as_graph(networkx.Graph()).vertices == 0
    data = cut.data.read_graph(networkx.empty_graph(3))
    assert (data.graph.vertices, data.graph.edges.shape) == (3, (2, 0))
    assert "3 vertices without an edge" in data.notes
    assert "3 connected components, the largest of 1 vertices" in data.notes
    assert data.targets is None
    assert len(data.train) == 0


def test_a_column_that_looks_like_a_class_is_no_feature_and_that_is_said(tmp_path: Path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "people.csv").write_text("id,group,age\na,x,1.5\nb,y,2.5\nc,x,9.5\n")
    found = cut.data.read_graph(tmp_path / "edges.csv", vertices=tmp_path / "people.csv", validation=0.0, test=0.0)
    assert found.feature_names == ("age",)
    said = "column 'group' of the vertices is taken as their class, not as a feature; rename it if it is one"
    assert said in found.notes
    labelled = cut.data.read_graph(
        tmp_path / "edges.csv", vertices=tmp_path / "people.csv", labelled=True, validation=0.0, test=0.0
    )
    assert said not in labelled.notes  # there it is what is learned


def test_bipartite_names_stay_apart(tmp_path: Path):
    (tmp_path / "likes.csv").write_text("user,film\n1,1\n1,2\n2,1\n")
    data = cut.data.read_graph(tmp_path / "likes.csv", bipartite=True)
    assert data.names == ("1", "2", "1 (target)", "2 (target)")
    assert data.graph.edges.tolist() == [[0, 0, 1], [2, 3, 2]]
    assert data.loops == 0


def test_signed_edges_and_classes_of_edges(tmp_path: Path):
    (tmp_path / "edges.csv").write_text("source,target,bond\na,b,friend\nb,c,foe\na,b,friend\n")
    data = cut.data.read_graph(tmp_path / "edges.csv", edge_target="bond")
    assert data.edge_classes == ("foe", "friend")
    assert data.edge_targets.tolist() == [1, 0]
    assert data.edge_feature_names == ()
    assert data.repeats == 1
    with pytest.raises(
        ValueError, match=r"edge_target must be a column of the table of edges, got 'sign'; it has bond"
    ):
        cut.data.read_graph(tmp_path / "edges.csv", edge_target="sign")


def test_mistakes(tmp_path: Path):
    with pytest.raises(ValueError, match=r"needs labels to learn from, got networkx graph without any"):
        cut.data.read_graph(networkx.path_graph(3), labelled=True)
    with pytest.raises(ValueError, match=r"got 'age' where networkx graph has no such table"):
        cut.data.read_graph(networkx.path_graph(3), target="age")
    with pytest.raises(
        ValueError, match=r"data must be a file, a folder or a sample, got 'karate-clob', which is none; did you"
    ):
        cut.data.as_graph("karate-clob")
    with pytest.raises(ValueError, match=r"got one to vertex 7 in .* where there are 3 \(0 to 2\)"):
        (tmp_path / "edges.csv").write_text("0,7\n")
        cut.data.as_graph(tmp_path / "edges.csv", vertices=3)
    with pytest.raises(ValueError, match=r"names must be the numbers from 0, got 'a'"):
        (tmp_path / "edges.csv").write_text("source,target\na,b\n")
        cut.data.as_graph(tmp_path / "edges.csv", vertices=3)
    with pytest.raises(ValueError, match=r"sparse matrix, or a graph of networkx or PyTorch Geometric, got int"):
        cut.data.as_graph(3)
    with pytest.raises(ValueError, match=r"one graph was asked for, got the folder .* with 2 files"):
        (tmp_path / "more.csv").write_text("a,b\n")
        cut.data.as_graph(tmp_path)
    pyg = cut.data.to_pyg(cut.blocks.Graph(torch.tensor([[0], [1]]), x=torch.tensor([[1.0], [torch.nan]])))
    with pytest.raises(ValueError, match=r"features of vertices must be finite numbers, got nan or inf"):
        cut.data.as_graph(pyg)
    pyg = cut.data.to_pyg(cut.blocks.Graph(torch.tensor([[0], [1]])))
    pyg.y, pyg.train_mask, pyg.val_mask = torch.tensor([0, 1]), torch.ones(2).bool(), torch.ones(2).bool()
    with pytest.raises(ValueError, match=r"must not share a vertex, got 2 in two parts"):
        cut.data.read_graph(pyg)
