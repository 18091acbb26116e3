"""Convolution over time: the notes' numbers, torch.nn.Conv1d, NumPy's padding, rows of different lengths, messages."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import cutaway as cut
from cutaway.blocks import Conv1d, convolve, cross_correlate, cross_correlate_open, max_pool_steps, step_mask
from cutaway.blocks.convolution.one_dimensional import output_lengths, pad_steps

PADDINGS = ("valid", "same", "reflect", "causal")
WAYS = [cross_correlate, cross_correlate_open]
HILL = torch.tensor([0.0, 1, 2, 4, 8, 4, 2, 1, 0])[:, None]
EDGE = torch.tensor([1.0, 0, -1])[None, None]


@pytest.mark.parametrize("way", WAYS)
def test_the_notes_edge_filter(way):
    """N3 §6.1: (1 0 −1) over a hill, same padding."""
    assert way(HILL, EDGE).flatten().tolist() == [-1, -2, -3, -6, 0, 6, 3, 2, 1]
    assert convolve(HILL, EDGE).flatten().tolist() == [1, 2, 3, 6, 0, -6, -3, -2, -1]
    assert way(HILL, EDGE, padding="valid").flatten().tolist() == [-2, -3, -6, 0, 6, 3, 2]  # 9 − 3 + 1 of them
    assert way(HILL, EDGE, padding="causal").flatten().tolist() == [0, -1, -2, -3, -6, 0, 6, 3, 2]
    assert way(HILL, EDGE, padding="reflect").flatten().tolist() == [0, -2, -3, -6, 0, 6, 3, 2, 0]
    assert way(HILL, EDGE, padding="valid", stride=3).flatten().tolist() == [-2, 0, 2]
    assert way(HILL, EDGE, torch.tensor([10.0]), "valid", dilation=4).flatten().tolist() == [10.0]


def test_convolution_commutes_and_cross_correlation_does_not(float64):
    x, w = torch.randn(7, 1), torch.randn(1, 1, 7)
    turned = w.reshape(7, 1), x.reshape(1, 1, 7)
    torch.testing.assert_close(convolve(x, w), convolve(*turned))
    assert not torch.allclose(cross_correlate(x, w), cross_correlate(*turned))
    whole = np.convolve(x.flatten(), w.flatten(), "same")
    torch.testing.assert_close(convolve(x, w).flatten(), torch.from_numpy(whole))


@pytest.mark.filterwarnings("ignore:Using padding=.same.")  # torch copies the input for even kernels
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("kernel", "dilation", "groups"), [(1, 1, 1), (2, 1, 3), (3, 2, 1), (5, 3, 3), (4, 2, 1)])
def test_equal_to_torch(float64, padding, kernel, dilation, groups):
    ours = Conv1d(6, 9, kernel, padding, dilation=dilation, groups=groups)
    theirs = nn.Conv1d(6, 9, kernel, padding=padding, dilation=dilation, groups=groups)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 17, 6)
    torch.testing.assert_close(ours(x), theirs(x.mT).mT, rtol=1e-12, atol=1e-12)


@given(st.sampled_from(PADDINGS), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 2]))
def test_both_paths_are_equal_gradients_too(padding, kernel, stride, dilation, groups):
    torch.manual_seed(kernel)
    x, lengths = torch.randn(2, 3, 11, 4, dtype=torch.float64), torch.tensor([[11, 1, 0], [5, 10, 3]])
    weight, bias = torch.randn(6, 4 // groups, kernel, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    results = []
    for way in WAYS:
        inputs = [v.clone().requires_grad_() for v in (x, weight, bias)]
        y = way(*inputs, padding, stride, dilation, groups, lengths)
        results.append([y, *torch.autograd.grad((y * y.detach().cos()).sum(), inputs)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 1, 1), (4, 2, 1), (3, 3, 2)])
def test_a_padded_row_is_treated_as_if_it_came_alone(float64, padding, kernel, stride, dilation):
    conv = Conv1d(3, 5, kernel, padding, stride, dilation)
    lengths = torch.tensor([11, 7, 4, 1, 0])
    x = torch.randn(5, 11, 3)
    x[~step_mask(lengths, 11)] = torch.nan  # whatever lies after the end
    y, outputs = conv(x, lengths), conv.output_lengths(lengths)
    for row, n, m in zip(range(5), lengths.tolist(), outputs.tolist(), strict=True):
        if m:
            torch.testing.assert_close(y[row, :m], conv(x[row, :n]))
        assert not y[row, m:].any()
    torch.testing.assert_close(conv(x[:1], lengths[:1]), conv(x[:1]))


@given(st.integers(1, 6), st.integers(1, 12))
def test_mirrored_as_numpy_does(steps, kernel):
    x = torch.arange(1.0, steps + 1)[:, None]
    front = (kernel - 1) // 2
    expected = np.pad(np.arange(1.0, steps + 1), (front, kernel - 1 - front), "reflect")
    assert pad_steps(x, kernel, "reflect").flatten().tolist() == expected.tolist()


def test_causal_outputs_read_nothing_later(float64):
    conv, x = Conv1d(2, 3, 3, "causal", dilation=2), torch.randn(9, 2, requires_grad=True)
    for t in range(9):
        (gradient,) = torch.autograd.grad(conv(x)[t].sum(), x)
        read = gradient.abs().sum(1).nonzero().flatten().tolist()
        assert read == [s for s in (t - 4, t - 2, t) if s >= 0]


def test_shifts_pass_through(float64):
    """Translation equivariance for stride 1, away from the borders."""
    conv, x = Conv1d(2, 3, 5), torch.randn(20, 2)
    torch.testing.assert_close(conv(x.roll(3, 0))[5:-2], conv(x)[2:-5])


def test_the_output_can_be_read_and_edited(float64):
    conv, x = Conv1d(2, 3), torch.randn(4, 7, 2)
    with cut.trace(conv, "output") as seen:
        y = conv(x)
    assert torch.equal(seen["output"], y)
    with cut.patch(conv, {"output": lambda v: v * 0}):
        assert not conv(x).any()


def test_repr():
    assert Conv1d(2, 4, 5, "causal", dilation=2, bias=False).extra_repr() == (
        "2 → 4, kernel=5, causal, dilation=2, no bias"
    )


def test_lengths_of_outputs():
    for padding in PADDINGS:
        for stride in (1, 2, 3):
            counted = [Conv1d(1, 1, 3, padding, stride)(torch.zeros(t, 1)).shape[0] for t in range(3, 9)]
            assert output_lengths(torch.arange(3, 9), 3, padding, stride).tolist() == counted


@pytest.mark.untyped
def test_messages():
    conv = Conv1d(4, 6, 3, "valid")
    with pytest.raises(ValueError, match=r"last axis of x must have width 4, got shape \(5, 3\)"):
        conv(torch.zeros(5, 3))
    with pytest.raises(ValueError, match=r"x must have shape \(..., steps, channels\), got \(4,\)"):
        conv(torch.zeros(4))
    with pytest.raises(
        ValueError, match=r"at least 3 steps for a kernel of 3 .* got shape \(2, 4\); use padding='same'"
    ):
        conv(torch.zeros(2, 4))
    with pytest.raises(ValueError, match=r"at least 1 steps .* leave empty sequences out"):
        Conv1d(4, 6)(torch.zeros(2, 0, 4))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        conv(torch.zeros(5, 4, dtype=torch.long))
    with pytest.raises(
        ValueError, match=r"lengths must be whole numbers of shape \(2,\).*got torch.float32 of shape \(2,\)"
    ):
        conv(torch.zeros(2, 5, 4), torch.ones(2))
    with pytest.raises(ValueError, match=r"one for each sequence, got torch.int64 of shape \(3,\)"):
        conv(torch.zeros(2, 5, 4), torch.ones(3, dtype=torch.long))
    with pytest.raises(
        ValueError, match=r"multiples of groups, got inputs=4, outputs=6, groups=4; try groups=1 or groups=2"
    ):
        Conv1d(4, 6, groups=4)
    with pytest.raises(ValueError, match=r"padding must be one of valid, same, reflect, causal, got 'full'"):
        Conv1d(4, 6, padding="full")
    with pytest.raises(ValueError, match=r"kernel must be above 0, got 0"):
        Conv1d(4, 6, 0)


@pytest.mark.untyped
def test_lengths_of_any_kind_and_an_empty_batch():
    conv, x = Conv1d(4, 6), torch.randn(2, 5, 4)
    want = conv(x, torch.tensor([5, 2]))
    for lengths in ([5, 2], (5, 2), np.array([5, 2])):
        assert torch.equal(conv(x, lengths), want)
    assert torch.equal(max_pool_steps(x, lengths=[5, 2]), max_pool_steps(x, lengths=torch.tensor([5, 2])))
    assert conv(x[:0], []).shape == (0, 5, 6)
    assert cross_correlate_open(x[:0], conv.weight).shape == (0, 5, 6)
