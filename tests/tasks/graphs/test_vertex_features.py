"""Features on the scale of a network: rows of words, columns of measurements, the identity."""

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.tasks.graphs.vertex_features import (
    FeatureScale,
    identity_rows,
    is_counted,
    scale_columns,
    scale_rows,
    with_features,
)

WORDS = torch.tensor([[2.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])


def test_rows_sum_to_one_and_empty_ones_stay():
    expected = torch.tensor([[0.5, 0, 0, 0.5], [0, 0, 0, 0], [0, 1, 0, 0]])
    assert torch.equal(scale_rows(WORDS), expected)
    assert torch.equal(scale_rows(WORDS.to_sparse_csr()).to_dense(), expected)


def test_columns_have_mean_0_and_deviation_1():
    x = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    assert torch.equal(scale_columns(x, x.mean(0), x.std(0, unbiased=False)), torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))


def test_another_graph_is_put_on_the_same_scale():
    edges = torch.tensor([[0], [1]])
    scale = FeatureScale.of(Graph(edges, x=torch.tensor([[1.0, 5.0], [3.0, 5.0]])), "columns")
    assert scale == FeatureScale("columns", (2.0, 5.0), (1.0, 0.0))
    assert torch.equal(
        scale.apply(Graph(edges, x=torch.tensor([[4.0, 9.0], [2.0, 1.0]]))).x, torch.tensor([[2.0, 0], [0, 0]])
    )


def test_auto_takes_words_by_rows_and_measurements_by_columns():
    assert is_counted(WORDS)
    assert is_counted(WORDS.to_sparse_csr())
    assert not is_counted(torch.randn(4, 3))
    edges = torch.tensor([[0, 1], [1, 2]])
    found = with_features(Graph(edges, x=WORDS))
    assert torch.equal(found.x, scale_rows(WORDS))
    measured = torch.tensor([[0.5], [1.5], [2.5]])
    assert torch.equal(with_features(Graph(edges, x=measured)).x, (measured - 1.5) / measured.std(unbiased=False))
    assert torch.equal(with_features(Graph(edges, x=measured), "as given").x, measured)


def test_without_features_every_vertex_is_its_own():
    graph = with_features(Graph(torch.tensor([[0, 1], [1, 2]])))
    assert torch.equal(graph.x.to_dense(), torch.eye(3))
    assert torch.equal(with_features(graph.with_x(WORDS), "identity").x.to_dense(), torch.eye(3))
    assert identity_rows(3).layout == torch.sparse_csr


@pytest.mark.parametrize("kind", ["rows", "columns", "as given", "identity"])
def test_the_edges_stay(kind: str):
    graph = Graph(torch.tensor([[0, 1], [1, 2]]), x=WORDS)
    assert torch.equal(with_features(graph, kind).edges, graph.edges)
