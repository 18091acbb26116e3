"""Margins by hand and by log p, the gradients of both costs, and the closed form of the margin of a linear model."""

import torch
from torch import nn

from cutaway.training import attack
from cutaway.training.attacks.margins import cross_entropy_cost, margin, margin_cost


def test_by_hand():
    logits = torch.tensor([[2.0, 5.0, 1.0], [2.0, 5.0, 1.0]])
    labels = torch.tensor([1, 0])
    assert margin(logits, labels).tolist() == [3.0, -3.0]
    assert margin_cost(logits, labels).tolist() == [-3.0, 3.0]


def test_equal_to_the_margin_of_log_probabilities():
    logits, labels = torch.randn(20, 7, dtype=torch.float64), torch.randint(7, (20,))
    torch.testing.assert_close(margin(logits.log_softmax(1), labels), margin(logits, labels))


def test_gradients():
    """∂(−m)/∂z = e_c − e_y and ∂L/∂z = p − e_y; a model that is sure has a gradient of its margin alone."""
    logits = torch.tensor([[500.0, 100.0, 300.0]], requires_grad=True)
    labels = torch.tensor([0])
    (by_margin,) = torch.autograd.grad(margin_cost(logits, labels).sum(), logits)
    (by_entropy,) = torch.autograd.grad(cross_entropy_cost(logits, labels).sum(), logits)
    assert by_margin.tolist() == [[-1.0, 0.0, 1.0]]
    assert by_entropy.tolist() == [[0.0, 0.0, 0.0]]
    small = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(4, (6,))
    (found,) = torch.autograd.grad(cross_entropy_cost(small, labels).sum(), small)
    torch.testing.assert_close(found, small.softmax(1).detach() - nn.functional.one_hot(labels, 4))


def test_of_a_linear_model_it_reaches_the_closed_form():
    """min over ‖δ‖_∞ ≤ ε of z_y − z_c = m − ε ‖w_y − w_c‖₁, of two classes; pixels far from their bounds."""
    torch.manual_seed(0)
    model = nn.Linear(12, 2).double()
    x = 0.5 + 0.2 * (torch.rand(50, 12, dtype=torch.float64) - 0.5)
    y = torch.randint(2, (50,))
    epsilon = 0.05
    found = attack(model, x, y, "margin", epsilon, steps=30, step=0.01).images
    gap = (model.weight[0] - model.weight[1]).abs().sum()
    with torch.no_grad():
        torch.testing.assert_close(margin(model(found), y), margin(model(x), y) - epsilon * gap)


def test_of_several_classes_it_is_between_the_closed_forms():
    """min_c (z_y − z_c − ε ‖w_y − w_c‖₁) bounds every attack from below; the nearest class alone bounds this one."""
    torch.manual_seed(0)
    model = nn.Linear(12, 5).double()
    x = 0.5 + 0.2 * (torch.rand(50, 12, dtype=torch.float64) - 0.5)
    with torch.no_grad():
        z = model(x)
        y = z.argmax(1)
        found = margin(model(attack(model, x, y, "margin", 0.05, steps=30, step=0.01).images), y)
        gaps = (model.weight[y][:, None] - model.weight[None]).abs().sum(2)
        bounds = z.gather(1, y[:, None]) - z - 0.05 * gaps
        least = bounds.scatter(1, y[:, None], torch.inf).amin(1)
    assert (found >= least - 1e-12).all()
    assert torch.isclose(found, least, rtol=1e-9, atol=1e-12).float().mean() > 0.6
