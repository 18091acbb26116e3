"""networkx, SciPy and PyG, there and back."""

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
import torch_geometric.data
from hypothesis import given, settings
from hypothesis import strategies as st

import cutaway as cut

WAYS = {"networkx": cut.data.to_networkx, "scipy": cut.data.to_scipy, "pyg": cut.data.to_pyg}


@st.composite
def graphs(draw: st.DrawFn) -> cut.blocks.Graph:
    n = draw(st.integers(1, 8))
    directed = draw(st.booleans())
    every = [(i, j) for i in range(n) for j in range(n) if directed or i <= j]
    pairs = draw(st.lists(st.sampled_from(every), unique=True, max_size=12))
    weights = torch.tensor([i + 0.5 for i in range(len(pairs))]) if draw(st.booleans()) and pairs else None
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return cut.blocks.Graph(edges, n, weights, directed=directed)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40)
@given(graph=graphs())
def test_there_and_back(way: str, graph: cut.blocks.Graph):
    again = cut.data.as_graph(WAYS[way](graph), directed=graph.directed)
    assert again.vertices == graph.vertices
    assert again.directed == graph.directed
    assert again.edges.shape == graph.edges.shape
    torch.testing.assert_close(again.adjacency().to_dense(), graph.adjacency().to_dense())


def test_features_labels_and_parts_there_and_back():
    graph = cut.blocks.Graph(
        torch.tensor([[0, 1, 3], [1, 2, 0]]), 4, x=torch.randn(4, 2), edge_features=torch.randn(3, 5)
    )
    pyg = cut.data.to_pyg(graph)
    assert pyg.is_undirected()
    pyg.y = torch.tensor([0, 1, -1, 1])
    pyg.train_mask = torch.tensor([True, True, False, False])
    pyg.test_mask = torch.tensor([False, False, False, True])
    data = cut.data.read_graph(pyg)
    torch.testing.assert_close(data.graph.x, graph.x)
    torch.testing.assert_close(data.graph.edge_features, graph.edge_features)
    assert data.targets.tolist() == [0, 1, -1, 1]
    assert (data.train.tolist(), data.open_test().tolist()) == ([0, 1], [3])
    again = cut.data.to_pyg(data)
    assert torch.equal(again.train_mask, pyg.train_mask)
    assert torch.equal(again.y, pyg.y)


def test_networkx_keeps_names_weights_and_attributes():
    theirs = networkx.Graph()
    theirs.add_node("ann", age=3, label="x")
    theirs.add_node("bob", age=5, label="y")
    theirs.add_edge("ann", "bob", weight=2.5, close=0.5)
    theirs.add_edge("ann", "ann", weight=1.0, close=2.5)
    data = cut.data.read_graph(theirs, self_loops=True, validation=0, test=0)
    assert data.names == ("ann", "bob")
    assert data.classes == ("x", "y")
    assert data.graph.weights.tolist() == [2.5, 1.0]
    assert data.edge_feature_names == ("close",)
    back = cut.data.to_networkx(data)
    assert back.edges["ann", "bob"]["weight"] == 2.5
    assert back.nodes["bob"]["label"] == "y"
    assert back.nodes["bob"]["x"] == [5.0]


def repeated(weights: list[float] | None) -> dict[str, object]:
    """The edges 0–1, 1–2, 0–1 from every kind of source, with weights or without."""
    pairs = [(0, 1), (1, 2), (0, 1)]
    i, j = np.array(pairs).T
    there, back = np.r_[i, j], np.r_[j, i]
    values = np.ones(3) if weights is None else np.array(weights)
    multi = networkx.MultiGraph()
    multi.add_edges_from((a, b, {} if weights is None else {"weight": w}) for (a, b), w in zip(pairs, values))
    pyg = torch_geometric.data.Data(edge_index=torch.tensor(np.stack([there, back])), num_nodes=3)
    if weights is not None:
        pyg.edge_weight = torch.tensor(np.r_[values, values])
    frame = pd.DataFrame(pairs, columns=["source", "target"])
    return {
        "list": pairs if weights is None else [(*pair, w) for pair, w in zip(pairs, values.tolist())],
        "table": frame if weights is None else frame.assign(weight=values),
        "networkx": multi,
        "SciPy": scipy.sparse.coo_array((np.r_[values, values], (there, back)), (3, 3)),
        "PyG": pyg,
    }


