"""The LSTM's weights: the forget gate begins open."""

from cutaway.blocks import LSTM


def test_the_forget_gate_begins_open():
    for coupled in (False, True):
        layer = LSTM(3, 5, coupled=coupled)
        bias = layer.layers[0]["forwards"].map_input.bias.view(-1, 5)
        assert (bias == 1).all(1).tolist() == ([True, False, False] if coupled else [False, True, False, False])
