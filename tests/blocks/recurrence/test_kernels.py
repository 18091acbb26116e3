"""The fused kernels against the equations step by step: outputs, states, gradients, second gradients, compiled."""

import pytest
import torch

import cutaway as cut
from cutaway.blocks import GRU, LSTM, RNN
from cutaway.blocks.recurrence.gru_kernel import gru_forward
from cutaway.blocks.recurrence.lstm_kernel import lstm_forward
from cutaway.blocks.recurrence.rnn_kernel import rnn_forward

LAYERS = {
    "rnn": lambda **how: RNN(3, 5, **how),
    "relu": lambda **how: RNN(3, 5, activation="relu", **how),
    "lstm": lambda **how: LSTM(3, 5, **how),
    "peephole": lambda **how: LSTM(3, 5, peephole=True, **how),
    "coupled": lambda **how: LSTM(3, 5, coupled=True, **how),
    "coupled peephole": lambda **how: LSTM(3, 5, peephole=True, coupled=True, **how),
    "gru": lambda **how: GRU(3, 5, **how),
}


def results(layer, x, state, lengths, written_out):
    """Outputs, last state, and the gradients of everything, by the fused path or by the written-out one."""
    leaves = [part.clone().requires_grad_() for part in (x, *state)]
    given = (leaves[0], type(state)(*leaves[1:]), lengths)
    if written_out:  # an edit that changes nothing takes the equation step by step
        with cut.patch(layer, {"layers.*.*.hidden": lambda z: z}):
            y, end = layer(*given)
    else:
        y, end = layer(*given)
    torch.manual_seed(3)
    loss = sum((part * torch.randn_like(part)).sum() for part in (y, *end))
    return y, *end, *torch.autograd.grad(loss, [*leaves, *layer.parameters()])


@pytest.mark.parametrize("ragged", [False, True], ids=["whole", "ragged"])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_fused_is_written_out(make, bidirectional, ragged, float64):
    layer = make(depth=2, bidirectional=bidirectional)
    x, lengths = torch.randn(4, 7, 3), torch.tensor([3, 7, 1, 6]) if ragged else None
    state = layer.State(*(torch.randn_like(part) for part in layer.initial_state(4)))
    for ours, theirs in zip(
        results(layer, x, state, lengths, False), results(layer, x, state, lengths, True), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_second_gradients(make, float64):
    """A gradient penalty differentiates twice: through the equation, since kernels know their first gradient alone."""
    layer, lengths = make(), torch.tensor([4, 2])

    def penalised(x):
        y, _ = layer(x, lengths=lengths)
        return y

    assert torch.autograd.gradgradcheck(penalised, torch.randn(2, 4, 3, requires_grad=True))


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_frozen_weights_and_no_gradients(make):
    layer, x = make(depth=2), torch.randn(2, 7, 3)
    free, _ = layer(x)
    layer.requires_grad_(False)
    frozen, _ = layer(x.requires_grad_())
    frozen.sum().backward()
    assert x.grad is not None
    with torch.inference_mode():
        alone, _ = layer(x)
    for y in (frozen, alone):
        torch.testing.assert_close(y, free)


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_inside_torch_func(make):
    """Transforms take the written-out equation."""
    layer, x = make().double(), torch.randn(4, 2, 7, 3, dtype=torch.float64)
    y, _ = layer(x)
    torch.testing.assert_close(torch.vmap(lambda x: layer(x)[0])(x), y)
    gradient = torch.func.grad(lambda x: layer(x)[0].square().sum())(x)
    x.requires_grad_()
    torch.testing.assert_close(gradient, torch.autograd.grad(layer(x)[0].square().sum(), x)[0])
    tangent = torch.ones_like(x[0])
    _, forward = torch.func.jvp(lambda x: layer(x)[0].square().sum(), (x[0].detach(),), (tangent,))
    torch.testing.assert_close(forward, (gradient[0] * tangent).sum())


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_autocast_keeps_the_states_in_full_precision(make):
    layer, x = make(depth=2), torch.randn(2, 7, 3)
    y, _ = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        half, state = layer(x)
        half.sum().backward()
    assert half.dtype == state.hidden.dtype == torch.float32
    torch.testing.assert_close(half, y, atol=0.05, rtol=0.05)


@pytest.mark.untyped
@pytest.mark.parametrize("make", [LAYERS["lstm"], LAYERS["gru"]])
def test_compiles_whole_with_its_backward(make):
    layer, x = make(depth=2, bidirectional=True), torch.randn(4, 7, 3)
    lengths = torch.tensor([3, 7, 1, 6])

    def gradients(f):
        y, state = f(x, lengths=lengths)
        return torch.autograd.grad(y.square().sum() + state.hidden.sum(), list(layer.parameters()))

    torch._dynamo.reset()
    compiled = gradients(torch.compile(layer, fullgraph=True, backend="aot_eager"))
    for ours, theirs in zip(compiled, gradients(layer), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("masked", [False, True])
def test_operators_keep_the_rules_of_the_dispatcher(masked):
    """torch.library.opcheck: schema, fake tensors, autograd registration."""
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[[True], [True]], [[True], [False]], [[True], [False]]]) if masked else None
    tests = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(rnn_forward, (draw(3, 2, 5), draw(5, 5), draw(2, 5), mask, False, True), test_utils=tests)
    torch.library.opcheck(gru_forward, (draw(3, 2, 15), draw(5, 15), draw(5), draw(2, 5), mask, True), test_utils=tests)
    args = (draw(3, 2, 7), draw(7, 20), draw(20), draw(5, 20), draw(3, 5), draw(2, 5), draw(2, 5), mask, False, True)
    torch.library.opcheck(lstm_forward, args, test_utils=tests)


@pytest.mark.parametrize("coupled", [False, True])
def test_a_peephole_lstm_in_half_precision_keeps_its_state_in_single(coupled):
    torch.manual_seed(0)
    layer, x = LSTM(6, 16, peephole=True, coupled=coupled), torch.randn(4, 50, 6)
    exact, _ = layer(x)
    y, state = layer.bfloat16()(x.bfloat16())
    assert y.dtype == state.cell.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), exact, atol=0.01, rtol=0.01)
    y.sum().backward()
    assert all(p.grad.dtype == torch.bfloat16 and p.grad.isfinite().all() for p in layer.parameters())


def test_inputs_that_want_no_gradient_get_none():
    layer, x = LSTM(3, 4, peephole=True), torch.randn(2, 5, 3)
    layer(x)[0].sum().backward()
    wanted = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    layer(x.requires_grad_())[0].sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0
    for found, p in zip(wanted, layer.parameters(), strict=True):
        assert torch.equal(found, p.grad)