@pytest.mark.parametrize("weights", [None, [1.0, 5.0, 2.5]])
def test_repeats_have_one_rule_whatever_they_come_from(weights: list[float] | None):
    """Kept once, and weights add up; a warning of `as_graph` and a note of `read_graph` tell it."""
    expected = torch.tensor([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]])
    if weights is not None:
        expected = torch.tensor([[0, 3.5, 0], [3.5, 0, 5], [0, 5, 0]])
    done = "each counted once" if weights is None else "their weights added up"
    for name, source in repeated(weights).items():
        with pytest.warns(UserWarning, match=f"1 edge came again: {done}"):
            graph = cut.data.as_graph(source)
        torch.testing.assert_close(graph.adjacency().to_dense(), expected, msg=name)
        assert (graph.weights is None) is (weights is None), name
        data = cut.data.read_graph(source)
        assert f"1 edge came again: {done}" in data.notes, name
        assert data.repeats == 1


@pytest.mark.parametrize("weights", [None, [1.0, 5.0, 2.5]])
def test_repeats_that_are_chosen_are_so_for_every_source(weights: list[float] | None):
    one, _, last = weights or [1.0, 1.0, 1.0]
    for choice, expected in (("add", one + last), ("first", one), ("last", last), ("keep", one + last)):
        for name, source in repeated(weights).items():
            with pytest.warns(UserWarning, match=r"1 edge came again"):
                graph = cut.data.as_graph(source, repeats=choice)
            assert graph.adjacency().to_dense()[0, 1] == expected, (name, choice)
            assert graph.edges.shape[1] == (3 if choice == "keep" else 2)


def test_parallel_edges_add_up_as_in_networkx():
    theirs = networkx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    with pytest.warns(UserWarning, match=r"networkx graph: 1 edge came again: their weights added up"):
        ours = cut.data.as_graph(theirs, repeats="add").adjacency().to_dense()
    torch.testing.assert_close(ours, torch.from_numpy(networkx.to_numpy_array(theirs)).float())


def test_contradictions_are_refused_whatever_they_come_from():
    multi = networkx.MultiGraph()
    multi.add_edge("a", "b", kind="x")
    multi.add_edge("a", "b", kind="y")
    multi.add_edge("b", "c", kind="y")
    frame = pd.DataFrame({"source": list("abb"), "target": list("bac"), "kind": list("xyy")})
    index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    pyg = torch_geometric.data.Data(edge_index=index, edge_attr=torch.tensor([[1.0], [2.0], [3.0], [3.0]]), num_nodes=3)
    for source, words in ((multi, "'x' and 'y' as 'kind' of a – b"), (frame, "'x' and 'y' as 'kind' of a – b")):
        with pytest.raises(ValueError, match=f"must say the same where it comes again, got {words}"):
            cut.data.as_graph(source)
        with pytest.raises(ValueError, match=f"must say the same where it comes again, got {words}"):
            cut.data.read_graph(source, edge_target="kind")
        chosen = cut.data.read_graph(source, edge_target="kind", repeats="last")
        assert [chosen.edge_classes[k] for k in chosen.edge_targets] == ["y", "y"] or chosen.edge_classes == ("x", "y")
    with pytest.raises(ValueError, match=r"got 1 and 2 as features of 0 – 1 in PyG data.*directed=True"):
        cut.data.as_graph(pyg)
    assert cut.data.as_graph(pyg, repeats="last").edge_features.tolist() == [[2.0], [3.0]]
    assert cut.data.as_graph(pyg, directed=True).edge_features.tolist() == [[1.0], [2.0], [3.0], [3.0]]


def test_columns_that_are_no_features_may_differ():
    """A number of the row or a free text does not contradict: it is left out anyway."""
    texts = [f"remark {i}: {chr(97 + i % 26) * 9} and more words of its own {i * i}" for i in range(300)]
    rows = {"source": ["a"] * 300, "target": [f"b{i // 2}" for i in range(300)], "remark": texts}
    with pytest.warns(UserWarning, match="150 edges came again"):
        graph = cut.data.as_graph(pd.DataFrame(rows))
    assert graph.edge_features is None


