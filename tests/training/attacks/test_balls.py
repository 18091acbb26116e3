"""The ball of changes: steps of size 1, projections that are nearest points, uniform draws."""

import pytest
import torch

from cutaway.training.attacks.balls import Ball


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_steps_by_hand():
    g = torch.tensor([[3.0, -4.0], [0.0, 0.0]])
    assert torch.equal(Ball(0.1).steepest(g), torch.tensor([[1.0, -1.0], [0.0, 0.0]]))
    torch.testing.assert_close(Ball(0.1, "2").steepest(g), torch.tensor([[0.6, -0.8], [0.0, 0.0]]))


def test_projection_by_hand():
    x = torch.tensor([[0.5, 0.95]])
    assert torch.allclose(Ball(0.1).project(x + torch.tensor([[-0.3, 0.2]]), x), torch.tensor([[0.4, 1.0]]))
    moved = Ball(0.5, "2", (-9, 9)).project(x + torch.tensor([[3.0, 4.0]]), x)
    torch.testing.assert_close(moved - x, torch.tensor([[0.3, 0.4]]))


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_what_lies_inside_stays(norm):
    ball, x = Ball(0.3, norm, (-9.0, 9.0)), torch.zeros(50, 3, 2, 2)
    inside = ball.draw(x, seeded())
    torch.testing.assert_close(ball.project(inside, x), inside)
    outside = ball.project(inside * 10, x)
    torch.testing.assert_close(ball.project(outside, x), outside)


def test_draws_fill_the_ball_evenly():
    """A uniform point in d dimensions has radius d/(d+1) ε on average; in L∞ a coordinate has deviation ε/√3."""
    x = torch.zeros(20_000, 3)
    radius = Ball(0.5, "2").draw(x, seeded()).norm(dim=1)
    assert radius.max() <= 0.5 + 1e-6
    assert radius.mean().item() == pytest.approx(0.5 * 3 / 4, abs=0.005)
    box = Ball(0.5).draw(x, seeded())
    assert box.std().item() == pytest.approx(0.5 / 3**0.5, abs=0.005)
    assert box.abs().max() <= 0.5


def test_a_ball_of_size_zero_moves_nothing():
    x = torch.rand(4, 5)
    for norm in ("inf", "2"):
        assert torch.equal(Ball(0.0, norm).project(x + 1, x), x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-0.1,), "epsilon must be a number of at least 0, got -0.1"),
        ((float("nan"),), "got nan"),
        ((0.1, "1"), "norm must be one of inf, 2, got '1'"),
        ((0.1, "inf", (1.0, 0.0)), r"bounds must be \(lowest, highest\) of a pixel, got \(1.0, 0.0\)"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(ValueError, match=message):
        Ball(*arguments)
