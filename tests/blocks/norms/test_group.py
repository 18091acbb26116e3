"""Group norm against torch's, written out, at its two ends, and looked into."""

import pytest
import torch

from cutaway.blocks import GroupNorm, group_norm, layer_norm
from cutaway.blocks.norms.group import group_norm_open
from cutaway.inside.tracing import trace


def example() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 6, 5, 3).double() * 3 + 1


def test_written_out_and_fused_are_torchs():
    x = example()
    peer = torch.nn.GroupNorm(3, 6).double()
    torch.testing.assert_close(group_norm(x, 3), peer(x))
    torch.testing.assert_close(group_norm_open(x, 3), peer(x))


@pytest.mark.parametrize("affine", [True, False])
def test_without_a_gradient_channels_side_by_side_give_the_same(affine: bool):
    x = example()
    norm = GroupNorm(6, 3, affine=affine).double()
    for parameter in norm.parameters():
        torch.nn.init.normal_(parameter)
    with torch.no_grad():
        found = norm(x.to(memory_format=torch.channels_last))
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found, norm(x).detach())
    with torch.no_grad():  # far from 0, where a difference of squares would have lost its digits
        far = 1e4 + x.float().to(memory_format=torch.channels_last)
        torch.testing.assert_close(norm.float()(far).double(), norm.double()(far.double()), atol=5e-3, rtol=0)


def test_a_group_of_one_value_is_zero():
    assert group_norm(torch.tensor([[[[7.0]], [[3.0]]]]), 2).flatten().tolist() == [0, 0]


def test_one_group_is_layer_norm_and_each_channel_alone_is_instance_norm():
    x = example()
    torch.testing.assert_close(group_norm(x, 1), layer_norm(x, axes=(1, 2, 3)))
    torch.testing.assert_close(group_norm(x, 6), torch.nn.functional.instance_norm(x))


def test_scale_and_shift_of_the_input_do_not_matter():
    x = example()
    torch.testing.assert_close(group_norm(7 * x - 2, 3, epsilon=0.0), group_norm(x, 3, epsilon=0.0))


def test_normalised_values_are_seen_before_gain_and_bias():
    norm, x = GroupNorm(6, 3).double(), example()
    torch.nn.init.constant_(norm.weight, 2.0)
    with trace(norm, "normalised") as seen:
        y = norm(x)
    torch.testing.assert_close(2 * seen["normalised"], y)
    assert [*GroupNorm(6, 3, affine=False).parameters()] == []


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="got 6 channels, groups=4; try groups=2 or groups=3"):
        GroupNorm(6, 4)
    with pytest.raises(ValueError, match=r"axis 1 of x must hold 6 channels, got shape \(2, 5, 3\)"):
        GroupNorm(6, 3)(torch.zeros(2, 5, 3))
