"""The LSTM by hand, and what its gates mean."""

import pytest
import torch

from cutaway.blocks import LSTM, lstm_step

INF = float("inf")


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


def test_the_forget_gate_begins_open():
    for coupled in (False, True):
        layer = LSTM(3, 5, coupled=coupled)
        bias = layer.layers[0]["forwards"].map_input.bias.view(-1, 5)
        assert (bias == 1).all(1).tolist() == ([True, False, False] if coupled else [False, True, False, False])
