"""Dropout: its mean and variance, its modes, and predictions with dropout left on."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import BatchNorm, Dropout, Linear, dropout, dropping, monte_carlo
from cutaway.blocks.depth.dropouts import fast_dropout


def seeded(f, *args, **kwargs):
    torch.manual_seed(5)
    return f(*args, **kwargs)


def test_what_is_kept_is_scaled_up():
    x = torch.arange(1.0, 1001.0)
    y = dropout(x, 0.75)
    kept = y != 0
    assert torch.equal(y[kept], 4 * x[kept])
    # 250 of 1000 are expected, with standard deviation √(1000 · ¾ · ¼) < 14: six of them either way
    assert 166 <= kept.sum() <= 334


def test_mean_and_variance(float64):
    """E[y] = x, and Var[y] = x² rate / (1 − rate)."""
    rate, n = 0.2, 100_000
    y = dropout(torch.full((n,), 3.0), rate)
    variance = 9 * rate / (1 - rate)
    assert y.mean().item() == pytest.approx(3, abs=6 * (variance / n) ** 0.5)
    assert y.var().item() == pytest.approx(variance, rel=0.05)


def test_the_fused_kernel_draws_the_same(float64):
    x = torch.randn(11, 7)
    module = Dropout(0.3)
    torch.testing.assert_close(seeded(dropout, x, 0.3), seeded(nn.functional.dropout, x, 0.3))
    y = seeded(module, x)
    assert torch.equal(y, seeded(nn.functional.dropout, x, 0.3))
    with cut.patch(module, {"kept": lambda m: m}):
        torch.testing.assert_close(seeded(module, x), y)
    with cut.trace(module, "kept") as seen:
        assert torch.equal(seeded(module, x), y)
    assert torch.equal(seen["kept"], (y != 0).double())


def test_an_edited_mask(float64):
    module = Dropout(0.5)
    with cut.patch(module, {"kept": torch.tensor([1.0, 0.0, 1.0])}):
        assert torch.equal(module(torch.ones(2, 3)), torch.tensor([[2.0, 0.0, 2.0], [2.0, 0.0, 2.0]]))


def test_gradients_flow_where_values_do(float64):
    x = torch.ones(100, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_evaluation_is_the_identity_and_rate_zero_keeps_all():
    x = torch.randn(5, 3)
    assert torch.equal(Dropout(0.9).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(dropout(x, 0.0), x)


def test_a_generator_of_ones_own():
    x = torch.ones(1000)
    state = torch.get_rng_state()
    first = dropout(x, 0.5, generator=torch.Generator().manual_seed(1))
    assert torch.equal(first, dropout(x, 0.5, generator=torch.Generator().manual_seed(1)))
    assert not torch.equal(first, dropout(x, 0.5, generator=torch.Generator().manual_seed(2)))
    assert torch.equal(torch.get_rng_state(), state)


class Net(nn.Module):
    """Dropout of each kind: our module, torch's, and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.ours, self.theirs, self.linear = BatchNorm(3), Dropout(0.2), nn.Dropout(0.2), Linear(3, 7)
        self.dropout = 0.2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(self.theirs(self.ours(self.norm(x))))
        return nn.functional.dropout(y, self.dropout, self.training)


def test_dropping_switches_on_dropout_alone_and_restores():
    net = Net().eval()
    net.linear.train()  # a mixture that no .train() or .eval() would bring back
    before = {name: module.training for name, module in net.named_modules()}

    def modes():
        return {name: module.training for name, module in net.named_modules()}

    with dropping(net):
        on = {name for name, training in modes().items() if training}
        assert on == {"", "ours", "theirs"}
    assert modes() == before

    def fail():
        with dropping(net):
            raise KeyError("mid-way")

    with pytest.raises(KeyError, match="mid-way"):
        fail()
    assert modes() == before


