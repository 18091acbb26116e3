"""States are tuples with names, and hold the thought vector."""

import torch

from cutaway.blocks import LSTMState


def test_thought_is_the_last_layers_hidden_state_of_both_directions():
    hidden = torch.arange(2 * 3 * 2 * 5.0).view(2, 3, 2, 5)
    thought = LSTMState(hidden, torch.zeros_like(hidden)).thought
    assert torch.equal(thought, torch.cat([hidden[:, 2, 0], hidden[:, 2, 1]], -1))
