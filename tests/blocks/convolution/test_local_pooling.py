"""Pooling over windows of time: by hand, beside torch's, and rows of different lengths."""

import pytest
import torch
from torch import nn

from cutaway.blocks import max_pool_steps, mean_pool_steps

X = torch.tensor([1.0, 5, 2, 3, 9, 7])[:, None]


def test_by_hand():
    assert max_pool_steps(X, 3).flatten().tolist() == [5, 9]
    assert mean_pool_steps(X, 3, 1).flatten().tolist() == pytest.approx([8 / 3, 10 / 3, 14 / 3, 19 / 3])
    # five real steps: the last window has one of them
    assert max_pool_steps(-X[None], 2, lengths=torch.tensor([5])).flatten().tolist() == [-1, -2, -9]
    assert mean_pool_steps(X[None], 2, lengths=torch.tensor([3])).flatten().tolist() == [3, 2, 0]
    assert max_pool_steps(-X[None], 2, lengths=torch.tensor([0])).flatten().tolist() == [0, 0, 0]


@pytest.mark.parametrize(("kernel", "stride"), [(2, None), (3, 2), (4, 1)])
def test_equal_to_torch(float64, kernel, stride):
    x = torch.randn(2, 3, 11, 5)
    flat = x.flatten(0, 1).mT
    for ours, theirs in ((max_pool_steps, nn.functional.max_pool1d), (mean_pool_steps, nn.functional.avg_pool1d)):
        expected = theirs(flat, kernel, stride).mT.unflatten(0, (2, 3))
        torch.testing.assert_close(ours(x, kernel, stride), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"at least kernel=7 steps, got \(6, 1\); try a smaller kernel"):
        max_pool_steps(X, 7)
    with pytest.raises(ValueError, match=r"stride must be above 0, got 0"):
        mean_pool_steps(X, 2, 0)
