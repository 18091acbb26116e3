"""Bahdanau's decoder against its equation with a loop of torch.nn's cells; alignment, steps, edits."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import AdditiveDecoder

MASK = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]


def by_torchs_cells(decoder, x, memory, mask):
    """The same decoder as torch.nn would write it: one cell over [x c], its input weights one above the other."""
    kind = {"LSTMCell": nn.LSTMCell, "GRUCell": nn.GRUCell, "RNNCell": nn.RNNCell}[type(decoder.cell).__name__]
    peer = kind(decoder.inputs + decoder.memory_width, decoder.width)
    with torch.no_grad():
        peer.weight_ih.copy_(torch.cat([decoder.cell.map_input.weight, decoder.map_context.weight]).T)
        peer.weight_hh.copy_(decoder.cell.map_hidden.weight.T)
        peer.bias_ih.copy_(decoder.cell.map_input.bias)
        peer.bias_hh.zero_()
        if kind is nn.GRUCell:
            peer.bias_hh[-decoder.width :] = decoder.cell.candidate_bias
    s = torch.tanh(decoder.map_first(memory[:, 0]))
    c, outputs = torch.zeros_like(s), []
    for t in range(x.shape[1]):
        e = torch.stack(
            [
                torch.tanh(decoder.map_query(s) + decoder.map_keys(memory[:, j])) @ decoder.map_scores.weight[:, 0]
                for j in range(memory.shape[1])
            ],
            1,
        )
        α = torch.softmax(torch.where(mask, e, -torch.inf), 1)
        given = torch.cat([x[:, t], (α[..., None] * memory).sum(1)], 1)
        if kind is nn.LSTMCell:
            s, c = peer(given, (s, c))
        else:
            s = peer(given, s)
        outputs.append(s)
    return torch.stack(outputs, 1)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_is_the_equation_with_torchs_cells(cell, float64):
    decoder = AdditiveDecoder(3, 7, 11, hidden=13, cell=cell)
    x, memory = torch.randn(3, 6, 3), torch.randn(3, 5, 11)
    torch.testing.assert_close(decoder(x, memory, MASK).outputs, by_torchs_cells(decoder, x, memory, MASK))


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_step_by_step_is_the_whole_pass(cell, float64):
    decoder = AdditiveDecoder(3, 7, 11, cell=cell)
    x, memory = torch.randn(3, 6, 3), torch.randn(3, 5, 11)
    whole = decoder(x, memory, MASK)
    source, state = decoder.prepare(memory, MASK), None
    for t in range(6):
        y = decoder.step(x[:, t], source, state)
        state = y.state
        torch.testing.assert_close(y.outputs, whole.outputs[:, t])
        torch.testing.assert_close(y.contexts, whole.contexts[:, t])
    torch.testing.assert_close(state, whole.state)


def test_alignment_is_seen_and_can_be_set():
    decoder, x, memory = AdditiveDecoder(3, 7, 11), torch.randn(3, 6, 3), torch.randn(3, 5, 11)
    plain = decoder(x, memory, MASK)
    with cut.trace(decoder, "weights", "context", "cell.forget_gate") as seen:
        read = decoder(x, memory, MASK)
    assert torch.equal(read.outputs, plain.outputs)
    assert seen["weights"].shape == (3, 1, 6, 5)
    assert seen["cell.forget_gate"].shape == (3, 6, 7)
    torch.testing.assert_close(seen["weights"].sum(-1), torch.ones(3, 1, 6))
    assert (seen["weights"].masked_select(~MASK[:, None, None]) == 0).all()
    assert torch.equal(seen["context"], plain.contexts)
    first = torch.tensor([1.0, 0, 0, 0, 0])
    with cut.patch(decoder, {"weights": first}):
        edited = decoder(x, memory, MASK)
    torch.testing.assert_close(edited.contexts, memory[:, :1].expand(3, 6, 11))


def test_the_order_of_the_source_does_not_matter_but_for_the_first_state(float64):
    """Attention sees a set: with s⁽⁰⁾ given, a permuted source gives the same words."""
    decoder, x, memory = AdditiveDecoder(3, 7, 11), torch.randn(3, 6, 3), torch.randn(3, 5, 11)
    state = decoder.first_state(decoder.prepare(memory))
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(
        decoder(x, memory, state=state).outputs, decoder(x, memory[:, order], state=state).outputs
    )


@pytest.mark.untyped
def test_refusals():
    decoder, x, memory = AdditiveDecoder(3, 7, 11), torch.randn(3, 6, 3), torch.randn(3, 5, 11)
    with pytest.raises(ValueError, match=r"mask must have the shape of the source, \(3, 5\), got \(3, 6\)"):
        decoder(x, memory, torch.ones(3, 6, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"with at least one state, got \(3, 0, 11\)"):
        decoder(x, memory[:, :0])
    with pytest.raises(ValueError, match=r"the source's batch of 3, got \(2, 6, 3\)"):
        decoder(x[:2], memory)
    with pytest.raises(ValueError, match="cell must be one of lstm, gru, rnn, got 'tree'"):
        AdditiveDecoder(3, 7, 11, cell="tree")
