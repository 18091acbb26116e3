"""Linear layers of Cutaway, torch and transformers, seen alike."""

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from cutaway.blocks import Linear
from cutaway.blocks.low_rank.linear_layers import as_weight, bias_of, is_linear, matrix_of


@pytest.mark.parametrize("layer", [Linear(5, 3), nn.Linear(5, 3), Conv1D(3, 5)], ids=["ours", "torch", "transformers"])
def test_y_is_x_times_the_matrix(layer):
    x = torch.randn(2, 5)
    assert is_linear(layer)
    torch.testing.assert_close(x @ matrix_of(layer) + bias_of(layer), layer(x))
    assert torch.equal(as_weight(layer, matrix_of(layer)), layer.weight)


@pytest.mark.parametrize("module", [nn.LazyLinear(3), nn.Conv1d(1, 1, 1), nn.Embedding(3, 3), nn.ReLU(), None])
def test_what_is_none(module):
    assert not is_linear(module)
