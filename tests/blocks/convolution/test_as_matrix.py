"""Convolutions and their matrices: N0's example by hand, the band, and equal outputs in every mode."""

import pytest
import torch
from scipy.linalg import toeplitz
from torch import nn

from cutaway.blocks import Conv1d, Conv2d, Conv3d, TransposedConv2d, as_dense, weight_sharing
from cutaway.blocks.convolution.as_matrix import linear_of


def same(conv: nn.Module, size: tuple[int, ...]) -> None:
    x = torch.randn(5, conv.in_channels, *size)
    torch.testing.assert_close(as_dense(conv, size)(x.flatten(1)), conv(x).flatten(1), rtol=1e-12, atol=1e-12)


def test_three_taps_by_hand():
    conv = nn.Conv1d(1, 1, 3, bias=False)
    conv.weight.data = torch.tensor([[[2.0, 3.0, 5.0]]])
    dense = as_dense(conv, 5)
    A = torch.tensor([[2.0, 3, 5, 0, 0], [0, 2, 3, 5, 0], [0, 0, 2, 3, 5]])  # N0 §1.1
    assert torch.equal(dense.weight, A.T)
    assert dense.bias is None
    assert dense(torch.tensor([1.0, 10, 100, 1000, 10000])).tolist() == [532.0, 5320.0, 53200.0]


def test_the_band_is_toeplitz(float64):
    conv = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    a1, a2, a3 = conv.weight.flatten().tolist()
    banded = toeplitz(c=[a2, a3] + [0] * 5, r=[a2, a1] + [0] * 5)
    assert torch.equal(as_dense(conv, 7).weight, torch.from_numpy(banded))


def test_images_have_a_band_of_bands(float64):
    conv = nn.Conv2d(1, 1, 3, bias=False)
    blocks = as_dense(conv, (4, 5)).weight.view(4, 5, 2, 3).permute(0, 2, 1, 3)  # a 5×3 block for rows (in, out)
    assert torch.equal(blocks[0, 0], blocks[1, 1])
    assert torch.equal(blocks[1, 0], blocks[2, 1])
    assert not blocks[0, 1].any()
    assert not blocks[3, 0].any()
    for row in range(3):
        taps = nn.Conv1d(1, 1, 3, bias=False)
        taps.weight.data = conv.weight[0, :, row][None]
        assert torch.equal(blocks[row, 0], as_dense(taps, 5).weight)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("padding", [0, 2, "same", "valid"])
@pytest.mark.parametrize(("stride", "dilation", "groups"), [(1, 1, 1), (2, 1, 1), (1, 2, 1), (3, 2, 2)])
def test_equal_outputs_in_1d(float64, bias, padding, stride, dilation, groups):
    stride = 1 if padding == "same" else stride
    same(nn.Conv1d(4, 6, 3, stride, padding, dilation, groups, bias), (11,))


@pytest.mark.parametrize("mode", ["zeros", "circular", "reflect", "replicate"])
@pytest.mark.parametrize("groups", [1, 3])
def test_equal_outputs_in_2d(float64, mode, groups):
    same(nn.Conv2d(3, 6, (3, 2), (2, 1), (1, 2), groups=groups, padding_mode=mode), (5, 7))


def test_equal_outputs_in_3d_and_transposed(float64):
    same(nn.Conv3d(2, 3, (2, 3, 1), padding=1), (2, 3, 5))
    same(nn.ConvTranspose1d(2, 3, 3, stride=2), (5,))
    same(nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), (2, 3))


def test_the_transposed_convolution_has_the_transposed_matrix(float64):
    conv, back = nn.Conv1d(2, 3, 3, bias=False), nn.ConvTranspose1d(3, 2, 3, bias=False)
    back.weight = conv.weight
    assert torch.equal(as_dense(conv, 7).weight.T, as_dense(back, 5).weight)


def test_an_int_is_the_length_of_all_axes(float64):
    conv = nn.Conv2d(1, 2, 2)
    assert torch.equal(as_dense(conv, 3).weight, as_dense(conv, (3, 3)).weight)


