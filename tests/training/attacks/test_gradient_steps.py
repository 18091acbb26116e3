"""FGSM and PGD: worked by hand on a linear model, equal to torchattacks' where it is installed."""

import pytest
import torch
from torch import nn

from cutaway.training.attacks.balls import Ball
from cutaway.training.attacks.gradient_steps import fgsm, loss_gradient, pgd


def linear() -> nn.Linear:
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, -2.0], [0.0, 0.0]]))
        model.bias.zero_()
    return model


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)).double()


def test_gradient_by_hand():
    """L = −log σ(z) with z = x₁ − 2x₂ of class 0, so ∂L/∂x = −(1 − σ(z)) (1, −2)."""
    x = torch.tensor([[0.3, 0.1], [0.5, 0.25]])
    z = x[:, 0] - 2 * x[:, 1]
    expected = -(1 - z.sigmoid())[:, None] * torch.tensor([1.0, -2.0])
    torch.testing.assert_close(loss_gradient(linear(), x, torch.tensor([0, 0])), expected)


def test_fgsm_by_hand():
    x = torch.tensor([[0.3, 0.95]])
    new = fgsm(linear(), x, torch.tensor([0]), Ball(0.1))
    torch.testing.assert_close(new, torch.tensor([[0.2, 1.0]]))  # down along 1, up along −2, clipped


def test_one_step_of_pgd_of_the_size_of_the_ball_is_fgsm():
    model, x, y = network(), torch.rand(5, 1, 8, 8).double(), torch.tensor([0, 1, 2, 0, 1])
    for norm in ("inf", "2"):
        ball = Ball(0.07, norm)
        torch.testing.assert_close(pgd(model, x, y, ball, 1, 0.07), fgsm(model, x, y, ball))


def test_pgd_stays_inside_and_raises_the_loss():
    model, x, y = network(), torch.rand(40, 1, 8, 8).double(), torch.randint(3, (40,))
    ball = Ball(0.1)
    cost = lambda images: nn.functional.cross_entropy(model(images), y, reduction="none").detach()
    new = pgd(model, x, y, ball, 20, 0.02, ball.draw(x))
    assert (new - x).abs().max() <= 0.1 + 1e-12
    assert new.min() >= 0
    assert new.max() <= 1
    assert cost(new).mean() > cost(fgsm(model, x, y, ball)).mean()
    assert (cost(new) > cost(x)).all()


def test_equal_to_torchattacks():
    torchattacks = pytest.importorskip("torchattacks", reason="torchattacks is not installed")
    model, x, y = network().float().eval(), torch.rand(30, 1, 8, 8), torch.randint(3, (30,))
    torch.testing.assert_close(fgsm(model, x, y, Ball(0.2)), torchattacks.FGSM(model, eps=0.2)(x, y))
    peer = torchattacks.PGD(model, eps=0.2, alpha=0.03, steps=10, random_start=False)
    torch.testing.assert_close(pgd(model, x, y, Ball(0.2), 10, 0.03), peer(x, y))
