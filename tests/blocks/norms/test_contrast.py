"""The contrast curve: by hand, beside torch.nn.functional, flat ends, gradients, messages."""

import pytest
import torch
from torch.nn import functional as F

from cutaway.blocks import ContrastCurve
from cutaway.blocks.norms.contrast import contrast_curve


def test_by_hand():
    """At first 0.3 of the scale is flat at either end but for the slope of 0.05."""
    curve = ContrastCurve(1, flat=0.3)
    x = torch.tensor([0.0, 0.3, 0.4, 0.5, 0.7, 1.0]).view(1, 1, 1, 6)
    flat = [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]
    expected = torch.tensor(flat) + 0.05 * x.flatten()
    torch.testing.assert_close(curve(x).flatten(), expected)
    assert curve.extra_repr() == "1, flat=0.3"


def test_equal_to_hard_sigmoid_of_torch(float64):
    """hardsigmoid(z) = clip(z / 6 + 1/2, 0, 1)."""
    x, centre, width = torch.rand(5, 3, 2, 7), torch.rand(3), torch.rand(3) + 0.1
    z = 6 * (x - centre[:, None, None]) / width[:, None, None]
    torch.testing.assert_close(contrast_curve(x, centre, width), F.hardsigmoid(z) + 0.05 * x)


def test_it_rises_everywhere_so_that_gradients_never_vanish():
    x = torch.linspace(0, 1, 101).view(1, 1, 1, 101).requires_grad_()
    (slope,) = torch.autograd.grad(ContrastCurve(1)(x).sum(), x)
    assert slope.min() >= 0.05 - 1e-6
    assert slope.max() == pytest.approx(2.5 + 0.05)


def test_gradients(float64):
    x = (torch.rand(2, 3, 2, 2) * 0.1 + 0.45).requires_grad_()  # where the curve has no corners
    curve = ContrastCurve(3, flat=0.2)
    assert torch.autograd.gradcheck(lambda x, c, w: contrast_curve(x, c, w), (x, curve.centre, curve.log_width.exp()))


def test_reset_goes_back_to_the_start():
    curve, x = ContrastCurve(2, flat=0.1), torch.rand(2, 4, 4)
    before = curve(x)
    with torch.no_grad():
        curve.centre += 0.3
        curve.log_width -= 1
    assert not torch.equal(curve(x), before)
    curve.reset_parameters()
    assert torch.equal(curve(x), before)


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"flat must be at least 0 and below 0.5, got 0.5; try flat=0.3"):
        ContrastCurve(1, flat=0.5)
    with pytest.raises(ValueError, match=r"images must have shape \(..., 3, height, width\), got \(2, 1, 4, 4\)"):
        ContrastCurve(3)(torch.zeros(2, 1, 4, 4))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.uint8"):
        ContrastCurve(3)(torch.zeros(3, 4, 4, dtype=torch.uint8))