def test_one_way_edges_of_pyg_stay_directed():
    one_way = torch_geometric.data.Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    mixed = torch_geometric.data.Data(edge_index=torch.tensor([[0, 1, 1], [1, 0, 2]]), num_nodes=3)
    for data, way in ((one_way, "0 → 1"), (mixed, "1 → 2")):
        assert cut.data.as_graph(data).directed
        assert (
            f"edges have a direction ({way} has no way back): kept as a directed graph"
            in cut.data.read_graph(data).notes
        )
        with pytest.raises(
            ValueError, match=rf"edges have a direction \({way} has no way back\); make them undirected"
        ):
            cut.data.as_graph(data, directed=False)
    both = torch_geometric.data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
    assert not cut.data.as_graph(both).directed


def test_masks_of_several_splits_and_labels_of_several_columns():
    index = torch.tensor([[0, 1], [1, 0]])
    masks = torch.tensor([[True, False], [True, False], [False, True], [False, True]])
    data = torch_geometric.data.Data(
        edge_index=index, y=torch.tensor([0, 1, 0, 1]), num_nodes=4, train_mask=masks, test_mask=~masks
    )
    found = cut.data.read_graph(data)
    assert (found.train.tolist(), found.open_test().tolist()) == ([0, 1], [2, 3])
    assert any(note.startswith("train_mask has 2 splits: the first is taken") for note in found.notes)
    data.y = torch.eye(4)
    assert any("y of shape (4, 4)" in note for note in cut.data.read_graph(data).notes)
    with pytest.raises(ValueError, match=r"labels must be one a vertex, got y of shape \(4, 4\) in PyG data; choose a"):
        cut.data.read_graph(data, labelled=True)
    data.y = torch.tensor([[0], [1], [0], [1]])
    assert cut.data.read_graph(data).targets.tolist() == [0, 1, 0, 1]
    data.train_mask = torch.tensor([True])
    with pytest.raises(ValueError, match=r"each of the 4 vertices .* got train_mask of shape \(1,\)"):
        cut.data.read_graph(data)


FULL = {
    "weights": torch.tensor([0.5, 2.0, 1.0, 3.0]),
    "x": torch.tensor([[1.0, 0.25], [2.0, 0.25], [-1.0, 0.25], [0.0, 0.25]]),
    "edge_features": torch.tensor([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 7.0]]),
    "graph_features": torch.tensor([[0.5, 1.5, 2.5]]),
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("way", ["networkx", "pyg"])
def test_all_features_there_and_back(way: str, directed: bool):
    """Constant columns too, a self-loop and a vertex without an edge; without being told the direction."""
    graph = cut.blocks.Graph(torch.tensor([[0, 3, 1, 2], [1, 0, 1, 0]]), 4, directed=directed, **FULL)
    again = cut.data.as_graph(WAYS[way](graph))
    assert again.directed is directed
    order = [again.edges.T.tolist().index(pair) for pair in _either(graph.edges.T.tolist(), again.edges.T.tolist())]
    torch.testing.assert_close(again.x, graph.x)
    torch.testing.assert_close(again.weights[order], graph.weights)
    torch.testing.assert_close(again.edge_features[order], graph.edge_features)
    torch.testing.assert_close(again.graph_features, graph.graph_features)
    torch.testing.assert_close(again.adjacency().to_dense(), graph.adjacency().to_dense())


def _either(pairs: list[list[int]], found: list[list[int]]) -> list[list[int]]:
    return [pair if pair in found else pair[::-1] for pair in pairs]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("way", ["networkx", "pyg"])
def test_parallel_edges_there_and_back(way: str, directed: bool):
    graph = cut.blocks.Graph(
        torch.tensor([[0, 0, 1, 0], [1, 1, 2, 1]]), 3, edge_features=torch.arange(4.0)[:, None], directed=directed
    )
    theirs = WAYS[way](graph)
    with pytest.warns(UserWarning, match="2 edges came again: kept as edges of their own"):
        again = cut.data.as_graph(theirs, repeats="keep")
    assert sorted(again.edge_features[:, 0].tolist()) == [0, 1, 2, 3]
    torch.testing.assert_close(again.adjacency().to_dense(), graph.adjacency().to_dense())
    with pytest.raises(ValueError, match=r"got 0 and 1 as features of 0 – 1"):
        cut.data.as_graph(theirs)
    plain = cut.blocks.Graph(graph.edges, 3, directed=directed)
    with pytest.warns(UserWarning, match="2 edges came again: their weights added up"):
        again = cut.data.as_graph(WAYS[way](plain))
    torch.testing.assert_close(again.adjacency().to_dense(), plain.adjacency().to_dense())


