"""Adversarial training: the ball grows, changes stay inside, the mode of the model stays, and models resist more."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from cutaway.training.attacks.adversarial_training import Adversary


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(), nn.Linear(12, 3))


def at(adversary: Adversary, step: int) -> float:
    loop: Any = SimpleNamespace(step=step)
    adversary.before(loop)
    return adversary.size


def test_the_ball_grows_by_the_step_alone():
    adversary = Adversary(0.3, growth=10)
    assert [at(adversary, step) for step in (0, 4, 9, 500, 4)] == pytest.approx([0.03, 0.15, 0.3, 0.3, 0.15])
    assert at(Adversary(0.3), 0) == 0.3


@pytest.mark.parametrize("steps", [1, 5])
def test_changes_stay_inside_and_raise_the_loss(steps):
    model, x, y = network(), torch.rand(64, 1, 4, 4), torch.randint(3, (64,))
    adversary = Adversary(0.2, steps)
    changed = adversary.change(model, x, y)
    assert not changed.requires_grad
    assert (changed - x).abs().max() <= 0.2 + 1e-6
    assert changed.min() >= 0
    assert changed.max() <= 1
    assert all(part.training for part in model.modules())
    assert model[2].num_batches_tracked == 0  # the attack leaves running statistics alone
    assert all(p.grad is None for p in model.parameters())
    model.eval()
    cost = lambda images: nn.functional.cross_entropy(model(images), y).item()
    assert cost(changed) > cost(x) + 0.05


def test_it_makes_a_model_that_withstands_more():
    """One strong pixel is right in 80 %; fifteen weak ones are always right, but fall to a change of 0.2."""
    torch.manual_seed(0)
    y = torch.randint(2, (2000,))
    sign = (2 * y - 1).float()[:, None]
    strong = 0.5 + 0.45 * sign * torch.where(torch.rand(2000, 1) < 0.8, 1.0, -1.0)
    weak = 0.5 + 0.12 * sign + 0.03 * torch.randn(2000, 15)
    x = torch.cat([strong, weak], 1).clamp(0, 1)

    def trained(adversary: Adversary | None) -> nn.Module:
        torch.manual_seed(0)
        model = nn.Linear(16, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(300):
            seen = x if adversary is None else adversary.change(model, x, y)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(seen), y).backward()
            optimizer.step()
        return model

    adversary = Adversary(0.2, 3)
    plain, robust = (adversary.measure(trained(a), x, y) for a in (None, adversary))
    assert plain["robust_accuracy"] < 0.3
    assert robust["robust_accuracy"] > 0.75
    assert robust["robust_error"] == pytest.approx(1 - robust["robust_accuracy"])


def test_what_is_measured_is_the_worst_of_both_attacks():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 40), nn.Tanh(), nn.Linear(40, 5))
    with torch.no_grad():
        model[1].weight.mul_(6)
        model[3].weight.mul_(6)
    x = torch.rand(300, 1, 4, 4)
    found = Adversary(0.03).measure(model, x, model(x).argmax(1))
    assert set(found) == {"robust_accuracy", "robust_error", "pgd_accuracy", "margin_accuracy"}
    assert found["robust_accuracy"] < min(found["pgd_accuracy"], found["margin_accuracy"])
    assert found["robust_error"] == pytest.approx(1 - found["robust_accuracy"])


def test_measuring_draws_nothing_from_the_training_stream():
    model, x, y = network(), torch.rand(8, 1, 4, 4), torch.randint(3, (8,))
    before = torch.random.get_rng_state()
    Adversary(0.1).measure(model, x, y)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((-1.0,), "epsilon must be a number of at least 0, got -1.0"), ((0.1, 0), "got 0 and 0; try steps=5")],
)
def test_mistakes(arguments, message):
    with pytest.raises(ValueError, match=message):
        Adversary(*arguments)
