"""Transposed convolution: by hand, torch.nn, the transposed matrix, both paths, messages."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from cutaway.blocks import (
    Conv1d,
    Conv2d,
    Conv3d,
    TransposedConv1d,
    TransposedConv2d,
    TransposedConv3d,
    as_dense,
    transposed_convolve,
    transposed_convolve_open,
)
from cutaway.blocks.convolution.transposed import PADDINGS

PATHS = (transposed_convolve, transposed_convolve_open)


@pytest.mark.parametrize("path", PATHS)
def test_two_inputs_by_hand(path):
    """1 · (1 2 3) from place 0 on and 10 · (1 2 3) from place 2 on, added; "same" keeps 2·2 places from the second."""
    x, w = torch.tensor([[1.0, 10.0]]), torch.tensor([[[1.0, 2, 3]]])
    assert path(x, w, padding="valid", stride=2).tolist() == [[1, 2, 13, 20, 30]]
    assert path(x, w, stride=2).tolist() == [[2, 13, 20, 30]]


LAYERS = {1: TransposedConv1d, 2: TransposedConv2d, 3: TransposedConv3d}
THEIRS = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


@pytest.mark.parametrize(("kernel", "dilation", "groups"), [(3, 1, 1), (2, 2, 2), (4, 1, 1)])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_equal_to_torch(float64, axes, kernel, dilation, groups, stride):
    ours = LAYERS[axes](4, 6, kernel, "valid", stride, dilation, groups)
    theirs = THEIRS[axes](4, 6, kernel, stride, groups=groups, dilation=dilation)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 4, *(5, 3, 2)[:axes])
    y = ours(x.mT).mT if axes == 1 else ours(x)  # sequences have their channels last
    torch.testing.assert_close(y, theirs(x), rtol=1e-12, atol=1e-12)


def test_two_inputs_by_hand_with_channels_last():
    layer = TransposedConv1d(1, 2, 3, "valid", stride=2, bias=False)
    layer.weight.data = torch.tensor([[[1.0, 2, 3], [0, 1, 0]]])
    assert layer(torch.tensor([[1.0], [10.0]])).T.tolist() == [[1, 2, 13, 20, 30], [0, 1, 0, 10, 0]]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_as_a_dense_layer(float64, axes):
    layer = LAYERS[axes](2, 3, 2, stride=2)
    size = (3, 2, 4)[:axes]
    x = torch.randn(*size, 2) if axes == 1 else torch.randn(2, *size)
    dense = as_dense(layer, size)
    torch.testing.assert_close(dense(x.flatten()), layer(x).flatten(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("conv", "back", "size"), [(Conv1d, TransposedConv1d, 6), (Conv3d, TransposedConv3d, 4)])
def test_the_matrix_of_a_line_or_a_volume_is_transposed_too(float64, conv, back, size):
    there = conv(2, 3, 3, "same", stride=2, bias=False)
    again = back(3, 2, 3, stride=2, bias=False)
    again.weight.data = there.weight.data
    assert torch.equal(as_dense(there, size).weight.T, as_dense(again, size // 2).weight)


@given(
    st.sampled_from(PADDINGS),
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 2)),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from([1, 2]),
)
def test_both_paths_are_equal_gradients_too(padding, axes, kernel, stride, dilation, groups):
    torch.manual_seed(axes)
    x = torch.randn(2, 4, *(3, 4, 2)[:axes], dtype=torch.float64)
    weight = torch.randn(4, 3, *kernel[:axes], dtype=torch.float64)
    bias = torch.randn(3 * groups, dtype=torch.float64)
    results = []
    for path in PATHS:
        inputs = [v.clone().requires_grad_() for v in (x, weight, bias)]
        y = path(*inputs, padding, stride, dilation, groups)
        if padding == "same":
            assert y.shape[2:] == tuple(stride * n for n in x.shape[2:])
        results.append([y, *torch.autograd.grad((y * y.detach().cos()).sum(), inputs)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_its_matrix_is_that_of_the_convolution_transposed(float64, kernel, stride):
    conv = Conv2d(2, 3, kernel, stride=stride, bias=False)
    back = TransposedConv2d(3, 2, kernel, stride=stride, bias=False)
    back.weight = conv.weight
    size = (2 * stride, 3 * stride)
    assert torch.equal(as_dense(conv, size).weight.T, as_dense(back, (2, 3)).weight)


def test_repr():
    assert TransposedConv2d(4, 2, 3, stride=2).extra_repr() == "4 → 2, kernel=3, same, stride=2"


@pytest.mark.untyped
def test_messages():
    conv = TransposedConv2d(4, 6)
    with pytest.raises(ValueError, match=r"x must have shape \(..., 4, height, width\), got \(3, 5, 5\)"):
        conv(torch.zeros(3, 5, 5))
    with pytest.raises(ValueError, match=r"at least one entry on every axis, got shape \(4, 0, 5\)"):
        conv(torch.zeros(4, 0, 5))
    with pytest.raises(ValueError, match=r"padding must be one of valid, same, got 'reflect'"):
        TransposedConv2d(4, 6, padding="reflect")
    with pytest.raises(ValueError, match=r"x must have shape \(..., steps, 4\), got \(4,\)"):
        TransposedConv1d(4, 6)(torch.zeros(4))
    with pytest.raises(ValueError, match=r"x.*4.*got .*\(7, 3\)"):
        TransposedConv1d(4, 6)(torch.zeros(7, 3))
    with pytest.raises(ValueError, match=r"\(..., 4, depth, height, width\), got \(3, 5, 5\)"):
        TransposedConv3d(4, 6)(torch.zeros(3, 5, 5))
    with pytest.raises(ValueError, match=r"1 to 3 axes, got \(3, 3\)"):
        transposed_convolve(torch.zeros(3, 5), torch.zeros(3, 3))
