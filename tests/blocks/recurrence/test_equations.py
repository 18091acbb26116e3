"""One step by hand: what the gates mean."""

import pytest
import torch

from cutaway.blocks import gru_step, lstm_step, rnn_step

INF = float("inf")


def test_relu():
    assert rnn_step(torch.tensor([-1.0, 2.0]), relu=True)["hidden"].tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("forget", "write", "cell"),
    [(INF, -INF, 3.0), (-INF, INF, 1.0), (INF, INF, 4.0), (-INF, -INF, 0.0)],
    ids=["keep", "replace", "add", "clear"],
)
def test_the_four_cases_of_forget_and_input_gate(forget, write, cell):
    """N3 §5.2: the gates at their ends keep, replace, add to, or clear a cell of 3, where the candidate is 1."""
    values = lstm_step(torch.tensor([write, forget, INF, 0.0]), torch.tensor([3.0]))
    assert values["cell"].item() == cell
    torch.testing.assert_close(values["hidden"], 0.5 * torch.tanh(values["cell"]))


def test_coupled_gates_share_one():
    values = lstm_step(torch.tensor([0.7, 0.1, -0.2]), torch.tensor([3.0]), coupled=True)
    torch.testing.assert_close(values["input_gate"], 1 - torch.sigmoid(torch.tensor([0.7])))
    torch.testing.assert_close(values["cell"], values["forget_gate"] * 3 + values["input_gate"] * values["candidate"])


def test_peepholes_see_the_old_cell_and_the_new_one():
    sums, peepholes = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([[1.0], [2.0], [-1.0]])
    values = lstm_step(sums, torch.tensor([3.0]), peepholes)
    i, f, g = torch.sigmoid(torch.tensor(3.1)), torch.sigmoid(torch.tensor(6.2)), torch.tanh(torch.tensor(0.3))
    c = f * 3 + i * g
    torch.testing.assert_close(values["cell"].squeeze(), c)
    torch.testing.assert_close(values["output_gate"].squeeze(), torch.sigmoid(0.4 - c))


def test_an_update_gate_of_one_keeps_the_state():
    z = torch.tensor([3.0])
    assert gru_step(torch.tensor([0.1, INF, 0.2]), torch.zeros(3), z)["hidden"].item() == 3.0


def test_a_reset_gate_of_zero_forgets_the_state_in_the_candidate():
    values = gru_step(torch.tensor([-INF, -INF, 0.2]), torch.tensor([0.0, 0.0, 5.0]), torch.tensor([3.0]))
    torch.testing.assert_close(values["hidden"], torch.tanh(torch.tensor([0.2])))
