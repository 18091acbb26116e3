"""The conditioned residual block: it starts as its shortcut, is the written-out equation, and heeds its condition."""

import pytest
import torch
from torch.nn.functional import conv2d, group_norm, silu

from cutaway.blocks import ConditionedResidual
from cutaway.blocks.generative.conditioned_residual import channel_norm
from cutaway.catalogue.generative import stirred


def test_it_starts_as_its_shortcut():
    torch.manual_seed(0)
    x, c = torch.randn(2, 6, 5, 7), torch.randn(2, 3)
    assert torch.equal(ConditionedResidual(6, 6, 3)(x, c), x)
    block = ConditionedResidual(6, 8, 3)
    assert torch.equal(block(x, c), block.shortcut(x))


def test_the_equation_written_out():
    torch.manual_seed(0)
    block = stirred(ConditionedResidual(4, 4, 3)).double()
    x, c = torch.randn(2, 4, 5, 7).double(), torch.randn(2, 3).double()
    h = silu(group_norm(x, 4, block.first_norm.weight, block.first_norm.bias))
    h = group_norm(conv2d(h, block.first.weight, block.first.bias, padding=1), 4)
    a, b = (c @ block.to_shift.weight + block.to_shift.bias)[:, :, None, None].chunk(2, 1)
    y = x + conv2d(silu(h * (1 + a) + b), block.second.weight, block.second.bias, padding=1)
    torch.testing.assert_close(block(x, c), y)


def test_without_a_condition_the_norm_has_gain_and_bias():
    block = ConditionedResidual(4, 4)
    assert block.to_shift is None
    assert block.second_norm.weight is not None
    assert block(torch.randn(2, 4, 5, 7)).shape == (2, 4, 5, 7)


def test_groups_divide_the_channels():
    assert [channel_norm(n).groups for n in (1, 3, 7, 8, 12, 20, 32)] == [1, 1, 1, 8, 4, 4, 8]


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="told what to do by a condition of width 3, got none"):
        ConditionedResidual(4, 4, 3)(torch.zeros(1, 4, 2, 2))
    with pytest.raises(ValueError, match=r"the last axis of condition must have width 3, got shape \(1, 2\)"):
        ConditionedResidual(4, 4, 3)(torch.zeros(1, 4, 2, 2), torch.zeros(1, 2))