def test_weights_are_copied_bit_for_bit_whatever_the_bias():
    conv = nn.Conv1d(1, 1, 3)
    conv.bias.data.fill_(1e8)  # (w + b) − b would be 0 in float32
    dense = as_dense(conv, 3)
    assert torch.equal(dense.weight.flatten(), conv.weight.flatten())
    dense.weight.data.zero_()
    assert conv.weight.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_dtype_and_random_state(dtype):
    conv = nn.Conv1d(2, 3, 3).to(dtype)
    before = torch.get_rng_state()
    assert as_dense(conv, 7).weight.dtype == dtype
    assert torch.equal(torch.get_rng_state(), before)


def test_sharing_by_hand():
    # 7 inputs, 5 outputs: 35 entries, 3 in each of 5 columns, 3 different ones
    assert weight_sharing(nn.Conv1d(1, 1, 3), 7) == (35, 15, 3)
    # padding by one: 7×7 entries, three diagonals of 6, 7 and 6
    assert weight_sharing(nn.Conv1d(1, 1, 3, padding=1), 7) == (49, 19, 3)
    # groups: each of 4 outputs reads 3 taps of one channel
    assert weight_sharing(nn.Conv1d(2, 4, 3, groups=2), 3) == (24, 12, 12)


def test_sharing_counts_what_the_matrix_holds(float64):
    conv = nn.Conv2d(2, 3, 3, padding=1)
    weight, sharing = as_dense(conv, (4, 5)).weight, weight_sharing(conv, (4, 5))
    assert sharing.entries == weight.numel()
    assert sharing.connections == weight.count_nonzero()
    assert sharing.weights == len(weight.unique()) - 1  # and zero


def test_linear_of_owns_its_weights():
    weight, bias = torch.randn(3, 5), torch.randn(5)
    layer = linear_of(weight, bias)
    x = torch.randn(2, 3)
    torch.testing.assert_close(layer(x), x @ weight + bias)
    weight.zero_()
    assert layer.weight.any()
    assert repr(layer) == "Linear(3 → 5)"


def test_messages():
    with pytest.raises(
        ValueError, match=r"size must give the length of each of 2 axes, got size=\(5,\) for Conv2d; leave"
    ):
        as_dense(nn.Conv2d(1, 1, 3), (5,))
    with pytest.raises(ValueError, match=r"each of 1 axes, got size=\(0,\)"):
        as_dense(nn.Conv1d(1, 1, 3), 0)
    with pytest.raises(
        ValueError, match=r"must hold the kernel, got size=\(2,\) for kernel_size=\(3,\), padding=\(0,\); try"
    ):
        as_dense(nn.Conv1d(1, 1, 3), 2)
    with pytest.raises(
        ValueError,
        match=r"conv must be a convolution, got Linear; pass one of Cutaway's or of torch.nn's Conv1d, Conv2d",
    ):
        as_dense(nn.Linear(3, 5), 3)


@pytest.mark.parametrize("padding", ["valid", "same", "reflect", "causal"])
def test_our_convolution_is_a_matrix_too(float64, padding):
    conv = Conv1d(4, 6, 3, padding, stride=2, dilation=2, groups=2)
    x = torch.randn(5, 11, 4)
    torch.testing.assert_close(as_dense(conv, 11)(x.flatten(1)), conv(x).flatten(1), rtol=1e-12, atol=1e-12)
    assert weight_sharing(Conv1d(1, 1, 3, "valid"), 100) == weight_sharing(nn.Conv1d(1, 1, 3), 100)


@pytest.mark.parametrize("padding", ["valid", "same", "reflect"])
def test_convolutions_of_images_and_volumes_too(float64, padding):
    for conv, size in (
        (Conv2d(4, 6, (3, 2), padding, stride=(1, 2), dilation=2, groups=2), (5, 6)),
        (Conv3d(2, 3, (2, 1, 3), padding), (3, 2, 4)),
        (TransposedConv2d(2, 3, 3, "valid" if padding == "valid" else "same", stride=2), (3, 2)),
    ):
        x = torch.randn(5, conv.inputs, *size)
        torch.testing.assert_close(as_dense(conv, size)(x.flatten(1)), conv(x).flatten(1), rtol=1e-12, atol=1e-12)
    assert weight_sharing(Conv2d(2, 3), (4, 5)) == weight_sharing(nn.Conv2d(2, 3, 3, padding=1), (4, 5))
