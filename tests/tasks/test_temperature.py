"""Temperatures: as sure as right, and nothing else changes."""

import pytest
import torch
from torch import nn

from cutaway.tasks.temperature import find_temperature


def draw(count: int, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits that are ``scale`` times those by which the labels were drawn."""
    torch.manual_seed(0)
    z = torch.randn(count, 3, dtype=torch.float64)
    return scale * z, torch.multinomial(z.softmax(-1), 1)[:, 0]


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0])
def test_it_finds_the_scale_of_the_logits(scale: float):
    """Labels drawn from softmax(z): of logits s z the temperature is s. Its spread is about 1/√(n I), I ≈ 0.5."""
    z, y = draw(20_000, scale)
    assert find_temperature(z, y) == pytest.approx(scale, rel=0.06)


def test_it_is_the_minimum_and_never_worse_than_none():
    z, y = draw(50, 5.0)
    cost = lambda t: nn.functional.cross_entropy(z / t, y).item()
    found = find_temperature(z, y)
    assert cost(found) < cost(1.0)
    assert cost(found) < min(cost(found * 1.5), cost(found / 1.5))


def test_right_answers_alone_make_no_certainty():
    """Platt: of n right answers, at most (n + 1) / (n + 2)."""
    z = torch.tensor([[0.1, 0.0]] * 8, dtype=torch.float64)
    t = find_temperature(z, torch.zeros(8, dtype=torch.int64))
    assert (z[0] / t).softmax(-1)[0].item() == pytest.approx(9 / 10, abs=1e-3)


def test_wrong_answers_make_it_unsure():
    z = torch.tensor([[9.0, 0.0]] * 8, dtype=torch.float64)
    t = find_temperature(z, torch.tensor([0, 1] * 4))
    assert (z[0] / t).softmax(-1)[0].item() == pytest.approx(0.5, abs=0.05)
