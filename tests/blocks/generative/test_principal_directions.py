"""Principal directions: exact for few rows or few columns, by random mixtures beyond, always orthonormal."""

import pytest
import torch

from cutaway.blocks.generative import principal_directions as module
from cutaway.blocks.generative.principal_directions import principal_directions

pytestmark = pytest.mark.kernels


def rows_of(n: int, p: int, values: list[float]) -> torch.Tensor:
    """Rows with these singular values, in random directions."""
    torch.manual_seed(0)
    u, v = (torch.linalg.qr(torch.randn(side, len(values), dtype=torch.float64)).Q for side in (n, p))
    return (u * torch.tensor(values, dtype=torch.float64)) @ v.T


def largest_angle_sine(found: torch.Tensor, x: torch.Tensor) -> float:
    """Of the angle between found directions and as many right singular vectors of x, by the SVD of LAPACK."""
    wanted = torch.linalg.svd(x, full_matrices=False).Vh[: len(found)]
    return torch.linalg.svdvals(found - found @ wanted.T @ wanted).max().item()


@pytest.mark.parametrize(("n", "p"), [(40, 9), (9, 40), (20, 20)])
@pytest.mark.parametrize("exact", [1024, 4])
def test_they_are_those_of_the_svd(n: int, p: int, exact: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_EXACT", exact)
    x = rows_of(n, p, [16.0, 8.0, 4.0, 2.0, 1.0])
    found = principal_directions(x, 3)
    torch.testing.assert_close(found @ found.T, torch.eye(3, dtype=x.dtype), atol=1e-12, rtol=0)
    assert largest_angle_sine(found, x) < 1e-10


def test_mixtures_find_directions_under_a_long_tail(monkeypatch: pytest.MonkeyPatch):
    """13 turns of XᵀX let what is beyond the 14 mixtures fade by (σ₁₅/σ₄)²⁶⁺¹ ≈ (1.5/10)²⁷: below float64's step."""
    monkeypatch.setattr(module, "_EXACT", 4)
    x = rows_of(60, 50, [40.0, 30.0, 20.0, 10.0, *torch.linspace(2, 1, 40).tolist()])
    assert largest_angle_sine(principal_directions(x, 4), x) < 1e-8


def test_as_many_as_there_can_be_also_where_rows_do_not_vary():
    found = principal_directions(torch.zeros(3, 8), 5)
    assert found.shape == (3, 8)
    torch.testing.assert_close(found @ found.T, torch.eye(3), atol=1e-5, rtol=0)


def test_photographs_cost_no_square_matrix_of_their_pixels():
    """Of 200,000 pixels such a matrix would be 160 GB."""
    torch.manual_seed(0)
    x = torch.randn(12, 200_000)
    found = principal_directions(x - x.mean(0), 4)
    assert found.shape == (4, 200_000)
    torch.testing.assert_close(found @ found.T, torch.eye(4), atol=1e-4, rtol=0)


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="count must be above 0, got 0"):
        principal_directions(torch.zeros(3, 2), 0)
