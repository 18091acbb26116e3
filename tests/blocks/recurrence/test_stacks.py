"""RNN, LSTM and GRU against torch.nn: stacked, in both directions, of any lengths, step by step."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import cutaway as cut
from cutaway.blocks import GRU, LSTM, RNN

FAMILIES = {RNN: nn.RNN, LSTM: nn.LSTM, GRU: nn.GRU}


def as_torchs(layer):
    """The same net as a module of torch.nn."""
    peer = FAMILIES[type(layer)](
        layer.inputs, layer.width, layer.depth, batch_first=True, bidirectional=layer.bidirectional
    )
    peer.load_state_dict(layer.torch_weights())
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


REFUSALS = [
    (lambda: LSTM(3, 5)(torch.randn(2, 0, 3)), r"a sequence must have at least one step, got shape \(2, 0, 3\)"),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 4)), r"the last axis of x must have width 3, got shape \(2, 7, 4\)"),
    (lambda: LSTM(3, 5)(torch.randn(3)), r"x must have shape \(..., steps, inputs\), got \(3,\); for one step use"),
    (lambda: LSTM(3, 5)(torch.ones(2, 7, 3, dtype=torch.long)), r"x must be a float tensor, got torch.int64"),
    (
        lambda: LSTM(3, 5)(torch.randn(2, 7, 3).double()),
        r"of the weights, torch.float32, got torch.float64",
    ),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 3), torch.zeros(2, 5)), r"must be the tuple \(hidden, cell\), got Tensor"),
    (
        lambda: LSTM(3, 5)(torch.randn(2, 7, 3), GRU(3, 5).initial_state(2)),
        r"the state of LSTM must be the tuple \(hidden, cell\), got 1 parts",
    ),
    (
        lambda: GRU(3, 5)(torch.randn(2, 7, 3), GRU(3, 5).initial_state(4)),
        r"state.hidden must have shape \(2, 1, 1, 5\) \(batch, depth, directions, width\), got \(4, 1, 1, 5\)",
    ),
    (
        lambda: GRU(3, 5)(torch.randn(2, 7, 3), lengths=torch.tensor([0, 7])),
        "a sequence must have at least one step, got a length of 0",
    ),
    (
        lambda: GRU(3, 5)(torch.randn(2, 7, 3), lengths=torch.tensor([3, 8])),
        "lengths must be at most the number of steps, 7, got 8",
    ),
    (
        lambda: GRU(3, 5)(torch.randn(2, 7, 3), lengths=torch.ones(2, 7, dtype=torch.bool)),
        r"whole numbers of shape \(2,\), one for each sequence, got torch.bool of shape \(2, 7\)",
    ),
    (lambda: GRU(3, 5)(torch.randn(2, 7, 3), lengths=[3, 8]), "lengths must be at most the number of steps, 7, got 8"),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 3), lengths=[3, 0]), "at least one step, got a length of 0"),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 3), lengths=[3.5, 7]), r"whole numbers of shape \(2,\).*got torch.float32"),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 3), lengths=7), r"one for each sequence, got 7; for a mask"),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 3), lengths="37"), r"one for each sequence, got '37'"),
    (lambda: LSTM(3, 5)(torch.randn(2, 7, 3), lengths=[[3], [7, 1]]), r"one for each sequence, got type list"),
    (lambda: LSTM(3, 5)(torch.randn(0, 0, 3)), r"at least one step, got shape \(0, 0, 3\)"),
    (lambda: RNN(3, 5, bidirectional=True).step(torch.randn(2, 3)), "reads the whole sequence before its first output"),
    (lambda: RNN(3, 0), "width must be above 0, got 0"),
    (lambda: RNN(3, 5, dropout=20), "dropout must be a probability from 0 to 1, got 20"),
]


@pytest.mark.untyped
@pytest.mark.parametrize(("call", "message"), REFUSALS)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("family", FAMILIES)
def test_any_leading_axes(family, float64):
    layer = family(3, 5, 2, True)
    x, lengths = torch.randn(2, 4, 7, 3), torch.tensor([[3, 7, 1, 6], [7, 7, 2, 1]])
    y, state = layer(x, lengths=lengths)
    assert y.shape == (2, 4, 7, 10)
    assert state.hidden.shape == (2, 4, 2, 2, 5)
    for i, j in [(0, 2), (1, 3)]:
        n = lengths[i, j]
        alone, end = layer(x[i, j, :n])
        torch.testing.assert_close(y[i, j, :n], alone)
        torch.testing.assert_close(state.hidden[i, j], end.hidden)


def test_dropout_acts_between_layers_in_training_alone():
    layer, x = LSTM(3, 50, 2, dropout=0.5), torch.randn(2, 7, 3)
    layer.eval()
    whole, _ = layer(x)
    assert torch.equal(layer(x)[0], whole)
    layer.train()
    torch.manual_seed(0)
    dropped, _ = layer(x)
    assert not torch.equal(dropped, whole)
    assert (dropped != 0).all()  # nothing is dropped after the last layer


@pytest.mark.parametrize("family", FAMILIES)
def test_on_the_meta_device_and_as_a_copy(family):
    with torch.device("meta"):
        y, state = family(3, 5, 2, True)(torch.randn(2, 7, 3))
    assert (y.shape, y.device.type, state.hidden.shape) == ((2, 7, 10), "meta", (2, 2, 2, 5))
    layer, x = family(3, 5), torch.randn(2, 7, 3)
    assert torch.equal(copy.deepcopy(layer)(x)[0], layer(x)[0])


def test_a_carried_state_is_the_whole_sequence(float64):
    layer, x = GRU(3, 5, 2), torch.randn(2, 9, 3)
    whole, end = layer(x)
    first, state = layer(x[:, :4])
    second, state = layer(x[:, 4:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(state, end)


KINDS = [(RNN, {}), (LSTM, {}), (LSTM, {"peephole": True}), (LSTM, {"coupled": True}), (GRU, {})]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("family", "options"), KINDS)
def test_an_empty_batch_gives_empty_outputs_and_gradients(family, options, dtype):
    for both in (False, True):
        layer = family(3, 5, 2, both, **options).to(dtype)
        for shape, lengths in (((0, 7, 3), None), ((0, 7, 3), []), ((2, 0, 7, 3), None), ((1, 0, 7, 3), [[]])):
            x = torch.randn(shape, dtype=dtype, requires_grad=True)
            y, state = layer(x, lengths=lengths)
            assert y.shape == (*shape[:-1], 5 * layer.directions)
            assert all(part.shape == (*shape[:-2], 2, layer.directions, 5) for part in state)
            sum(part.sum() for part in (y, *state)).backward()
            assert x.grad.shape == x.shape
        with cut.trace(layer, "**") as seen:
            layer(x)
        assert seen["layers.1.forwards.hidden"].shape == (0, 7, 5)
    layer = family(3, 5, **options).to(dtype)
    assert layer.step(torch.randn(0, 3, dtype=dtype))[0].shape == (0, 5)


@pytest.mark.parametrize("family", [RNN, LSTM, GRU])
def test_lengths_may_be_a_list_or_an_array(family):
    layer, x = family(3, 5, bidirectional=True), torch.randn(2, 7, 3)
    want, end = layer(x, lengths=torch.tensor([7, 2]))
    plain = [[7, 2], (7, 2), range(7, 1, -5), [torch.tensor(7), np.int64(2)]]
    arrays = [np.array([7, 2], dtype) for dtype in ("i1", "i4", "i8", "u2", "u4", "u8", ">i4")]
    tensors = [torch.tensor([7, 2], dtype=dtype) for dtype in (torch.int8, torch.uint8, torch.int32, torch.uint16)]
    for given in plain + arrays + tensors:
        found, state = layer(x, lengths=given)
        assert torch.equal(found, want)
        assert all(torch.equal(a, b) for a, b in zip(state, end, strict=True))
    nested, _ = layer(x[:, None], lengths=[[7], [2]])
    assert torch.equal(nested[:, 0], want)


@pytest.mark.untyped
@pytest.mark.parametrize("lengths", [[7, 2], np.array([7, 2])])
def test_a_compiled_layer_takes_lengths_as_a_list(lengths):
    layer, x = LSTM(3, 5), torch.randn(2, 7, 3)
    torch._dynamo.reset()
    fast, _ = torch.compile(layer, backend="aot_eager", fullgraph=True)(x, lengths=lengths)
    torch.testing.assert_close(fast, layer(x, lengths=lengths)[0])
    assert torch.compile(layer, backend="aot_eager", fullgraph=True)(x[:0])[0].shape == (0, 7, 5)
