"""Files of one graph: GraphML, GML, GEXF, Matrix Market, .npz."""

import gzip
from pathlib import Path

import networkx
import numpy as np
import pytest
import scipy.io
import scipy.sparse
import torch

import cutaway as cut

KARATE = networkx.karate_club_graph()
MATRIX = networkx.to_scipy_sparse_array(KARATE)


@pytest.mark.parametrize("kind", ["graphml", "gexf", "gml"])
def test_files_of_networkx(tmp_path: Path, kind: str):
    path = tmp_path / f"karate.{kind}"
    getattr(networkx, f"write_{kind}")(KARATE, path)
    data = cut.data.read_graph(path, target="club")
    assert data.classes == ("Mr. Hi", "Officer")
    assert (cut.data.to_scipy(data) != MATRIX).nnz == 0
    packed = tmp_path / f"packed.{kind}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert cut.data.as_graph(packed).edges.shape == (2, 78)


def test_matrix_market(tmp_path: Path):
    scipy.io.mmwrite(tmp_path / "karate.mtx", MATRIX)
    assert (cut.data.to_scipy(cut.data.as_graph(tmp_path / "karate.mtx")) != MATRIX).nnz == 0
    (tmp_path / "pattern.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
    graph = cut.data.as_graph(tmp_path / "pattern.mtx")
    assert graph.weights is None
    assert sorted(map(sorted, graph.edges.T.tolist())) == [[0, 1], [1, 2]]


def test_npz(tmp_path: Path):
    scipy.sparse.save_npz(tmp_path / "matrix.npz", MATRIX)
    assert (cut.data.to_scipy(cut.data.as_graph(tmp_path / "matrix.npz")) != MATRIX).nnz == 0
    x = np.eye(3, dtype=np.float32)
    np.savez(tmp_path / "plain.npz", edges=[[0, 1], [1, 2]], x=x, y=[0, 1, 1], train=[0, 1], val=[2])
    data = cut.data.read_graph(tmp_path / "plain.npz")
    torch.testing.assert_close(data.graph.x, torch.eye(3))
    assert (data.train.tolist(), data.validation.tolist(), data.splits.has_test) == ([0, 1], [2], False)


@pytest.mark.parametrize(
    ("name", "vertices", "features", "edges", "parts"),
    [
        ("cora", 2708, 1433, 5278, {"training": 140, "validation": 500, "test": 1000}),
        ("citeseer", 3327, 3703, 4552, {"training": 120, "validation": 500, "test": 1000}),
    ],
)
def test_public_splits(data_folder: Path, name: str, vertices: int, features: int, edges: int, parts: dict[str, int]):
    data = cut.data.read_graph(data_folder / "graphs" / f"{name}.npz")
    assert data.graph.x.layout == torch.sparse_csr
    assert tuple(data.graph.x.shape) == (vertices, features)
    assert data.graph.edges.shape == (2, edges)
    assert data.counts == parts
    assert "sha256" in data.summary()


def test_mistakes(tmp_path: Path):
    bad = tmp_path / "bad.graphml"
    bad.write_text("<graphml><graph>")
    with pytest.raises(ValueError, match=r"must be whole, got bad\.graphml, which is no graphml"):
        cut.data.as_graph(bad)
    np.savez(tmp_path / "objects.npz", edges=np.array([{"a": 1}], object))
    with pytest.raises(ValueError, match=r"plain arrays, got objects\.npz, which does not read without running code"):
        cut.data.as_graph(tmp_path / "objects.npz")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"an array called edges, got a in other\.npz"):
        cut.data.as_graph(tmp_path / "other.npz")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ValueError, match=r"got cut\.npz, which does not read"):
        cut.data.as_graph(tmp_path / "cut.npz")
    np.savez(tmp_path / "far.npz", edges=[[0, 5]], y=[0, 1])
    with pytest.raises(ValueError, match=r"got one to vertex 5 in far.npz where there are 2"):
        cut.data.as_graph(tmp_path / "far.npz")


def test_json_and_pajek(tmp_path: Path):
    import json

    import networkx

    club = networkx.karate_club_graph()
    (tmp_path / "club.json").write_text(json.dumps(networkx.node_link_data(club)))
    networkx.write_pajek(club, tmp_path / "club.net")
    for name in ("club.json", "club.net"):
        data = cut.data.read_graph(tmp_path / name)
        assert (data.graph.vertices, data.graph.edges.shape[1], data.target) == (34, 78, "club")
    (tmp_path / "club.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"must be JSON, got club\.json.*nested too deep"):
        cut.data.read_graph(tmp_path / "club.json")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("1000000000000 1000000000000 3", r"at most 50,000,000 vertices.*got 1,000,000,000,000 in a\.mtx"),
        ("10 10 3000000000000", r"says that it has 3,000,000,000,000 entries in"),
    ],
)
def test_headers_of_matrices_that_cannot_be_true(size: str, message: str, tmp_path: Path):
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{size}\n1 2 1\n")
    with pytest.raises(ValueError, match=message):
        cut.data.read_graph(tmp_path / "a.mtx")


