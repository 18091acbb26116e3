"""Bottleneck adapters: by hand, the identity at first, and of several outputs the first."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

from cutaway.blocks import Bottleneck
from cutaway.blocks.low_rank.bottleneck import BottleneckAfter


def test_by_hand():
    made = Bottleneck(2, 1, activation=torch.relu)
    y = torch.tensor([[1.0, 2.0], [-1.0, -2.0]])
    assert torch.equal(made(y), y)
    with torch.no_grad():
        made.down.fill_(1.0)
        made.up.copy_(torch.tensor([[10.0, 20.0]]))
        made.up_bias.copy_(torch.tensor([0.5, 0.0]))
    assert made(y).tolist() == [[31.5, 62.0], [-0.5, -2.0]]
    with pytest.raises(ValueError, match="y must have width 2"):
        made(torch.zeros(3, 3))


class Two(NamedTuple):
    first: torch.Tensor
    second: str


@pytest.mark.parametrize("wrap", [lambda y: y, lambda y: (y, "more"), lambda y: Two(y, "more")])
def test_the_first_of_several_outputs(wrap):
    class Gives(nn.Module):
        def forward(self, x):
            return wrap(x)

    layer = BottleneckAfter(Gives())
    layer.put("default", Bottleneck(2, 3))
    nn.init.ones_(layer.held.get_submodule("default").up_bias)
    y = layer(torch.zeros(4, 2))
    assert type(y) is type(wrap(torch.zeros(1)))
    assert torch.equal(y if isinstance(y, torch.Tensor) else y[0], torch.ones(4, 2))
    assert isinstance(y, torch.Tensor) or y[1] == "more"


def test_features_before_the_axes_of_an_image():
    block = Bottleneck(3, 2, axis=-3).double()
    torch.nn.init.normal_(block.up)
    y = torch.randn(2, 3, 5, 4, dtype=torch.float64)
    conv = torch.nn.functional.conv2d
    hidden = torch.nn.functional.gelu(conv(y, block.down.T[:, :, None, None], block.down_bias))
    expected = y + conv(hidden, block.up.T[:, :, None, None], block.up_bias)
    torch.testing.assert_close(block(y), expected)
    with pytest.raises(ValueError, match="y must have width 3"):
        block(torch.randn(2, 4, 5, 3, dtype=torch.float64))
