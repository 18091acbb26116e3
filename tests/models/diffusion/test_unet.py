"""The U-Net: it starts at 0, keeps any size, and sees the whole image from its middle."""

import pytest
import torch

from cutaway.catalogue.generative import stirred
from cutaway.inside.tracing import trace
from cutaway.models.diffusion.unet import UNet


@pytest.mark.parametrize(
    ("size", "stages", "shuffle"), [((8, 8), 2, 1), ((7, 9), 2, 2), ((5, 12), 3, 2), ((1, 3), 1, 1)]
)
def test_any_size_comes_back(size: tuple[int, int], stages: int, shuffle: int):
    net = UNet(2, 4, depth=2, stages=stages, shuffle=shuffle, condition=6)
    x = torch.randn(3, 2, *size)
    y = net(x, torch.randn(3, 6))
    assert y.shape == x.shape
    assert not y.any()  # at its start


def test_the_middle_is_coarse_and_wide():
    net = UNet(1, 4, stages=3, shuffle=2, condition=6)
    with trace(net, "middle") as seen:
        net(torch.randn(3, 1, 16, 8), torch.randn(3, 6))
    assert seen["middle"].shape == (3, 16, 2, 1)


def test_the_layout_of_memory_does_not_matter():
    torch.manual_seed(0)
    net = stirred(UNet(3, 4, condition=6)).double()
    x, c = torch.randn(2, 3, 8, 8).double(), torch.randn(2, 6).double()
    torch.testing.assert_close(net(x, c), net(x.to(memory_format=torch.channels_last), c))


def test_each_image_is_alone():
    torch.manual_seed(0)
    net = stirred(UNet(1, 4, condition=6)).double()
    x, c = torch.randn(4, 1, 8, 8).double(), torch.randn(4, 6).double()
    torch.testing.assert_close(net(x, c)[2:3], net(x[2:3], c[2:3]))


def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="stages must be above 0, got 0"):
        UNet(1, 4, stages=0)
