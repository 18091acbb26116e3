"""The effective rank: by hand and by its laws."""

import math

import pytest
import torch

from cutaway.blocks import effective_rank


def test_by_hand():
    torch.testing.assert_close(effective_rank(torch.eye(4)), torch.tensor(4.0))
    torch.testing.assert_close(effective_rank(torch.ones(3, 5)), torch.tensor(1.0))
    halves = torch.diag(torch.tensor([2.0, 1.0, 1.0]))  # entropy of ½, ¼, ¼
    torch.testing.assert_close(effective_rank(halves), torch.tensor(math.exp(1.5 * math.log(2))))
    assert effective_rank(torch.zeros(3, 2)) == 0


def test_it_is_never_above_the_rank(float64):
    low = torch.randn(7, 2) @ torch.randn(2, 9)
    assert 1 <= effective_rank(low) <= 2 + 1e-6
    torch.testing.assert_close(effective_rank(5 * low), effective_rank(low))
    torch.testing.assert_close(effective_rank(low.T), effective_rank(low))


@pytest.mark.untyped
def test_mistakes():
    with pytest.raises(ValueError, match=r"matrix must have two axes, got shape \(3,\)"):
        effective_rank(torch.ones(3))
