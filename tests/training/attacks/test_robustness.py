"""Robust accuracy: exact for a model whose resistance is known, the worst of all attacks, images of another model."""

import pytest
import torch
from torch import nn

from cutaway.training.attacks.attacking import attack
from cutaway.training.attacks.robustness import right_answers, robust_accuracy


class Mean(nn.Module):
    """Class 0 where the mean of the image is above one half: withstands ε exactly if |mean − ½| > ε."""

    def forward(self, x):
        mean = x.flatten(1).mean(1)
        return torch.stack([mean - 0.5, 0.5 - mean], 1)


class Masked(Mean):
    """The same answers, but rounded: the gradient is zero everywhere."""

    def forward(self, x):
        return (super().forward(x) * 1000).round()


LEVELS = torch.tensor([0.1, 0.3, 0.45, 0.55, 0.7, 0.9])
IMAGES = LEVELS.view(-1, 1, 1, 1).expand(-1, 1, 6, 6).contiguous()
LABELS = torch.tensor([1, 1, 1, 0, 0, 1])  # the last is wrong from the start


def test_exact_figures():
    rates = robust_accuracy(Mean(), IMAGES, LABELS, epsilon=0.22, kinds=("noise", "fgsm", "pgd"))
    assert rates["clean"] == 5 / 6
    assert rates["noise"] == 5 / 6  # the mean of noise is near 0
    assert rates["fgsm"] == rates["pgd"] == rates["worst"] == 1 / 6  # only 0.1 is farther than 0.22 from the border


def test_hidden_gradients_do_not_help():
    rates = robust_accuracy(
        Masked(), IMAGES, LABELS, 0.22, ("fgsm", "pgd", "square"), squares=400, sources={"mean": Mean()}
    )
    assert rates["fgsm"] == 5 / 6
    assert rates["square"] == rates["from mean"] == rates["worst"] == 1 / 6


def test_the_worst_of_both_kinds_of_pgd_is_below_each():
    """Random networks: some images fall to one of the two alone, so the worst case is strictly below both."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 40), nn.Tanh(), nn.Linear(40, 5))
    with torch.no_grad():
        model[1].weight.mul_(6)
        model[3].weight.mul_(6)
    x = torch.rand(300, 1, 6, 6)
    y = model(x).argmax(1)
    rates = robust_accuracy(model, x, y, 0.03, ("pgd", "margin"), steps=10, step=0.01)
    assert list(rates) == ["clean", "pgd", "margin", "worst"]
    fallen = [attack(model, x, y, kind, 0.03, steps=10, step=0.01).success for kind in ("pgd", "margin")]
    assert rates["worst"] == pytest.approx(1 - (fallen[0] | fallen[1]).float().mean().item())
    assert rates["worst"] < min(rates["pgd"], rates["margin"])


class Sure(Mean):
    """The same answers, a thousand times as sure: p_y is 1 in float32, and the cross-entropy has no gradient."""

    def forward(self, x):
        return super().forward(x) * 1000


def test_a_model_that_is_very_sure_does_not_withstand_margins():
    rates = robust_accuracy(Sure(), IMAGES, LABELS, 0.22, ("pgd", "margin"), step=0.02)
    assert rates["pgd"] > rates["margin"] == rates["worst"] == 1 / 6


def test_no_images():
    assert robust_accuracy(Mean(), IMAGES[:0], LABELS[:0], kinds=("fgsm",)) == {"clean": 0, "fgsm": 0, "worst": 0}
    assert right_answers(Mean(), IMAGES[:0], LABELS[:0]).dtype == torch.bool


def test_unknown_kind():
    with pytest.raises(ValueError, match="kind must be one of"):
        robust_accuracy(Mean(), IMAGES, LABELS, kinds=("boundary",))
