r"""Adversarial training: every batch is attacked before the model learns from it.

    min_θ  E max_{‖δ‖_∞ ≤ ε} L(f_θ(x + δ), y)

The inner maximum is found by a few large steps of PGD from a uniform start, on the model as it predicts. The ball grows
from nothing to ε over the first steps: under the whole of it from the start, a model often learns to say the same of
everything. Costs about as many passes more as the attack has steps.

Madry et al. 2018, eq. 2.1. Notes: N3 §8.3.
"""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.overriding import override
from cutaway.training.attacks.attacking import as_it_predicts, attack
from cutaway.training.attacks.balls import Ball
from cutaway.training.attacks.gradient_steps import pgd
from cutaway.training.callbacks import Callback

if TYPE_CHECKING:
    from cutaway.training.loop import Loop

_REACH = 2.5  # of the ball's size, that all steps together could go
_JUDGE = 20  # steps of the attack that measures


class Adversary(Callback):
    """Changes batches by at most ``epsilon`` a pixel, in ``steps`` steps; it grows to that size in ``growth`` steps."""

    def __init__(self, epsilon: float, steps: int = 5, growth: int = 0) -> None:
        Ball(epsilon)  # says what is wrong with it
        if steps < 1 or growth < 0:
            raise ValueError(f"steps must be at least 1 and growth at least 0, got {steps} and {growth}; try steps=5")
        self.epsilon, self.steps, self.growth = epsilon, steps, growth
        self.size = epsilon

    @override
    def before(self, loop: "Loop") -> None:
        """ε of this step."""
        self.size = self.epsilon * min(1.0, (loop.step + 1) / max(self.growth, 1))

    def change(self, model: nn.Module, images: Float[Tensor, "b *p"], labels: Int[Tensor, "b"]) -> Tensor:
        """The images of a batch after the attack."""
        ball = Ball(self.size)
        with as_it_predicts(model):
            step = (1.25 if self.steps == 1 else _REACH / self.steps) * self.size
            return pgd(model, images, labels, ball, self.steps, step, ball.draw(images))

    def measure(self, model: nn.Module, images: Float[Tensor, "b *p"], labels: Int[Tensor, "b"]) -> dict[str, float]:
        """The shares of images that withstand longer attacks of the whole size: each, and both; and those that do not.

        ``pgd_accuracy`` is under PGD up the cross-entropy, ``margin_accuracy`` up the margin of another class.
        """
        generator = torch.random.get_rng_state()  # `attack` has a generator of its own; a model may draw, too
        step = max(_REACH * self.epsilon / _JUDGE, 1e-6)
        fallen = {k: attack(model, images, labels, k, self.epsilon, _JUDGE, step).success for k in ("pgd", "margin")}
        torch.random.set_rng_state(generator)
        wrong = torch.stack([*fallen.values()]).any(0).float().mean().item()
        each = {f"{kind}_accuracy": 1 - success.float().mean().item() for kind, success in fallen.items()}
        return {"robust_accuracy": 1 - wrong, "robust_error": wrong} | each


__all__ = ["Adversary"]
