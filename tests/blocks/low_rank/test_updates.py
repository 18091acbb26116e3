"""Low-rank updates: by hand, their start, their scale, and ranks that no matrix has."""

import pytest
import torch

from cutaway.blocks import LowRank, low_rank_update


def test_by_hand():
    x, a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0]]), torch.tensor([[1.0], [2.0]])
    assert low_rank_update(x, a, b, 0.5).tolist() == [[0.5 * (1 * 1 + 6 * 2)]]


def test_it_starts_at_zero_and_draws_a_as_a_linear_layer_does():
    update = LowRank(64, 5, rank=3)
    assert torch.equal(update(torch.randn(2, 64)), torch.zeros(2, 5))
    assert update.a.abs().max() <= 1 / 8
    assert update.a.std().item() == pytest.approx(1 / 8 / 3**0.5, rel=0.1)


@pytest.mark.parametrize(("alpha", "rooted", "scale"), [(None, False, 1.0), (8, False, 2.0), (8, True, 4.0)])
def test_scale(alpha, rooted, scale):
    update = LowRank(7, 5, rank=4, alpha=alpha, rooted=rooted)
    assert update.scale == scale
    torch.nn.init.normal_(update.b)
    x = torch.randn(3, 7)
    torch.testing.assert_close(update(x), scale * x @ update.a @ update.b)
    torch.testing.assert_close(x @ update.change(torch.randn(7, 5)), update(x))


def test_a_rank_above_that_of_the_matrix_is_refused():
    with pytest.raises(ValueError, match=r"rank must be at most .* got rank=6 for 7 × 5; try rank=5"):
        LowRank(7, 5, rank=6)
    with pytest.raises(ValueError, match="rank must be above 0, got 0"):
        LowRank(7, 5, rank=0)
    with pytest.raises(ValueError, match=r"dropout must be .* got 1.5"):
        LowRank(7, 5, dropout=1.5)
