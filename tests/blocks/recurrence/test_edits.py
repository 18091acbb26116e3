"""Holding gates: an edit acts at every step and reaches all later ones; gradients of gates; what is refused."""

import pytest
import torch

import cutaway as cut
from cutaway.blocks import GRU, LSTM

CELL = "layers.0.forwards"


def test_a_forget_gate_held_open_and_an_input_gate_held_shut_keep_the_cell():
    lstm = LSTM(3, 5)
    state = lstm.State(torch.zeros(2, 1, 1, 5), torch.randn(2, 1, 1, 5))
    with (
        cut.patch(lstm, {f"{CELL}.forget_gate": 1.0, f"{CELL}.input_gate": 0.0}),
        cut.trace(lstm, f"{CELL}.*") as seen,
    ):
        _, end = lstm(torch.randn(2, 7, 3), state)
    assert torch.equal(end.cell, state.cell)
    assert torch.equal(seen[f"{CELL}.cell"], state.cell[:, 0].expand(2, 7, 5))
    assert (seen[f"{CELL}.forget_gate"] == 1).all()


def test_an_update_gate_held_open_keeps_the_state():
    gru = GRU(3, 5)
    state = gru.State(torch.randn(2, 1, 1, 5))
    with cut.patch(gru, {f"{CELL}.update_gate": torch.ones(5)}):
        y, end = gru(torch.randn(2, 7, 3), state)
    torch.testing.assert_close(end.hidden, state.hidden)
    torch.testing.assert_close(y, state.hidden[:, 0].expand(2, 7, 5))


@pytest.mark.parametrize("where", ["forwards", "backwards"])
def test_an_edit_of_one_step_reaches_it_and_all_after_it(where):
    lstm, x = LSTM(3, 5, bidirectional=True), torch.randn(2, 7, 3)
    part = slice(0, 5) if where == "forwards" else slice(5, 10)
    plain, _ = lstm(x)
    with cut.patch(lstm, {f"layers.0.{where}.cell": lambda c: c.index_fill(1, torch.tensor([3]), 2.0)}):
        edited, _ = lstm(x)
    changed = (plain[..., part] - edited[..., part]).abs().amax((0, 2)) > 1e-4
    assert changed.tolist() == [t >= 3 if where == "forwards" else t <= 3 for t in range(7)]


def test_an_edit_sees_what_came_before():
    """Freezing a gate at its value of step 2."""
    lstm, x = LSTM(3, 5), torch.randn(2, 7, 3)
    freeze = lambda f: torch.cat([f[:, :3], f[:, 2:3].expand(-1, 4, -1)], 1)
    with cut.trace(lstm, f"{CELL}.forget_gate") as plain:
        lstm(x)
    with cut.patch(lstm, {f"{CELL}.forget_gate": freeze}), cut.trace(lstm, f"{CELL}.forget_gate") as seen:
        lstm(x)
    torch.testing.assert_close(seen[f"{CELL}.forget_gate"], freeze(plain[f"{CELL}.forget_gate"]))


def test_gradients_of_a_gate_are_finite_differences(float64):
    """∂loss/∂f⁽ᵗ⁾ with all that follows from it; and a loss on what was read reaches the weights."""
    lstm, x = LSTM(3, 5), torch.randn(2, 7, 3)
    address = f"{CELL}.forget_gate"
    loss = lambda: lstm(x)[0].square().sum()
    with cut.trace(lstm, address, gradients=True) as seen:
        loss().backward()
    nudge = torch.zeros(2, 7, 5)
    for place in [(0, 0, 0), (1, 3, 4), (0, 6, 2)]:
        nudge.zero_()[place] = 1e-6
        with cut.patch(lstm, {address: lambda f: f + nudge}):
            up = loss()
        with cut.patch(lstm, {address: lambda f: f - nudge}):
            down = loss()
        torch.testing.assert_close(seen.gradient[address][place], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)
    lstm.zero_grad()
    with cut.trace(lstm, address, gradients=True) as seen:
        lstm(x)
    seen[address].sum().backward()
    assert torch.equal(seen.gradient[address][:, -1], torch.ones(2, 5))  # earlier ones reach later gates too
    assert lstm.layers[0]["forwards"].map_input.weight.grad.abs().sum() > 0


def test_gradients_come_without_those_of_the_weights():
    lstm, x = LSTM(3, 5), torch.randn(2, 7, 3, requires_grad=True)
    with cut.trace(lstm, f"{CELL}.cell", gradients=True) as seen:
        torch.autograd.grad(lstm(x)[0].sum(), x)
    assert seen.gradient[f"{CELL}.cell"].shape == (2, 7, 5)


def test_an_edit_must_keep_the_shape():
    lstm = LSTM(3, 5)
    rule = r"an edit of cell must keep its shape \(batch, ..., steps, width\) = \(2, 7, 5\), got \(2, 5\)"
    with pytest.raises(ValueError, match=rule), cut.patch(lstm, {f"{CELL}.cell": lambda c: c[:, 0]}):
        lstm(torch.randn(2, 7, 3))


def test_a_map_of_ones_own_or_a_watched_one_takes_the_equation():
    """LoRA in place of a map, or a trace of the map itself."""
    lstm, x = LSTM(3, 5), torch.randn(2, 7, 3)
    plain, _ = lstm(x)
    with cut.trace(lstm, f"{CELL}.map_hidden") as seen:
        read, _ = lstm(x)
    torch.testing.assert_close(read, plain)
    assert len(seen.calls[f"{CELL}.map_hidden"]) == 7
    cell = lstm.layers[0]["forwards"]
    cell.map_input = torch.nn.Sequential(cell.map_input, torch.nn.Identity())
    torch.testing.assert_close(lstm(x)[0], plain)
