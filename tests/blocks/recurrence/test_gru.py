"""The GRU's equation against the notation of Cho et al. 2014, where the reset gate acts before the product."""

import torch

from cutaway.blocks import GRU


def test_both_places_of_the_reset_gate_agree_where_it_is_open(float64):
    """r = 1: then r ⊙ (z U) = (r ⊙ z) U, and the candidate is tanh(x W + b + z U + b′)."""
    gru = GRU(3, 5)
    cell = gru.layers[0]["forwards"]
    with torch.no_grad():
        cell.map_input.bias[:5] = 1e3
    x, z = torch.randn(2, 1, 3), torch.randn(2, 1, 1, 5)
    (_, W_u, W_g), (_, U_u, U_g) = cell.map_input.weight.chunk(3, 1), cell.map_hidden.weight.chunk(3, 1)
    _, b_u, b_g = cell.map_input.bias.chunk(3)
    u = torch.sigmoid(x[:, 0] @ W_u + z[:, 0, 0] @ U_u + b_u)
    g = torch.tanh(x[:, 0] @ W_g + z[:, 0, 0] @ U_g + b_g + cell.candidate_bias)
    y, _ = gru(x, gru.State(z))
    torch.testing.assert_close(y[:, 0], u * z[:, 0, 0] + (1 - u) * g)
