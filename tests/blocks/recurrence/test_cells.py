"""What taps of a cell show: one tensor (batch, steps, width) for each value, 0 where padded."""

import pytest
import torch

import cutaway as cut
from cutaway.blocks import GRU, LSTM, RNN


@pytest.mark.parametrize("layer", [RNN(3, 5, 2, True), LSTM(3, 5, 2, True), GRU(3, 5, 2, True)])
def test_a_trace_gives_one_tensor_for_each_value(layer):
    x, lengths = torch.randn(4, 7, 3), torch.tensor([3, 7, 1, 6])
    plain, _ = layer(x, lengths=lengths)
    names = layer.layers[0]["forwards"].names
    with cut.trace(layer, [f"layers.*.*.{name}" for name in names]) as seen:
        read, _ = layer(x, lengths=lengths)
    assert torch.equal(plain, read)
    assert len(seen) == 4 * len(names)
    padded = torch.arange(7) >= lengths[:, None]
    for value in seen.values():
        assert value.shape == (4, 7, 5)
        assert (value[padded] == 0).all()
        assert (value[~padded] != 0).any()
    both = torch.cat([seen["layers.1.forwards.hidden"], seen["layers.1.backwards.hidden"]], -1)
    torch.testing.assert_close(both, plain)
