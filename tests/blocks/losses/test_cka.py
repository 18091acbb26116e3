"""CKA by hand, by its laws, and by the other way to write it, in float64."""

import pytest
import torch

from cutaway.blocks import linear_cka


def draw(n: int = 9, p: int = 4, q: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(n, p, dtype=torch.float64), torch.randn(n, q, dtype=torch.float64)


def test_by_hand():
    """Of two single features it is their squared correlation: here (−1, 0, 1) and (−1, 1, 0) give ¼."""
    x, y = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[0.0], [2.0], [1.0]])
    torch.testing.assert_close(linear_cka(x, y), torch.tensor(0.25))


def test_rotation_scale_and_shift_change_nothing():
    x, y = draw()
    turn = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64)).Q
    torch.testing.assert_close(linear_cka(x @ turn * 3 + 5, y), linear_cka(x, y))
    torch.testing.assert_close(linear_cka(x, x @ turn), torch.tensor(1.0, dtype=torch.float64))
    torch.testing.assert_close(linear_cka(x, y), linear_cka(y, x))
    assert 0 <= linear_cka(x, y) < 1
    other = torch.randn(4, 4, dtype=torch.float64)
    assert not torch.isclose(linear_cka(x, x @ other), torch.tensor(1.0, dtype=torch.float64))  # not any linear map


def test_both_ways_to_write_it():
    for n, p, q in ((5, 8, 3), (8, 5, 3)):
        x, y = draw(n, p, q)
        h = torch.eye(n, dtype=torch.float64) - 1 / n
        k, l = h @ x @ x.T @ h, h @ y @ y.T @ h
        expected = (k * l).sum() / ((k * k).sum() * (l * l).sum()).sqrt()
        torch.testing.assert_close(linear_cka(x, y), expected)


def test_gradients_and_constants():
    x, y = draw(5, 3, 2)
    assert torch.autograd.gradcheck(linear_cka, (x.requires_grad_(), y.requires_grad_()))
    assert linear_cka(torch.ones(4, 2), torch.randn(4, 2)) == 0


@pytest.mark.untyped
def test_mistakes():
    with pytest.raises(ValueError, match=r"x must have shape \(examples, width\), got \(2, 3, 4\)"):
        linear_cka(torch.randn(2, 3, 4), torch.randn(2, 3))
    with pytest.raises(ValueError, match="the same examples, at least two, got 4 and 5"):
        linear_cka(torch.randn(4, 3), torch.randn(5, 3))
