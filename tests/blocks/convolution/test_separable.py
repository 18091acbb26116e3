"""Depth-wise separable convolution: the notes' counts, and the full convolution that it is."""

import torch

from cutaway.blocks import Conv2d, SeparableConv2d, as_dense


def weights(block):
    return sum(p.numel() for p in block.parameters())


def test_735_weights_against_162():
    assert weights(Conv2d(3, 5, 7, bias=False)) == 7 * 7 * 5 * 3 == 735
    assert weights(SeparableConv2d(3, 5, 7, bias=False)) == 7 * 7 * 3 + 5 * 3 == 162


def test_it_is_a_full_convolution_whose_weight_factors(float64):
    block = SeparableConv2d(3, 5, 3, "reflect", stride=2)
    full = Conv2d(3, 5, 3, "reflect", stride=2)
    d, p = block.depthwise.weight[:, 0], block.pointwise.weight[:, :, 0, 0]
    full.weight.data = torch.einsum("oc,cij->ocij", p, d)
    full.bias.data = block.pointwise.bias
    x = torch.randn(2, 3, 6, 7)
    torch.testing.assert_close(block(x), full(x))


def test_as_dense(float64):
    block, x = SeparableConv2d(2, 3), torch.randn(4, 2, 3, 5)
    torch.testing.assert_close(as_dense(block, (3, 5))(x.flatten(1)), block(x).flatten(1))
