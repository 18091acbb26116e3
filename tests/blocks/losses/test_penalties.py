"""Penalties by hand, as gradients, and against the weight decay of torch's optimizers."""

import pytest
import torch
from torch import Tensor, nn

from cutaway.blocks import Dense, LayerNorm, l1_penalty, l2_penalty


def test_by_hand():
    weights = [torch.tensor([[1.0, -2.0]]), torch.tensor([3.0])]
    assert l1_penalty(weights) == 6
    assert l2_penalty(weights) == 7  # (1 + 4 + 9)/2
    assert l1_penalty(iter(weights)) == 6


def test_a_models_weights_without_its_biases_and_gains(float64):
    model = nn.Sequential(Dense(3, 7), LayerNorm(7), nn.Conv1d(7, 2, 3))
    for p in model.parameters():
        nn.init.normal_(p)
    weights = [model[0].linear.weight, model[2].weight]
    torch.testing.assert_close(l2_penalty(model), sum(w.square().sum() for w in weights) / 2)
    torch.testing.assert_close(l1_penalty(model), sum(w.abs().sum() for w in weights))


def test_gradients_are_the_sign_and_the_weight(float64):
    w = torch.tensor([2.0, -3.0, 0.0], requires_grad=True)
    assert torch.equal(torch.autograd.grad(l1_penalty([w]), w)[0], torch.tensor([1.0, -1.0, 0.0]))
    assert torch.equal(torch.autograd.grad(l2_penalty([w]), w)[0], w)


def trained(make, penalty: float, steps: int = 20) -> Tensor:
    """The weights of a small regression after some steps of an optimizer, with λ L2 added to the cost."""
    torch.manual_seed(0)
    w = nn.Parameter(torch.randn(7, 1))
    x, y = torch.randn(50, 7), torch.randn(50, 1)
    optimizer = make([w])
    for _ in range(steps):
        optimizer.zero_grad()
        cost = (x @ w - y).square().mean() + penalty * l2_penalty([w])
        cost.backward()
        optimizer.step()
    return w.detach()


def test_for_plain_sgd_the_l2_penalty_is_weight_decay(float64):
    penalised = trained(lambda w: torch.optim.SGD(w, lr=0.1), penalty=0.3)
    decayed = trained(lambda w: torch.optim.SGD(w, lr=0.1, weight_decay=0.3), penalty=0.0)
    torch.testing.assert_close(penalised, decayed)
    assert not torch.allclose(penalised, trained(lambda w: torch.optim.SGD(w, lr=0.1), penalty=0.0))


def test_for_adam_the_l2_penalty_is_not_the_weight_decay_of_adamw(float64):
    penalised = trained(lambda w: torch.optim.Adam(w, lr=0.05), penalty=0.3)
    coupled = trained(lambda w: torch.optim.Adam(w, lr=0.05, weight_decay=0.3), penalty=0.0)
    decoupled = trained(lambda w: torch.optim.AdamW(w, lr=0.05, weight_decay=0.3), penalty=0.0)
    torch.testing.assert_close(penalised, coupled)  # torch's Adam adds λ w to the gradient, as the penalty does
    # the two paths part by far more than rounding: by at least a tenth of one step of size lr
    assert (penalised - decoupled).abs().max().item() > 0.005


@pytest.mark.parametrize("decay", [0.01, 0.1])
def test_adam_divides_the_penalty_by_the_size_of_the_gradient(decay, float64):
    """Where the gradient is the penalty's alone, Adam's first step is lr whatever λ; AdamW's is lr λ w."""

    def first_step(make) -> float:
        w = nn.Parameter(torch.tensor([2.0]))
        optimizer = make([w])
        w.grad = torch.zeros(1)
        optimizer.step()
        return 2.0 - w.item()

    assert first_step(lambda w: torch.optim.Adam(w, lr=0.05, weight_decay=decay)) == pytest.approx(0.05, rel=1e-5)
    assert first_step(lambda w: torch.optim.AdamW(w, lr=0.05, weight_decay=decay)) == pytest.approx(0.1 * decay)


def test_l1_leaves_zeros_where_l2_only_shrinks(float64):
    """The closed forms for one weight under ½(w − a)²: soft threshold max(|a| − λ, 0), and a/(1 + λ)."""
    a = torch.tensor([2.0, 0.3])
    for penalty, expected in [(l1_penalty, torch.tensor([1.5, 0.0])), (l2_penalty, a / 1.5)]:
        w = a.clone().requires_grad_()
        for _ in range(2000):
            slope = torch.autograd.grad((w - a).square().sum() / 2 + 0.5 * penalty([w]), w)[0]
            w = (w - 0.01 * slope).detach().requires_grad_()
        torch.testing.assert_close(w.detach(), expected, atol=0.01, rtol=0)


def test_nothing_to_penalise():
    with pytest.raises(
        ValueError, match="a penalty needs a weight, got a ReLU without any; pass a model that has weight"
    ):
        l2_penalty(nn.ReLU())
    with pytest.raises(ValueError, match="a penalty needs a weight, got a list without any"):
        l1_penalty([])