def test_monte_carlo_is_the_mean_and_deviation_of_passes():
    net, x = Net(), torch.randn(5, 3)
    average, deviation = monte_carlo(net, x, samples=20, seed=7)
    with dropping(net), torch.no_grad():
        torch.manual_seed(7)
        passes = torch.stack([net(x) for _ in range(20)])
    torch.testing.assert_close(average, passes.mean(0))
    torch.testing.assert_close(deviation, passes.std(0))
    assert not average.requires_grad


def test_monte_carlo_of_one_dropped_weight_sum(float64):
    """y = Σ wᵢ xᵢ mᵢ/(1 − r) has mean Σ wᵢ xᵢ and variance r/(1 − r) Σ (wᵢ xᵢ)²."""
    linear = Linear(7, 1, bias=False)
    x = torch.randn(7)
    found = monte_carlo(nn.Sequential(Dropout(0.3), linear), x, samples=4000, seed=0)
    terms = x * linear.weight[:, 0]
    deviation = (0.3 / 0.7 * terms.square().sum()).sqrt().item()
    assert found.mean.item() == pytest.approx(terms.sum().item(), abs=5 * deviation / 4000**0.5)
    assert found.std.item() == pytest.approx(deviation, rel=0.1)


def test_monte_carlo_leaves_model_and_random_stream_as_they_were():
    net, x = Net(), torch.randn(5, 3)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    state = torch.get_rng_state()
    first = monte_carlo(net, x, samples=3, seed=1)
    assert torch.equal(torch.get_rng_state(), state)
    assert net.training
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name])
    assert torch.equal(monte_carlo(net, x, samples=3, seed=1).std, first.std)
    assert not torch.equal(monte_carlo(net, x, samples=3).std, monte_carlo(net, x, samples=3).std)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 50])
def test_bad_rates(rate):
    message = f"rate must be from 0 to below 1, got {rate}; a rate of 1 would drop everything, try rate=0.5"
    with pytest.raises(ValueError, match=message):
        Dropout(rate)
    with pytest.raises(ValueError, match=message):
        dropout(torch.ones(3), rate)


def test_bad_models():
    with pytest.raises(ValueError, match="only where a rate is above 0, got a Sequential without one; build the model"):
        monte_carlo(nn.Sequential(Linear(3, 3), Dropout(0.0)), torch.randn(5, 3))
    with pytest.raises(ValueError, match="needs samples of 2 or more, got 1; try samples=100"):
        monte_carlo(Net(), torch.randn(5, 3), samples=1)


@pytest.mark.untyped
def test_bad_dtype():
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        Dropout(0.5)(torch.ones(3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        dropout(torch.ones(3, dtype=torch.long), 0.5)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9])
def test_fast_dropout_keeps_the_mean_and_drops_at_its_rate(rate):
    torch.manual_seed(0)
    x = torch.full((301, 333), 2.0, requires_grad=True)
    y = fast_dropout(x, rate)
    count = x.numel()
    share = (y == 0).double().mean().item()
    assert abs(share - rate) < 4 * (rate * (1 - rate) / count) ** 0.5 + 2**-16
    torch.testing.assert_close(y[y != 0], torch.full_like(y[y != 0], 2 / (1 - rate)), rtol=1e-4, atol=0)
    y.sum().backward()
    torch.testing.assert_close(x.grad * 2, y)  # the same values are dropped on the way back


def test_fast_dropout_drops_each_value_by_itself():
    torch.manual_seed(0)
    kept = (fast_dropout(torch.ones(20_000, 8), 0.3) > 0).double()
    correlation = torch.corrcoef(kept.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / 20_000**0.5


@pytest.mark.parametrize("x", [torch.ones(()), torch.ones(1), torch.ones(3, 0), torch.ones(5, 7).double().mT])
def test_fast_dropout_follows_the_seed_and_takes_odd_shapes(x):
    found = [seeded(fast_dropout, x, 0.5) for _ in range(2)]
    assert torch.equal(*found)
    assert found[0].shape == x.shape
    assert found[0].dtype == x.dtype
    assert fast_dropout(x, 1.0).count_nonzero() == 0
