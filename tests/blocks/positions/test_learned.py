"""Learned positions against torch's embedding, by hand, and with a cache."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import LearnedPosition


def small() -> LearnedPosition:
    layer = LearnedPosition(4, 2)
    layer.weight.data = torch.tensor([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    return layer


def test_by_hand():
    x = torch.tensor([[0.5, 0.5], [0.25, 0.0]])
    assert torch.equal(small()(x), torch.tensor([[0.5, 0.5], [1.25, 10.0]]))
    assert torch.equal(small()(x, offset=2), torch.tensor([[2.5, 20.5], [3.25, 30.0]]))


def test_same_as_torchs_embedding(float64):
    layer, peer = LearnedPosition(11, 3), nn.Embedding(11, 3)
    layer.load_state_dict(peer.state_dict())
    x = torch.randn(2, 7, 3)
    assert torch.equal(layer(x, 4), x + peer(torch.arange(4, 11)))


def test_one_token_at_a_time_is_all_at_once():
    layer, x = LearnedPosition(7, 3), torch.randn(2, 7, 3)
    steps = [layer(x[:, t : t + 1], offset=t) for t in range(7)]
    assert torch.equal(torch.cat(steps, 1), layer(x))


def test_positions_per_example():
    """Left padding: the first real token of each example stands at position 0."""
    layer, x = LearnedPosition(5, 3), torch.randn(2, 4, 3)
    y = layer(x, positions=torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]]))
    assert torch.equal(y[0], layer(x[0]))
    assert torch.equal(y[1, 2:], layer(x[1, 2:]))
    assert torch.equal(layer(x, positions=torch.arange(1, 5)), layer(x, offset=1))


def test_taps_hold_the_rows():
    layer, x = small(), torch.randn(3, 2, 2)
    with cut.trace(layer, "rows", "output") as seen:
        y = layer(x, offset=1)
    assert torch.equal(seen["rows"], layer.weight[1:3])
    assert torch.equal(seen["output"], y)
    with cut.patch(layer, {"rows": 0.0}):
        assert torch.equal(layer(x), x)


def test_on_the_meta_device():
    with torch.device("meta"):
        layer = LearnedPosition(5, 3)
    layer.load_state_dict(LearnedPosition(5, 3).state_dict(), assign=True)
    assert layer(torch.zeros(5, 3)).device.type == "cpu"


def test_no_room():
    layer = LearnedPosition(4, 2)
    with pytest.raises(
        ValueError,
        match=r"offset \+ length must be at most context=4, got offset=0 and length=5; "
        "cut the input, or build the block with context=5",
    ):
        layer(torch.zeros(5, 2))
    with pytest.raises(ValueError, match=r"context=4, got offset=3 and length=2; .* with context=5"):
        layer(torch.zeros(2, 2), offset=3)
    with pytest.raises(ValueError, match="offset must not be negative, got -1; positions count from 0"):
        layer(torch.zeros(2, 2), offset=-1)
    with pytest.raises(ValueError, match="context must be above 0, got 0"):
        LearnedPosition(0, 2)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"the last axis of x must have width 2, got shape \(3, 5\)"):
        LearnedPosition(4, 2)(torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        LearnedPosition(4, 2)(torch.zeros(3, 2, dtype=torch.long))


@pytest.mark.slow
@pytest.mark.untyped
def test_compiles_for_every_offset():
    layer, x = LearnedPosition(9, 3), torch.randn(2, 1, 3)
    fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for offset in (0, 3, 8):
        assert torch.equal(fast(x, offset), layer(x, offset))
