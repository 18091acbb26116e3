"""Space as channels: by hand, torch's, the round trip, messages."""

import pytest
import torch
from torch import nn

from cutaway.blocks import PixelUnshuffle, pixel_shuffle, pixel_unshuffle


def test_a_square_becomes_four_channels():
    x = torch.arange(16.0).reshape(1, 4, 4)
    assert pixel_unshuffle(x, 2)[:, 0, 1].tolist() == [2, 3, 6, 7]


def test_equal_to_torch_and_back():
    x = torch.randn(2, 3, 6, 9)
    y = pixel_unshuffle(x, 3)
    assert torch.equal(y, nn.functional.pixel_unshuffle(x, 3))
    assert torch.equal(PixelUnshuffle(3)(x), y)
    assert torch.equal(pixel_shuffle(y, 3), x)
    assert PixelUnshuffle(3).extra_repr() == "side=3"


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"height and width a multiple of side=2, got \(1, 4, 5\); pad or resize"):
        pixel_unshuffle(torch.zeros(1, 4, 5), 2)
    with pytest.raises(ValueError, match=r"the channels a multiple of side²=4, got \(6, 4, 5\); use side² times"):
        pixel_shuffle(torch.zeros(6, 4, 5), 2)
