"""Running scales: the product with a matrix equals the sum written out, and the recursion that sampling uses."""

import torch

from cutaway.models.forecasting.running_scales import HALF_LIVES, Running, decays, observations, running


def example() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    error, step, level = torch.randn(3, 2, 40, dtype=torch.float64)
    weights = (torch.rand(2, 40) > 0.2).double()
    return observations(error, step, level), weights


def test_the_product_is_the_sum_written_out():
    new, weights = example()
    found = running(new, weights, 7)
    for at in range(7):
        t = 33 + at
        for j, h in enumerate(HALF_LIVES):
            decay = 0.5 ** (torch.arange(t - 1, -1, -1).double() / h)
            torch.testing.assert_close(found.sums[j, :, at], (decay * weights[:, :t] * new[j, :, :t]).sum(1))
            torch.testing.assert_close(found.counts[j, :, at], (decay * weights[:, :t]).sum(1))


def test_the_recursion_goes_on_where_the_product_ends():
    new, _ = example()
    ones = torch.ones(2, 40).double()
    found = running(new, ones, 2)
    before = Running(found.sums[..., 0], found.counts[..., 0])
    after = before.extended(new[..., 38])
    torch.testing.assert_close(after.sums, found.sums[..., 1])
    torch.testing.assert_close(after.counts, found.counts[..., 1])


def test_without_observations_it_is_the_prior():
    none = Running(torch.zeros(len(HALF_LIVES), 3), torch.zeros(len(HALF_LIVES), 3))
    prior = torch.rand(len(HALF_LIVES), 3)
    assert torch.equal(none.values(prior), prior)


def test_what_comes_later_is_not_seen():
    new, weights = example()
    changed = new.clone()
    changed[..., 36:] += 100
    first, second = running(new, weights, 7), running(changed, weights, 7)
    assert torch.equal(first.sums[..., :4], second.sums[..., :4])
    assert not torch.equal(first.sums[..., 4:], second.sums[..., 4:])


def test_half_lives_halve():
    for h, decay in zip(HALF_LIVES, decays(torch.zeros(1, dtype=torch.float64)), strict=True):
        torch.testing.assert_close(decay**h, torch.tensor(0.5).double())