def test_pipes_are_not_waited_for(tmp_path: Path):
    import os

    os.mkfifo(tmp_path / "edges.csv")
    for read in (cut.data.read_graph, cut.data.read_graphs):
        with pytest.raises(ValueError, match=r"must be a regular file or a folder, got .*edges\.csv, which is a pipe"):
            read(tmp_path / "edges.csv")


def test_a_huge_matrix_market_header_behind_many_comments_is_refused(tmp_path: Path):
    """SciPy's reader would take the memory first; where it fails it must not end the process later."""
    path = tmp_path / "graph.mtx"
    head = "%%MatrixMarket matrix coordinate real general\n"
    for comments in (0, 40_000):
        path.write_text(head + "% c\n" * comments + "3 3 9999999999\n1 1 1\n")
        with pytest.raises(ValueError, match="which says that it has 9,999,999,999 entries"):
            cut.data.as_graph(path)
    path.write_text(head + "3 3 2\n1 2 1\n")
    with pytest.raises(ValueError, match=r"must be whole, got graph\.mtx"):
        cut.data.as_graph(path)


def test_titles_of_gexf_are_no_classes_and_gml_needs_no_labels(tmp_path: Path):
    networkx.write_gexf(KARATE, tmp_path / "karate.gexf")
    assert cut.data.read_graph(tmp_path / "karate.gexf").classes == ("Mr. Hi", "Officer")
    (tmp_path / "plain.gml").write_text("graph [ node [ id 4 ] node [ id 7 ] edge [ source 4 target 7 ] ]")
    assert cut.data.read_graph(tmp_path / "plain.gml").names == ("4", "7")
    (tmp_path / "plain.dot").write_text("digraph { a -> b; b -> c }")
    with pytest.raises(ValueError, match=r"DOT is not read, got plain\.dot"):
        cut.data.read_graph(tmp_path / "plain.dot")


@pytest.mark.parametrize("size", ["40000000 40000000 2", "999999999999 999999999999 2", "2000000 2 2"])
def test_a_header_out_of_all_proportion_to_its_file_is_refused(size: str, tmp_path: Path):
    path = tmp_path / "g.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate pattern symmetric\n{size}\n2 1\n1 2\n")
    with pytest.raises(ValueError, match=r"got [\d,]+ (vertices )?in g\.mtx"):
        cut.data.read_graph(path)
    (tmp_path / "g.net").write_text("*Vertices 40000000\n*Edges\n1 2\n")
    with pytest.raises(ValueError, match=r"got 40,000,000 vertices in g\.net"):
        cut.data.read_graph(tmp_path / "g.net")


def test_entries_must_fit_into_the_file(tmp_path: Path):
    path = tmp_path / "g.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n4 3")  # no end of line
    assert cut.data.read_graph(path).graph.edges.shape[1] == 2
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n90 90 40\n2 1\n4 3\n")
    with pytest.raises(ValueError, match=r"g\.mtx, which says that it has 40 entries in \d+ bytes"):
        cut.data.read_graph(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weights": np.ones(3)}, r"weights must have a row for each of the 2 edges, got shape \(3,\) in g\.npz"),
        (
            {"edge_features": np.ones((3, 2))},
            r"edge_features must have a row for each of the 2 edges, got shape \(3, 2\)",
        ),
        ({"edge_y": np.ones(1)}, r"edge_y must have a row for each of the 2 edges, got shape \(1,\)"),
        ({"x": np.ones((3, 1)), "y": np.zeros(2)}, r"y must have a row for each of the 3 vertices, got shape \(2,\)"),
        ({"y": np.zeros(3), "train": np.array([0, 9])}, r"train must list numbers of vertices, 0 to 2, .* got 9"),
        (
            {"y": np.zeros(3), "test": np.array([True])},
            r"test must list numbers of vertices, .* got bool of shape \(1,\)",
        ),
    ],
)
def test_arrays_that_do_not_fit_each_other(tmp_path: Path, arrays: dict[str, np.ndarray], message: str):
    np.savez(tmp_path / "g.npz", edges=np.array([[0, 1], [1, 2]]), **arrays)
    with pytest.raises(ValueError, match=message):
        cut.data.read_graph(tmp_path / "g.npz")


def test_arrays_that_are_not_read_are_told(tmp_path: Path):
    np.savez(tmp_path / "g.npz", edges=np.array([[0, 1], [1, 2]]), features=np.ones((3, 2)))
    assert "arrays that are not read: features" in cut.data.read_graph(tmp_path / "g.npz").notes
