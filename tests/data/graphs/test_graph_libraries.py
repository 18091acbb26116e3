"""networkx, SciPy and PyG, there and back."""

import networkx
import numpy as np
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


def test_multigraphs_add_up_as_networkx_does():
    theirs = networkx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    ours = cut.data.as_graph(theirs).adjacency().to_dense()
    torch.testing.assert_close(ours, torch.from_numpy(networkx.to_numpy_array(theirs)).float())


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
        cut.data.as_graph(networkx.DiGraph([(0, 1)]))
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
