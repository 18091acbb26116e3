"""The GRU by hand."""

import torch

from cutaway.blocks import gru_step

INF = float("inf")


def test_an_update_gate_of_one_keeps_the_state():
    z = torch.tensor([3.0])
    assert gru_step(torch.tensor([0.1, INF, 0.2]), torch.zeros(3), z)["hidden"].item() == 3.0


def test_a_reset_gate_of_zero_forgets_the_state_in_the_candidate():
    values = gru_step(torch.tensor([-INF, -INF, 0.2]), torch.tensor([0.0, 0.0, 5.0]), torch.tensor([3.0]))
    torch.testing.assert_close(values["hidden"], torch.tanh(torch.tensor([0.2])))
