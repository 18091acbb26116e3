"""Sparse features against the same features, dense."""

import gc

import pytest
import torch
from graph_cases import gradients
from torch import Tensor, nn

import cutaway as cut
from cutaway.blocks import Linear
from cutaway.blocks.graphs import sparse_features
from cutaway.blocks.graphs.sparse_features import dropout_features, map_features, multiply_sparse
from cutaway.blocks.low_rank.dora import DoRA
from cutaway.blocks.low_rank.lora import LoRA
from cutaway.blocks.low_rank.updates import LowRank


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


@pytest.mark.parametrize("kind", [LowRank, DoRA])
def test_low_rank_updates_read_rows_that_stay_sparse(kind: type, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    dense = torch.randn(6, 9).relu()
    layer = LoRA(Linear(9, 4), rank=0, parts={"left": 1, "right": 3})
    for name, part in (("one", "whole"), ("two", "right")):
        first, last = layer.columns[part]
        update = kind(9, last - first, rank=1)
        nn.init.normal_(update.b)
        layer.add(name, {part: update.measure(layer.base.weight[:, first:last]) if kind is DoRA else update})
    want = layer(dense)
    learned = [p for p in layer.parameters() if p.requires_grad]
    slopes = torch.autograd.grad(want.sum(), learned)
    with monkeypatch.context() as watched:
        watched.setattr(Tensor, "to_dense", lambda *_: pytest.fail("a dense copy was made"))
        found = map_features(layer, dense.to_sparse_csr())
        torch.testing.assert_close(found, want)
        torch.testing.assert_close(torch.autograd.grad(found.sum(), learned), slopes)
    with cut.trace(nn.ModuleDict({"enter": layer}), "enter", "enter.lora.one.whole.low") as seen:
        torch.testing.assert_close(map_features(layer, dense.to_sparse_csr()), want)
    torch.testing.assert_close(seen["enter"], want)
