"""RNN, LSTM and GRU against torch.nn: stacked, in both directions, of any lengths, step by step."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from cutaway.blocks import GRU, LSTM, RNN

FAMILIES = {RNN: nn.RNN, LSTM: nn.LSTM, GRU: nn.GRU}


def as_torchs(layer):
    """The same net as a module of torch.nn."""
    peer = FAMILIES[type(layer)](
        layer.inputs, layer.width, layer.depth, batch_first=True, bidirectional=layer.bidirectional
    )
    with torch.no_grad():
        for i, cells in enumerate(layer.layers):
            for cell, end in zip(cells.values(), ("", "_reverse")):
                getattr(peer, f"weight_ih_l{i}{end}").copy_(cell.map_input.weight.T)
                getattr(peer, f"weight_hh_l{i}{end}").copy_(cell.map_hidden.weight.T)
                getattr(peer, f"bias_ih_l{i}{end}").copy_(cell.map_input.bias)
                getattr(peer, f"bias_hh_l{i}{end}").zero_()
                if isinstance(layer, GRU):
                    getattr(peer, f"bias_hh_l{i}{end}")[-layer.width :] = cell.candidate_bias
    return peer


def as_torchs_state(state):
    """(b, depth, directions, width) as torch has it, (depth · directions, b, width)."""
    parts = tuple(part.flatten(1, 2).transpose(0, 1).contiguous() for part in state)
    return parts if len(parts) == 2 else parts[0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_is_torchs(family, depth, bidirectional, float64):
    layer = family(3, 5, depth, bidirectional)
    x = torch.randn(2, 7, 3)
    state = type(layer.initial_state(2))(*(torch.randn_like(part) for part in layer.initial_state(2)))
    theirs, their_state = as_torchs(layer)(x, as_torchs_state(state))
    ours, our_state = layer(x, state)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(as_torchs_state(our_state), their_state)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_lengths_are_torchs_packed_sequences(family, bidirectional, float64):
    layer = family(3, 5, 2, bidirectional)
    x, lengths = torch.randn(4, 7, 3), torch.tensor([3, 7, 1, 6])
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    theirs, their_state = as_torchs(layer)(packed)
    ours, our_state = layer(x, lengths=lengths)
    torch.testing.assert_close(ours, pad_packed_sequence(theirs, batch_first=True)[0])
    torch.testing.assert_close(as_torchs_state(our_state), their_state)


@pytest.mark.parametrize("layer", [RNN(3, 5, 2), LSTM(3, 5, 2), LSTM(3, 5, peephole=True, coupled=True), GRU(3, 5, 2)])
def test_step_by_step_is_the_whole_pass(layer):
    layer.double()
    x = torch.randn(2, 7, 3, dtype=torch.float64)
    whole, end = layer(x)
    state = None
    for t in range(7):
        y, state = layer.step(x[:, t], state)
        torch.testing.assert_close(y, whole[:, t])
    torch.testing.assert_close(state, end)


@pytest.mark.parametrize("family", FAMILIES)
def test_thought_is_the_last_output(family):
    layer = family(3, 5, 2)
    y, state = layer(torch.randn(2, 7, 3))
    assert torch.equal(state.thought, y[:, -1])
    _, state = family(3, 5, 2, True)(torch.randn(2, 7, 3))
    assert state.thought.shape == (2, 10)
