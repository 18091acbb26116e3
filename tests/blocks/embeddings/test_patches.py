"""Patches: by hand, and as the convolution that they are."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import PatchEmbedding, cut_patches


def test_by_hand():
    image = torch.arange(16.0).view(1, 4, 4)
    patches = [[0.0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    assert torch.equal(cut_patches(image, 2), torch.tensor(patches))


def test_channels_come_first_within_a_patch():
    images = torch.randn(2, 3, 4, 6)
    x = cut_patches(images, 2)
    assert x.shape == (2, 6, 12)
    assert torch.equal(x[1, 4], images[1, :, 2:4, 2:4].flatten())  # second row, second of three


def test_same_as_torchs_unfold():
    images = torch.randn(2, 3, 6, 8)
    assert torch.equal(cut_patches(images, 2), nn.functional.unfold(images, 2, stride=2).mT)


def test_a_convolution_whose_stride_is_its_side(float64):
    block, peer = PatchEmbedding(2, 3, 5), nn.Conv2d(3, 5, 2, stride=2)
    with torch.no_grad():
        peer.weight.copy_(block.map.weight.T.view(5, 3, 2, 2))
        peer.bias.copy_(block.map.bias)
    images = torch.randn(2, 3, 6, 8)
    torch.testing.assert_close(block(images), peer(images).flatten(2).mT)


def test_any_leading_axes():
    block, images = PatchEmbedding(2, 3, 5), torch.randn(2, 4, 3, 6, 8)
    torch.testing.assert_close(block(images)[1, 2], block(images[1, 2]))


def test_tap():
    block, images = PatchEmbedding(2, 3, 5), torch.randn(2, 3, 6, 8)
    with cut.trace(block, "output") as seen:
        z = block(images)
    assert torch.equal(seen["output"], z)


def test_bad_sizes():
    with pytest.raises(ValueError, match="side must be above 0, got 0; try side=1"):
        PatchEmbedding(0, 3, 5)
    with pytest.raises(ValueError, match="side must be above 0, got -2; try side=1"):
        cut_patches(torch.randn(3, 6, 8), -2)
    with pytest.raises(ValueError, match=r"got 6 × 8 and side=4; resize or pad the images, to 8 × 8 for one"):
        cut_patches(torch.randn(3, 6, 8), 4)


@pytest.mark.untyped
def test_bad_input():
    block = PatchEmbedding(2, 3, 5)
    with pytest.raises(ValueError, match=r"\(..., 3, height, width\), got \(6, 8, 3\); put the channels before height"):
        block(torch.randn(6, 8, 3))
    with pytest.raises(ValueError, match=r"\(..., channels, height, width\), got \(6, 8\); for one channel use images"):
        cut_patches(torch.randn(6, 8), 2)
    with pytest.raises(
        ValueError, match=r"images must be a float tensor, got torch.uint8; convert it with images.float"
    ):
        block(torch.zeros(3, 6, 8, dtype=torch.uint8))
