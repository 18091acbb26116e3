"""Costs of two parameters: their values, gradients and minima."""

import numpy as np
import pytest
import torch
from scipy.optimize import rosen, rosen_der
from torch.autograd.functional import hessian

from cutaway.training import (
    SURFACES,
    beale,
    bowl,
    descend,
    gradient_step,
    himmelblau,
    momentum_step,
    rosenbrock,
    saddle,
)

EVERY = pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)


@pytest.mark.parametrize(
    ("surface", "point", "value"),
    [
        (bowl, (2, 1), 7),  # ½ (4 + 10)
        (rosenbrock, (0, 0), 1),
        (rosenbrock, (-1.2, 1), 24.2),  # 2.2² + 100 · 0.44²
        (beale, (0, 0), 14.203125),  # 1.5² + 2.25² + 2.625²
        (beale, (1, 1), 14.203125),  # y = 1 takes x away
        (himmelblau, (0, 0), 170),  # 121 + 49
        (saddle, (1, 2), -3),
    ],
)
def test_values_by_hand(surface, point, value):
    assert surface(torch.tensor(point, dtype=torch.float64)).item() == pytest.approx(value)


@EVERY
def test_minima_are_minima(surface, float64):
    for minimum in torch.tensor(surface.minima):
        assert surface(minimum).item() == pytest.approx(0, abs=1e-20)
        torch.testing.assert_close(surface.gradient(minimum), torch.zeros(2), atol=1e-10, rtol=0)
        assert (torch.linalg.eigvalsh(hessian(surface, minimum)) > 0.1).all()


def test_himmelblau_has_those_four(float64):
    """y = 11 − x² and x + y² = 7, so x + (11 − x²)² = 7: a polynomial of degree four."""
    x = np.sort(np.roots([1, 0, -22, 1, 114]).real)
    wanted = torch.tensor(np.stack([x, 11 - x**2], 1))
    ours = torch.tensor(sorted(himmelblau.minima))
    torch.testing.assert_close(ours, wanted, atol=1e-12, rtol=0)


def test_the_saddle_is_none(float64):
    origin = torch.zeros(2)
    assert torch.equal(saddle.gradient(origin), origin)
    assert torch.linalg.eigvalsh(hessian(saddle, origin)).tolist() == [-2, 2]
    on_the_ridge = descend(saddle, torch.tensor([-1.5, 0.0]), gradient_step, 100, rate=0.1)
    torch.testing.assert_close(on_the_ridge[-1], origin, atol=1e-8, rtol=0)
    beside_it = descend(saddle, torch.tensor(saddle.start), gradient_step, 100, rate=0.1)
    assert saddle(beside_it[-1]) < -100


def test_rosenbrock_is_scipys(float64):
    points = torch.randn(7, 2)
    torch.testing.assert_close(rosenbrock(points), torch.tensor(rosen(points.T.numpy())))
    slopes = np.stack([rosen_der(point) for point in points.numpy()])
    torch.testing.assert_close(rosenbrock.gradient(points), torch.tensor(slopes))


@EVERY
def test_gradients_are_differences(surface, float64):
    points, h = torch.randn(3, 5, 2), 1e-6
    for axis, e in enumerate(torch.eye(2)):
        slope = (surface(points + h * e) - surface(points - h * e)) / (2 * h)
        torch.testing.assert_close(surface.gradient(points)[..., axis], slope, rtol=1e-6, atol=1e-6)


@EVERY
def test_the_picture_holds_start_and_minima(surface):
    points = surface.grid(11)
    assert points.shape == (11, 11, 2)
    (left, right), (bottom, top) = surface.window
    assert points[0, 0].tolist() == [left, bottom]
    assert points[0, -1].tolist() == [right, bottom]
    assert points[-1, 0].tolist() == [left, top]
    for x, y in (*surface.minima, surface.start):
        assert left < x < right
        assert bottom < y < top
    assert surface(points).shape == (11, 11)


def test_momentum_is_faster_through_a_narrow_valley():
    """N3 §3.4.4: poor conditioning. Each at its best rate: (√κ − 1)/(√κ + 1) a step against (κ − 1)/(κ + 1), κ = 10."""
    start = torch.tensor(bowl.start, dtype=torch.float64)
    plain = descend(bowl, start, gradient_step, 100, rate=2 / 11)  # 2 / (λ_min + λ_max)
    root = 10**0.5
    share = (root - 1) / (root + 1)
    heavy = descend(bowl, start, momentum_step, 100, rate=(2 / (root + 1)) ** 2, momentum=share**2)
    torch.testing.assert_close(plain[-1].norm(), (9 / 11) ** 100 * plain[0].norm(), rtol=1e-6, atol=0)
    assert heavy[-1].norm() < 1000 * share**100 * heavy[0].norm() < 1e-10 * plain[-1].norm()


def test_bad_count():
    with pytest.raises(ValueError, match="count must be above 0, got 0; try count=1"):
        bowl.grid(0)


@pytest.mark.untyped
def test_bad_points():
    with pytest.raises(ValueError, match=r"the last axis of points must have width 2, got shape \(5, 3\)"):
        bowl(torch.zeros(5, 3))
