"""The square attack: the size of squares, what it may change, and that it needs no gradients."""

import pytest
import torch
from torch import nn

from cutaway.training import attack
from cutaway.training.attacks.balls import Ball
from cutaway.training.attacks.square import square_attack, square_share


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_shares_as_published():
    """Andriushchenko et al. 2020: p = 0.8, halved at 10, 50, 200, … of 10,000 steps."""
    assert [square_share(i, 10_000) for i in (10, 11, 51, 201, 501, 1001)] == [0.8, 0.4, 0.2, 0.1, 0.05, 0.025]
    assert square_share(6, 1_000) == square_share(60, 10_000)


class Mean(nn.Module):
    """Class 0 as long as the mean is above 0.3."""

    def forward(self, x):
        mean = x.flatten(1).mean(1)
        return torch.stack([mean - 0.3, torch.zeros_like(mean)], 1)


def test_it_finds_what_the_ball_allows_and_no_more():
    x, y = torch.full((6, 1, 9, 7), 0.5), torch.zeros(6, dtype=torch.int64)
    far = square_attack(Mean(), x, y, Ball(0.25), 600, seeded())
    near = square_attack(Mean(), x, y, Ball(0.15), 600, seeded())
    assert (Mean()(far).argmax(1) == 1).all()  # 0.25 below 0.5 is below 0.3
    assert (Mean()(near).argmax(1) == 0).all()  # 0.15 below is not
    assert (near - x).abs().max() <= 0.15 + 1e-6
    assert torch.equal(far, square_attack(Mean(), x, y, Ball(0.25), 600, seeded()))


def test_it_reads_outputs_alone():
    class Rounded(Mean):  # no gradient tells the way
        def forward(self, x):
            return (super().forward(x) * 200).round()

    x, y = torch.full((3, 2, 6, 6), 0.5), torch.zeros(3, dtype=torch.int64)
    new = square_attack(Rounded(), x, y, Ball(0.25), 600, seeded())
    assert (Rounded()(new).argmax(1) == 1).all()


def test_mistakes():
    with pytest.raises(ValueError, match=r'works on images \(b, c, h, w\) with norm="inf", got shape \(2, 1, 3, 3\)'):
        square_attack(Mean(), torch.rand(2, 1, 3, 3), torch.zeros(2, dtype=torch.int64), Ball(0.1, "2"), 5)
    with pytest.raises(ValueError, match=r'got shape \(2, 9\) with norm="inf"'):
        attack(nn.Linear(9, 2), torch.rand(2, 9), torch.zeros(2, dtype=torch.int64), "square")
