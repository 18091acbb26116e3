import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from cutaway.blocks.losses.warping import time_warping_distance


def plain(x: np.ndarray, y: np.ndarray, window: int | None = None) -> float:
    """The recurrence cell by cell."""
    n, m = len(x), len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if window is None or abs(i - j) <= window:
                d[i, j] = ((x[i - 1] - y[j - 1]) ** 2).sum() + min(d[i - 1, j - 1], d[i - 1, j], d[i, j - 1])
    return float(np.sqrt(d[n, m]))


@pytest.mark.parametrize(
    ("n", "m", "window"), [(7, 7, None), (5, 11, None), (11, 5, 6), (7, 7, 2), (1, 3, None), (7, 7, 0)]
)
def test_equals_the_recurrence(n: int, m: int, window: int | None):
    torch.manual_seed(0)
    x, y = torch.randn(3, n, 2, dtype=torch.float64), torch.randn(3, m, 2, dtype=torch.float64)
    found = time_warping_distance(x, y, window)
    torch.testing.assert_close(
        found, torch.tensor([plain(*pair, window) for pair in zip(x.numpy(), y.numpy())]).double()
    )


def test_without_warping_it_is_the_euclidean_distance():
    x, y = torch.randn(7, 1, dtype=torch.float64), torch.randn(7, 1, dtype=torch.float64)
    torch.testing.assert_close(time_warping_distance(x, y, window=0), (x - y).norm())


def test_gradients():
    x, y = (torch.randn(2, n, 1, dtype=torch.float64, requires_grad=True) for n in (5, 4))
    assert gradcheck(time_warping_distance, (x, y))
    same = x[:, :4].detach().requires_grad_()
    time_warping_distance(same, same.detach()).sum().backward()
    assert torch.equal(same.grad, torch.zeros_like(same))


def test_messages():
    with pytest.raises(ValueError, match="got window=1 for 7 and 3 steps; try window=4"):
        time_warping_distance(torch.randn(7, 1), torch.randn(3, 1), window=1)
    with pytest.raises(ValueError, match="series must have a step, got 0 and 3"):
        time_warping_distance(torch.randn(0, 1), torch.randn(3, 1))