@pytest.mark.parametrize("way", ["networkx", "pyg"])
def test_names_labels_and_names_of_features_there_and_back(way: str):
    vertices = pd.DataFrame(
        {"id": list("abcd"), "age": [1.0, 2, 3, 5], "kind": list("xyxy"), "label": ["u", "v", None, "u"]}
    )
    edges = pd.DataFrame({"source": list("abc"), "target": list("bcd"), "close": [0.5, 1.0, 0.25]})
    data = cut.data.read_graph(edges, vertices=vertices, validation=0, test=0)
    again = cut.data.read_graph(WAYS[way](data), validation=0, test=0)
    assert again.names == data.names
    assert again.classes == data.classes
    assert [again.label_of(v) for v in range(4)] == ["u", "v", None, "u"]
    assert again.feature_names == data.feature_names == ("age", "kind=x", "kind=y")
    assert again.edge_feature_names == ("close",)
    torch.testing.assert_close(again.graph.x, data.graph.x)


def test_vectors_of_networkx_are_features():
    theirs = networkx.path_graph(3)
    for v in theirs:
        theirs.nodes[v].update(place=np.array([v, 1.0]), age=v + 1)
    graph = cut.data.read_graph(theirs)
    assert graph.feature_names == ("place_1", "place_2", "age")
    assert graph.graph.x.tolist() == [[0, 1, 1], [1, 1, 2], [2, 1, 3]]
    theirs.nodes[1]["place"] = [1.0]
    with pytest.raises(ValueError, match=r"vectors of vertices must all hold the same count.*got 1, 2 as 'place'"):
        cut.data.as_graph(theirs)


def test_karate_equals_networkxs_matrix():
    theirs = networkx.karate_club_graph()
    ours = cut.data.to_scipy(cut.data.as_graph(theirs))
    assert (ours != networkx.to_scipy_sparse_array(theirs)).nnz == 0


def test_a_dense_or_sparse_matrix_is_an_adjacency():
    a = np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 0]])
    for matrix in (a, scipy.sparse.csr_matrix(a), scipy.sparse.coo_array(a), torch.from_numpy(a).to_sparse_csr()):
        graph = cut.data.as_graph(matrix)
        assert graph.edges.tolist() == [[0, 1], [1, 2]]
        assert graph.weights.tolist() == [2, 1]
    negative = cut.data.as_graph(-a)
    assert negative.signed
    with pytest.raises(ValueError, match=r"needs weights of 0 or more, got -2"):
        cut.blocks.laplacian(negative.adjacency())


def test_mistakes():
    with pytest.raises(ValueError, match=r"whose edges have a direction; make them undirected"):
        cut.data.as_graph(networkx.DiGraph([(0, 1)]), directed=False)
    with pytest.raises(ValueError, match=r"got 1 and '1' in networkx graph"):
        cut.data.as_graph(networkx.Graph([(1, "1")]))
    with pytest.raises(ValueError, match=r"no weight|got none \('weight'\) for 1 – 2"):
        theirs = networkx.Graph([(0, 1, {"weight": 1.0}), (1, 2)])
        cut.data.as_graph(theirs)
    with pytest.raises(ValueError, match=r"which none has"):
        cut.data.as_graph(networkx.path_graph(3), weight="cost")
    with pytest.raises(ValueError, match=r"got 1 from 0 to 1 and 0 back"):
        cut.data.as_graph(scipy.sparse.csr_array(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])))
    with pytest.raises(ValueError, match=r"square matrix, got shape \(3, 2\)"):
        cut.data.as_graph(scipy.sparse.csr_array(np.ones((3, 2))))
    with pytest.raises(ValueError, match=r"several kinds of vertices or edges are not read, got PyG's HeteroData"):
        cut.data.as_graph(torch_geometric.data.HeteroData())
    with pytest.raises(ValueError, match=r"change over time are not read, got PyG's TemporalData"):
        cut.data.as_graph(torch_geometric.data.TemporalData())
    with pytest.raises(ValueError, match=r"must have edge_index, got none"):
        cut.data.as_graph(torch_geometric.data.Data(x=torch.zeros(2, 1)))
    with pytest.raises(ValueError, match=r"a Graph or GraphData was expected, got int"):
        cut.data.to_scipy(3)


