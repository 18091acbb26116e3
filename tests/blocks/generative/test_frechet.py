"""The Fréchet distance against closed forms and scipy's root of a matrix."""

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm

from cutaway.blocks import frechet_distance, gaussian_frechet


def spread(seed: int, width: int = 5) -> torch.Tensor:
    x = torch.randn(2 * width, width, generator=torch.Generator().manual_seed(seed)).double()
    return x.T @ x / len(x)


def test_independent_entries_have_a_closed_form():
    """Σ (μ₁ − μ₂)² + (σ₁ − σ₂)²."""
    mean, other = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0])
    found = gaussian_frechet(mean, torch.diag(torch.tensor([1.0, 9.0])), other, torch.diag(torch.tensor([4.0, 25.0])))
    assert found.item() == pytest.approx(9 + 16 + 1 + 4)


def test_against_scipys_root():
    one, two = spread(0), spread(1)
    mean, other = torch.randn(2, 5, generator=torch.Generator().manual_seed(2)).double()
    root = sqrtm((one @ two).numpy())
    expected = (mean - other).square().sum() + one.trace() + two.trace() - 2 * np.trace(root).real
    torch.testing.assert_close(gaussian_frechet(mean, one, other, two), expected)


def test_it_is_symmetric_and_zero_for_one_set():
    torch.manual_seed(0)
    a, b = torch.randn(40, 5).double(), torch.randn(60, 5).double() * 2 + 1
    torch.testing.assert_close(frechet_distance(a, b), frechet_distance(b, a))
    assert frechet_distance(a, a).item() == pytest.approx(0, abs=1e-9)
    assert frechet_distance(a, b) > 1


def test_a_shift_adds_its_square():
    torch.manual_seed(0)
    a = torch.randn(40, 5).double()
    assert frechet_distance(a, a + 3).item() == pytest.approx(5 * 9)


def test_fewer_samples_than_features_will_do():
    torch.manual_seed(0)
    assert frechet_distance(torch.randn(3, 8), torch.randn(4, 8)).isfinite()


def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="others must hold at least two vectors, got 1"):
        frechet_distance(torch.zeros(3, 2), torch.zeros(1, 2))
