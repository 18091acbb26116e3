"""Sparse features against the same features, dense."""

import gc

import pytest
import torch
from graph_cases import gradients

from cutaway.blocks import Linear
from cutaway.blocks.graphs import sparse_features
from cutaway.blocks.graphs.sparse_features import dropout_features, map_features, multiply_sparse


def sparse_matrix(rows: int, columns: int) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(rows, columns, dtype=torch.float64) * (torch.rand(rows, columns) < 0.3)


@pytest.mark.parametrize("shape", [(7, 4), (3, 11), (5, 5)])
def test_product_and_gradient_are_the_dense_ones(shape: tuple[int, int]):
    x = sparse_matrix(*shape)
    w = torch.randn(shape[1], 6, dtype=torch.float64, requires_grad=True)
    fast, slow = multiply_sparse(x.to_sparse_csr(), w), x @ w
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(gradients(fast, w), gradients(slow, w))


def test_a_layer_maps_both():
    x, layer = sparse_matrix(7, 4), Linear(4, 3).double()
    torch.testing.assert_close(map_features(layer, x.to_sparse_csr()), map_features(layer, x))
    torch.testing.assert_close(map_features(torch.nn.Sequential(layer), x.to_sparse_csr()), layer(x))


def test_dropout_keeps_the_pattern_and_the_mean():
    x = torch.ones(50, 40).to_sparse_csr()
    y = dropout_features(x, 0.75)
    assert set(y.values().tolist()) == {0.0, 4.0}
    assert abs(float(y.values().mean()) - 1) < 0.2
    w = torch.randn(40, 2, requires_grad=True)
    torch.testing.assert_close(gradients(multiply_sparse(y, w), w), gradients(y.to_dense() @ w, w))
    assert set(dropout_features(torch.ones(50, 40), 0.5).unique().tolist()) == {0.0, 2.0}


def test_what_is_known_of_a_matrix_goes_with_it():
    before = len(sparse_features._ways)
    x = sparse_matrix(7, 4).to_sparse_csr()
    multiply_sparse(x, torch.zeros(4, 1, dtype=torch.float64))
    assert len(sparse_features._ways) == before + 1
    del x
    gc.collect()
    assert len(sparse_features._ways) == before


def test_widths_must_fit():
    with pytest.raises(ValueError, match=r"width 5, got shape \(7, 4\)"):
        multiply_sparse(sparse_matrix(7, 4).to_sparse_csr(), torch.zeros(5, 1, dtype=torch.float64))