def test_pyg_data_with_arrays_and_lists():
    """NumPy arrays and lists hold what tensors would; none of them goes unread."""
    data = torch_geometric.data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
    data.x, data.y, data.train_mask = np.eye(3), [0, 1, 0], np.array([True, True, False])
    found = cut.data.read_graph(data)
    assert found.graph.x.tolist() == np.eye(3).tolist()
    assert (found.targets.tolist(), found.train.tolist()) == ([0, 1, 0], [0, 1])
    data.x = torch.eye(3).to_sparse()
    assert cut.data.as_graph(data).x.to_dense().tolist() == np.eye(3).tolist()
    data.x, data.edge_weight = torch.eye(2), None
    with pytest.raises(ValueError, match="x must have a row for each of the 3 vertices, got 2"):
        cut.data.read_graph(data)
    data.x, data.edge_weight = None, torch.ones(2, 2)
    with pytest.raises(ValueError, match=r"edge_weight must be one number an edge, got shape \(2, 2\) for 2 edges"):
        cut.data.read_graph(data)
    data.edge_weight, data.train_mask = None, torch.tensor([0, 1, 2])
    with pytest.raises(ValueError, match="got train_mask with 2"):
        cut.data.read_graph(data)


def test_attributes_of_networkx_that_are_no_vectors_of_numbers():
    graph = networkx.path_graph(3)
    for i, node in enumerate(graph):
        graph.nodes[node].update(size=torch.tensor(float(i)), tags=["a", "b"])
    found = cut.data.read_graph(graph)
    assert found.feature_names == ("size",)
    assert found.graph.x.tolist() == [[0.0], [1.0], [2.0]]
    assert any("tags (values are not single numbers or words)" in note for note in found.notes)


def test_vertices_2_and_2_0_of_networkx_are_refused():
    with pytest.raises(ValueError, match=r"names of vertices must differ, got 2 and '2\.0' in networkx graph"):
        cut.data.as_graph(networkx.Graph([(2, "2.0")]))


def test_what_pyg_has_beside_is_told():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = torch_geometric.data.Data(edge_index=edges, num_nodes=3, edge_label=torch.ones(2), pos=torch.zeros(3, 2))
    (note,) = cut.data.read_graph(data).notes
    assert note.startswith("not read of PyG data: edge_label, pos; features are x and edge_attr")
    with pytest.warns(UserWarning, match="not read of PyG data: edge_label, pos"):
        cut.data.as_graph(data)


def test_parts_of_pyg_by_numbers_of_vertices():
    parts = dict(train_idx=torch.tensor([2, 0]), valid_idx=torch.tensor([1]), test_idx=torch.tensor([3]))
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    y = torch.tensor([0, 1, 1, 0])
    found = cut.data.read_graph(torch_geometric.data.Data(edge_index=edges, num_nodes=4, y=y, **parts))
    assert [found.train.tolist(), found.validation.tolist(), found.open_test().tolist()] == [[2, 0], [1], [3]]
    with pytest.raises(ValueError, match=r"train_idx must list numbers of vertices, 0 to 3, got 7; mend it"):
        cut.data.read_graph(
            torch_geometric.data.Data(edge_index=edges, num_nodes=4, y=y, train_idx=torch.tensor([0, 7]))
        )


def test_a_row_of_labels_is_no_label_of_each_vertex():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = torch_geometric.data.Data(edge_index=edges, num_nodes=3, y=torch.tensor([[0, 1, 1]]))
    with pytest.raises(ValueError, match=r"labels must be one a vertex, got y of shape \(1, 3\) for 3 vertices"):
        cut.data.read_graph(data, labelled=True)
