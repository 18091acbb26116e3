"""Convolution over grids: the notes' numbers, torch.nn in every mode, both paths, laws, messages."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal
from torch import nn

import cutaway as cut
from cutaway.blocks import Conv2d, Conv3d, convolve_grid, cross_correlate_grid, cross_correlate_grid_open
from cutaway.blocks.convolution.grids import PADDINGS, pad_grid

BUMP = torch.tensor([[0.0, 1, 2, 4, 8, 4, 2, 1, 0]])
SLOPE = torch.tensor([[[1.0, 0, -1]]])


@pytest.mark.parametrize("path", [cross_correlate_grid, cross_correlate_grid_open])
def test_the_numbers_of_the_notes(path):
    assert path(BUMP, SLOPE).tolist() == [[-1, -2, -3, -6, 0, 6, 3, 2, 1]]
    assert path(BUMP, SLOPE, padding="valid").shape[-1] == 9 - 3 + 1


def test_true_convolution_is_the_negative_for_an_odd_kernel():
    assert convolve_grid(BUMP, SLOPE).tolist() == [[1, 2, 3, 6, 0, -6, -3, -2, -1]]


def test_convolution_commutes_and_cross_correlation_does_not(float64):
    a, b = torch.randn(5), torch.randn(3)

    def full(x, y, one):
        return one(nn.functional.pad(x, (len(y) - 1,) * 2)[None], y[None, None], padding="valid")

    torch.testing.assert_close(full(a, b, convolve_grid), full(b, a, convolve_grid))
    assert not torch.allclose(full(a, b, cross_correlate_grid), full(b, a, cross_correlate_grid))


@pytest.mark.parametrize(("ours", "theirs", "size"), [(Conv2d, nn.Conv2d, (7, 9)), (Conv3d, nn.Conv3d, (5, 7, 4))])
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("kernel", "dilation", "groups"), [(3, 1, 1), (2, 2, 3), (1, 1, 2)])
def test_equal_to_torch(float64, ours, theirs, size, padding, kernel, dilation, groups):
    a = ours(6, 12, kernel, padding, dilation=dilation, groups=groups)
    b = theirs(6, 12, kernel, padding=padding, dilation=dilation, groups=groups)
    b.load_state_dict(a.state_dict())
    x = torch.randn(2, 6, *size)
    torch.testing.assert_close(a(x), b(x), rtol=1e-12, atol=1e-12)


def test_a_strided_same_convolution_is_torchs_with_half_the_kernel_as_padding(float64):
    a, b = Conv2d(2, 3, 5, stride=2), nn.Conv2d(2, 3, 5, stride=2, padding=2)
    b.load_state_dict(a.state_dict())
    x = torch.randn(2, 2, 7, 8)
    torch.testing.assert_close(a(x), b(x), rtol=1e-12, atol=1e-12)


def test_true_convolution_is_scipys(float64):
    image, kernel = torch.randn(6, 7), torch.randn(3, 2)
    expected = signal.convolve2d(image, kernel, mode="valid")
    found = convolve_grid(image[None], kernel[None, None], padding="valid")[0]
    torch.testing.assert_close(found, torch.from_numpy(expected))


@given(
    st.sampled_from(PADDINGS),
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from([1, 2]),
)
def test_both_paths_are_equal_gradients_too(padding, axes, kernel, stride, dilation, groups):
    torch.manual_seed(axes)
    x = torch.randn(2, 3, 4, *(7, 5, 6)[:axes], dtype=torch.float64)
    weight = torch.randn(6, 4 // groups, *kernel[:axes], dtype=torch.float64)
    bias = torch.randn(6, dtype=torch.float64)
    results = []
    for path in (cross_correlate_grid, cross_correlate_grid_open):
        inputs = [v.clone().requires_grad_() for v in (x, weight, bias)]
        y = path(*inputs, padding, stride, dilation, groups)
        results.append([y, *torch.autograd.grad((y * y.detach().cos()).sum(), inputs)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 7), st.integers(1, 4))
def test_mirrored_as_numpy_does(height, width, rows, columns):
    x = torch.arange(1.0, height * width + 1).reshape(1, height, width)
    sides = [(r // 2, r - r // 2) for r in (rows - 1, columns - 1)]
    expected = np.pad(x[0].numpy(), sides, "reflect")
    assert pad_grid(x, (rows, columns), "reflect")[0].tolist() == expected.tolist()


def test_each_input_influences_three_outputs_and_two_at_the_border():
    x = torch.zeros(1, 6, requires_grad=True)
    slopes = torch.autograd.functional.jacobian(lambda v: cross_correlate_grid(v, torch.ones(1, 1, 3))[0], x)
    assert slopes.squeeze().count_nonzero(0).tolist() == [2, 3, 3, 3, 3, 2]


def test_shifts_pass_through_a_stride_of_one_alone(float64):
    """Translation equivariance, away from zero-padded borders; with stride 2 a shift by one is another image."""
    x = torch.randn(2, 12, 12)
    conv = Conv2d(2, 3, 3)
    torch.testing.assert_close(conv(x.roll((2, 1), (-2, -1)))[:, 4:-1, 4:-1], conv(x)[:, 2:-3, 3:-2])
    strided = Conv2d(2, 3, 3, stride=2)
    for shift in (0, 1):
        moved, still = strided(x.roll(1, -1))[:, 2:-1, 2:-1], strided(x)[:, 2:-1, 2 - shift : -1 - shift]
        assert not torch.allclose(moved, still)


def test_a_one_by_one_convolution_is_a_dense_layer_for_each_pixel(float64):
    conv, x = Conv2d(3, 5, 1), torch.randn(2, 3, 4, 6)
    dense = x.movedim(1, -1) @ conv.weight[:, :, 0, 0].T + conv.bias
    torch.testing.assert_close(conv(x), dense.movedim(-1, 1))


def test_the_layout_in_memory_is_kept():
    x = torch.randn(2, 4, 6, 6).contiguous(memory_format=torch.channels_last)
    conv = Conv2d(4, 8).to(memory_format=torch.channels_last)
    assert conv(x).is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(conv(x), conv(x.contiguous()))


def test_any_leading_axes(float64):
    conv, x = Conv2d(2, 3), torch.randn(2, 3, 2, 5, 4)
    assert conv(x).shape == (2, 3, 3, 5, 4)
    torch.testing.assert_close(conv(x)[1, 2], conv(x[1, 2]))
    assert conv(torch.zeros(0, 2, 5, 4)).shape == (0, 3, 5, 4)


def test_the_output_can_be_read_and_edited(float64):
    conv, x = Conv2d(2, 3), torch.randn(4, 2, 5, 5)
    with cut.trace(conv, "output") as seen:
        y = conv(x)
    assert torch.equal(seen["output"], y)
    with cut.patch(conv, {"output": lambda v: v * 0}):
        assert not conv(x).any()


def test_repr():
    conv = Conv2d(4, 6, (3, 5), "reflect", stride=2, dilation=(1, 2), groups=2, bias=False)
    assert conv.extra_repr() == "4 → 6, kernel=3×5, reflect, stride=2, dilation=1×2, groups=2, no bias"
    assert Conv3d(1, 2).extra_repr() == "1 → 2, kernel=3, same"


@pytest.mark.untyped
def test_messages():
    conv = Conv2d(4, 6, 3, "valid")
    with pytest.raises(ValueError, match=r"x must have shape \(..., 4, height, width\), got \(5, 5, 4\); put the chan"):
        conv(torch.zeros(5, 5, 4))
    with pytest.raises(ValueError, match=r"at least 3 × 3 large for a kernel of 3 .* got shape \(4, 2, 9\); use pad"):
        conv(torch.zeros(4, 2, 9))
    with pytest.raises(ValueError, match=r"at least 1 × 1 large .* leave empty inputs out"):
        Conv2d(4, 6)(torch.zeros(4, 0, 3))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.uint8"):
        conv(torch.zeros(4, 5, 5, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"multiples of groups, got inputs=4, outputs=6, groups=4; try groups=1 or"):
        Conv2d(4, 6, groups=4)
    with pytest.raises(ValueError, match=r"padding must be one of valid, same, reflect, got 'full'"):
        Conv2d(4, 6, padding="full")
    with pytest.raises(
        ValueError, match=r"kernel must be a number above 0, or one for each of 2 axes, got \(3, 3, 3\)"
    ):
        Conv2d(4, 6, (3, 3, 3))
    with pytest.raises(ValueError, match=r"stride must be a number above 0, .* got 0; try stride=\(1, 1\)"):
        Conv2d(4, 6, stride=0)
    with pytest.raises(ValueError, match=r"1 to 3 axes, got \(3, 3\); for one filter of an image use weight\[None"):
        cross_correlate_grid(torch.zeros(1, 5, 5), torch.zeros(3, 3))
