"""The simple recurrent net by hand."""

import math

import pytest
import torch

from cutaway.blocks import RNN


def test_two_steps_by_hand():
    rnn = RNN(1, 1)
    cell = rnn.layers[0]["forwards"]
    with torch.no_grad():
        cell.map_input.weight.fill_(2.0), cell.map_input.bias.fill_(0.5), cell.map_hidden.weight.fill_(-1.0)
    y, state = rnn(torch.tensor([[[1.0], [3.0]]]))
    first = math.tanh(2.5)
    second = math.tanh(6.5 - first)
    torch.testing.assert_close(y, torch.tensor([[[first], [second]]]))
    torch.testing.assert_close(state.hidden, torch.tensor([[[[second]]]]))


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="activation must be one of tanh, relu, got 'sine'"):
        RNN(3, 5, activation="sine")
