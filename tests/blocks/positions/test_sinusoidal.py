"""Sinusoids against Hugging Face's, by hand, and by their laws: a rotation apart, and linear to read."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

import cutaway as cut
from cutaway.blocks import SinusoidalPosition, sinusoids


def test_by_hand():
    """Width 4: 10000^{2/4} = 100, so the second pair turns a hundred times slower."""
    expected = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
    torch.testing.assert_close(sinusoids(torch.tensor(3), 4), torch.tensor(expected))
    slow = [math.sin(3), math.cos(3), math.sin(3 / 7), math.cos(3 / 7)]
    torch.testing.assert_close(sinusoids(torch.tensor(3), 4, base=49.0), torch.tensor(slow))


def test_same_as_hugging_face():
    """Marian has the sines first and the cosines after them; otherwise it is the same table."""
    peer = MarianSinusoidalPositionalEmbedding(11, 6).create_weight()
    ours = sinusoids(torch.arange(11), 6)
    torch.testing.assert_close(torch.cat((ours[:, 0::2], ours[:, 1::2]), -1), peer, rtol=0, atol=1e-7)


@given(i=st.integers(0, 10**6), shift=st.integers(-(10**4), 10**4), half=st.integers(1, 20))
@settings(max_examples=30)
def test_a_shift_is_a_rotation_whatever_the_position(i: int, shift: int, half: int):
    width = 2 * half
    before, after = sinusoids(torch.tensor([i, i + shift]), width, dtype=torch.float64)
    angles = [shift / 10000 ** (2 * k / width) for k in range(half)]
    turns = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles]
    R = torch.block_diag(*(torch.tensor(turn, dtype=torch.float64) for turn in turns))
    torch.testing.assert_close(R @ R.T, torch.eye(width, dtype=torch.float64))
    torch.testing.assert_close(R @ before, after, rtol=0, atol=1e-8)


def test_products_know_the_distance_alone(float64):
    P = sinusoids(torch.arange(40), 16)
    gram = P @ P.T
    for distance in range(40):
        assert gram.diagonal(distance).std(correction=0) < 1e-12
    assert gram[0, 0].item() == pytest.approx(16 / 2)


def read_position(table: torch.Tensor, fitted: int) -> torch.Tensor:
    """The error, at each position, of the linear map that reads the first ``fitted`` of them best."""
    X = torch.cat((table, torch.ones_like(table[:, :1])), -1)
    i = torch.arange(len(table), dtype=table.dtype)
    w = torch.linalg.lstsq(X[:fitted], i[:fitted, None], driver="gelsd").solution
    return (X @ w).squeeze(-1).sub(i).abs()


@pytest.mark.parametrize("width", [64, 128, 512])
@pytest.mark.parametrize("n", [32, 512, 2048])
def test_a_linear_map_reads_the_position(width: int, n: int):
    """N3's table 1: mean absolute error 0.0 for sinusoids."""
    assert read_position(sinusoids(torch.arange(n), width, dtype=torch.float64), n).max() < 1e-6


def test_where_reading_the_position_fails():
    whole = torch.arange(2048)
    narrow = read_position(sinusoids(whole, 8, dtype=torch.float64), 2048)
    assert narrow.max() > 10  # four clocks are too few
    rough = read_position(sinusoids(whole, 64, dtype=torch.float32), 2048)
    assert rough.max() > 1e-4  # the map is ill-conditioned: float32 is not enough
    unseen = read_position(sinusoids(whole, 128, dtype=torch.float64), 1024)
    assert unseen[:1024].max() < 1e-6
    assert unseen[1024:].max() > 1  # and it holds for the positions that it was fitted to


def test_computed_in_float64_and_then_rounded():
    far = torch.tensor([10**7 + 1])
    exact = sinusoids(far, 6, dtype=torch.float64)
    assert torch.equal(sinusoids(far, 6), exact.float())
    assert torch.equal(sinusoids(far, 6, dtype=torch.bfloat16), exact.bfloat16())
    assert exact[0, 0].item() == pytest.approx(math.sin(10**7 + 1), abs=1e-9)


def test_dtype_follows_float_positions(float64):
    assert sinusoids(torch.arange(3), 4).dtype == torch.float64
    assert sinusoids(torch.arange(3).float(), 4).dtype == torch.float32
    half_way = sinusoids(torch.tensor([0.5]), 2)
    torch.testing.assert_close(half_way, torch.tensor([[math.sin(0.5), math.cos(0.5)]]))


def test_module_adds_and_knows_no_longest_sequence():
    layer, x = SinusoidalPosition(6), torch.randn(2, 5, 6)
    assert not list(layer.parameters())
    assert not layer.state_dict()
    assert torch.equal(layer(x, offset=10**6), x + sinusoids(10**6 + torch.arange(5), 6))
    steps = [layer(x[:, t : t + 1], offset=t) for t in range(5)]
    assert torch.equal(torch.cat(steps, 1), layer(x))
    late = layer(x, positions=torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]]))
    assert torch.equal(late[1, 2:], layer(x[1, 2:]))
    assert torch.equal(late[0], layer(x[0]))


def test_taps_hold_the_rows():
    layer, x = SinusoidalPosition(4), torch.randn(3, 2, 4)
    with cut.trace(layer, "rows", "output") as seen:
        y = layer(x)
    assert torch.equal(seen["rows"], sinusoids(torch.arange(2), 4))
    assert torch.equal(seen["output"], y)
    with cut.patch(layer, {"rows": 0.0}):
        assert torch.equal(layer(x), x)


def test_bad_sizes():
    with pytest.raises(ValueError, match="width must be even, got 7; try width=8"):
        SinusoidalPosition(7)
    with pytest.raises(ValueError, match="width must be even, got 5; try width=6"):
        sinusoids(torch.arange(3), 5)
    with pytest.raises(ValueError, match="base must be above 0, got -1"):
        SinusoidalPosition(4, base=-1)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"the last axis of x must have width 4, got shape \(3, 6\)"):
        SinusoidalPosition(4)(torch.zeros(3, 6))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        SinusoidalPosition(4)(torch.zeros(3, 4, dtype=torch.long))
