"""Blocks of convolutional networks: equal to torch.nn wired by hand, and how they start."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import ConvLayer2d, InvertedResidual2d, ResidualConv2d


def torch_layer(layer, stride, activation):
    """The same layer of torch.nn's modules, with the same weights."""
    weight = layer.conv.weight
    inputs, outputs = weight.shape[1] * layer.conv.groups, weight.shape[0]
    kernel = weight.shape[-1]
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=layer.conv.groups, bias=False)
    conv.load_state_dict(layer.conv.state_dict())
    norm = nn.BatchNorm2d(outputs)
    norm.load_state_dict(layer.norm.state_dict() | {"num_batches_tracked": torch.tensor(0)})
    return nn.Sequential(conv, norm, *([nn.ReLU()] if activation else []))


def test_a_layer(float64):
    layer, x = ConvLayer2d(3, 4, stride=2), torch.randn(2, 3, 7, 6)
    torch.testing.assert_close(layer(x), torch_layer(layer, 2, True)(x))


@pytest.mark.parametrize(("outputs", "stride"), [(3, 1), (4, 2)])
def test_a_residual_block(float64, outputs, stride):
    block, x = ResidualConv2d(3, outputs, stride=stride), torch.randn(2, 3, 7, 6)
    nn.init.normal_(block.second.norm.weight)
    past = x if block.shortcut is None else torch_layer(block.shortcut, stride, False)(x)
    branch = torch_layer(block.second, 1, False)(torch_layer(block.first, stride, True)(x))
    torch.testing.assert_close(block(x), (past + branch).relu())
    assert (block.shortcut is None) == (stride == 1)


def test_a_residual_block_starts_as_the_identity_of_what_is_positive(float64):
    block, x = ResidualConv2d(3, 3), torch.rand(2, 3, 5, 5)
    torch.testing.assert_close(block(x), x)


@pytest.mark.parametrize(("outputs", "stride", "adds"), [(3, 1, True), (4, 1, False), (3, 2, False)])
def test_an_inverted_residual(float64, outputs, stride, adds):
    block, x = InvertedResidual2d(3, outputs, stride=stride, expansion=2), torch.randn(2, 3, 7, 6)
    parts = [(block.expand, 1, True), (block.depthwise, stride, True), (block.project, 1, False)]
    y = x
    for part in parts:
        y = torch_layer(*part)(y)
    torch.testing.assert_close(block(x), y + x if adds else y)


def test_an_inverted_residual_has_few_weights():
    """From 8 channels to 8, six times as wide inside: 8·48 + 9·48 + 48·8, where a full 3 × 3 of 48 has 9·48²."""
    block = InvertedResidual2d(8, 8, expansion=6)
    kernels = [p.numel() for name, p in block.named_parameters() if "conv" in name]
    assert kernels == [8 * 48, 9 * 48, 48 * 8]


def test_the_branch_can_be_cut(float64):
    block, x = InvertedResidual2d(3, 3), torch.randn(2, 3, 5, 5)
    with cut.patch(block, {"branch": lambda v: v * 0}):
        assert torch.equal(block(x), x)


def test_without_a_norm_there_are_biases():
    assert ConvLayer2d(3, 4, norm="none").conv.bias is not None
    assert ConvLayer2d(3, 4).conv.bias is None


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"norm must be one of batch, none, got 'group'"):
        ConvLayer2d(3, 4, norm="group")
    with pytest.raises(ValueError, match=r"expansion must be above 0, got 0"):
        InvertedResidual2d(3, 4, expansion=0)
