"""How far back the last output reaches: against autograd, and in a net whose memory is known."""

import numpy as np
import pytest
import torch

from cutaway.look.recurrence.input_sensitivity import input_sensitivity, sensitivity_bars
from cutaway.models import RecurrentLM


def test_is_the_gradient_of_the_likeliest_tokens_log_probability():
    torch.manual_seed(0)
    model, tokens = RecurrentLM(vocabulary=11, width=7, cell="lstm"), torch.tensor([[3, 1, 4, 1, 5]])
    sizes, best = input_sensitivity(model, tokens, "recurrence.input")
    x = model.embed(tokens).detach().requires_grad_()
    y, _ = model.recurrence(x)
    logits = model.unembed(y[0, -1])
    assert best == int(logits.argmax())
    (gradient,) = torch.autograd.grad(logits.log_softmax(-1)[best], x)
    np.testing.assert_allclose(sizes, gradient[0].norm(dim=-1).numpy(), rtol=1e-4)
    assert model.embed.weight.grad is None


def test_a_recurrence_that_halves_reaches_half_as_far_each_step():
    """z ← z/2 + small x: each step back divides the gradient by about two."""
    model = RecurrentLM(vocabulary=3, width=2, cell="rnn").double()
    cell = model.recurrence.layers[0]["forwards"]
    with torch.no_grad():
        cell.map_hidden.weight.copy_(torch.eye(2) / 2)
        cell.map_input.weight.copy_(torch.eye(2) * 1e-4)
        cell.map_input.bias.zero_()
    sizes, _ = input_sensitivity(model, torch.tensor([[0, 1, 2, 0]]), "recurrence.input")
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], 2.0, rtol=1e-4)


def test_the_picture_tells_first_against_last():
    picture = sensitivity_bars(np.array([1e-3, 0.0, 1.0]), ["a", "b", "c"], "d")
    assert "The first token's gradient is 0.001 times the last one's." in picture.alt
    assert picture.title == "How far back 'd', the likeliest next token, reaches"
    with pytest.raises(ValueError, match="there must be a token for every value, at most 200, got 1 for 3"):
        sensitivity_bars(np.ones(3), ["a"], "d")
