"""Losses of what was hidden: against torch's own, by hand, and their gradients."""

import pytest
import torch

from cutaway.blocks.losses.restoration import cell_losses, mean_where, scaled_cosine_error


def test_cells_are_classes_column_by_column():
    scores = torch.randn(4, 9, dtype=torch.float64)
    targets = torch.tensor([[0, 3, 1], [1, 0, 0], [1, 2, 2], [0, 1, 1]])
    want = torch.stack(
        [
            -scores[:, a:b].log_softmax(-1).gather(1, targets[:, j : j + 1])[:, 0]
            for j, (a, b) in enumerate([(0, 2), (2, 6), (6, 9)])
        ],
        1,
    )
    torch.testing.assert_close(cell_losses(scores, targets, (2, 4, 3)), want)


def test_scaled_cosine_error_as_written_out():
    x, z = torch.randn(2, 5, 7, dtype=torch.float64)
    cosine = (x * z).sum(-1) / (x.norm(dim=-1) * z.norm(dim=-1))
    for power in (1.0, 2.0, 3.0):
        torch.testing.assert_close(scaled_cosine_error(x, z, power), (1 - cosine) ** power)
    torch.testing.assert_close(scaled_cosine_error(3 * x, 0.1 * z), scaled_cosine_error(x, z))  # lengths do not count


def test_gradients():
    x, z = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: scaled_cosine_error(x.detach(), a, 3.0), z.detach().requires_grad_())
    scores = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([[1, 2], [0, 0], [1, 1]])
    assert torch.autograd.gradcheck(lambda s: cell_losses(s, targets, (2, 3)), scores)


def test_the_mean_over_what_was_hidden():
    losses = torch.tensor([[1.0, float("inf")], [3.0, 7.0]], requires_grad=True)
    chosen = torch.tensor([[True, False], [True, False]])
    mean = mean_where(losses, chosen)
    assert mean.item() == 2.0
    assert torch.equal(torch.autograd.grad(mean, losses)[0], torch.tensor([[0.5, 0.0], [0.5, 0.0]]))
    assert mean_where(losses, torch.zeros(2, 2, dtype=torch.bool)).item() == 0.0


def test_bad_values():
    with pytest.raises(ValueError, match=r"power must be 1 or above, got 0\.5; try power=2"):
        scaled_cosine_error(torch.ones(2), torch.ones(2), 0.5)
    with pytest.raises(ValueError, match="scores must have width 5"):
        cell_losses(torch.zeros(1, 4), torch.zeros(1, 2, dtype=torch.long), (2, 3))
    assert scaled_cosine_error(torch.zeros(3), torch.ones(3)).item() == 1.0  # a vertex without features: a right angle
