"""Gradients and integrated gradients: closed forms, completeness, and a plain loop over the definition."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from look.languages import TOKENS, logits_of, ours, theirs
from torch import nn

import cutaway as cut
from cutaway.look import gradient_times_input, integrated_gradients, saliency

X = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
START = torch.tensor([0.25, 1.0, -1.0], dtype=torch.float64)


def test_a_linear_function():
    w = torch.tensor([2.0, 0.5, -3.0], dtype=torch.float64)
    f = lambda x: x @ w + 7
    assert saliency(f, X).values.tolist() == w.tolist()
    assert gradient_times_input(f, X).values.tolist() == [2.0, -1.0, -1.5]
    found = integrated_gradients(f, X, baseline=START, steps=1)
    assert found.values == pytest.approx((w * (X[0] - START)).numpy(), abs=1e-12)
    assert found.score == pytest.approx(2 - 1 - 1.5 + 7)
    assert found.baseline == pytest.approx(0.5 + 0.5 + 3 + 7)
    assert found.gap == pytest.approx(0, abs=1e-12)


def test_a_quadratic_function():
    """f = xᵀ A x: ∫ ∂f/∂x over the line is (A + Aᵀ)(x + x̄) / 2, and one node is exact for it."""
    a = torch.randn(3, 3, dtype=torch.float64)
    f = lambda x: torch.einsum("bi,ij,bj->b", x, a, x)
    found = integrated_gradients(f, X, baseline=START, steps=1)
    want = (X[0] - START) * ((a + a.T) @ (X[0] + START) / 2)
    assert found.values == pytest.approx(want.numpy(), abs=1e-12)
    assert saliency(f, X).values == pytest.approx(((a + a.T) @ X[0]).numpy(), abs=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_exact_for_polynomials_of_degree_two_steps(steps: int):
    """The gradient of x^(2n) has degree 2n − 1: n nodes integrate it exactly; that of x^(2n+2) they do not."""
    x = torch.full((1, 1), 2.0, dtype=torch.float64)
    assert integrated_gradients(lambda x: x ** (2 * steps), x, steps=steps).gap == pytest.approx(0, abs=1e-11)
    with pytest.warns(UserWarning, match=f"must add up to .* with steps={steps}; try steps={4 * steps}"):
        found = integrated_gradients(lambda x: x ** (2 * steps + 2), x, steps=steps, tolerance=1e-6)
    assert abs(found.gap) > 1e-3


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4)).double()


def test_against_a_plain_sum_over_many_steps():
    """The definition as it is written in the paper: a midpoint sum, one point after the other."""
    model, n = network(), 2000
    found = integrated_gradients(model, X, answer=2, wrong=1, baseline=START, steps=20)
    total = torch.zeros(3, dtype=torch.float64)
    for k in range(n):
        point = (START + (k + 0.5) / n * (X[0] - START)).requires_grad_()
        y = model(point)
        total += torch.autograd.grad(y[2] - y[1], point)[0] / n
    assert found.values == pytest.approx(((X[0] - START) * total).numpy(), abs=1e-7)
    assert found.gap == pytest.approx(0, abs=1e-12)
    y, y0 = model(X[0]), model(START)
    assert found.score - found.baseline == pytest.approx(((y[2] - y[1]) - (y0[2] - y0[1])).item(), abs=1e-12)
    assert found.values.sum() == pytest.approx(found.score - found.baseline, abs=1e-12)


def test_more_steps_than_one_pass_takes():
    model = network()
    one, many = (integrated_gradients(model, X, answer=0, steps=steps).values for steps in (30, 150))
    assert one == pytest.approx(many, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "design", "address"),
    [(ours, "gpt2", "embed"), (ours, "llama", "embed"), (theirs, "GPT2", "transformer.wte")],
)
def test_tokens_at_their_embedding(make: Callable[[str], nn.Module], design: str, address: str):
    model = make(design)
    found = saliency(model, TOKENS, 7, 21)
    assert found.at == address
    assert found.values.shape == (7, 12)
    with cut.trace(model, address, gradients=True) as seen:
        output = model(torch.tensor([TOKENS]))
        logits = getattr(output, "logits", output)[0, -1]
        (logits[7] - logits[21]).backward()
    assert found.values == pytest.approx(seen.gradient[address][0].numpy(), abs=1e-12)
    times = gradient_times_input(model, TOKENS, 7, 21)
    product = seen.gradient[address][0] * seen[address][0].detach()
    assert times.values == pytest.approx(product.numpy(), abs=1e-12)
    assert times.by_token == pytest.approx(product.sum(-1).numpy(), abs=1e-12)


def test_integrated_over_embeddings():
    """Complete, from the mean embedding, and against a loop with patches of our own."""
    model = ours("llama")
    found = integrated_gradients(model, TOKENS, 7, steps=64)
    x, start = model.embed.weight[TOKENS].detach(), model.embed.weight.detach().mean(0).expand(7, 12)
    assert found.score == pytest.approx(logits_of(model, TOKENS)[-1, 7].item(), abs=1e-12)
    assert found.gap == pytest.approx(0, abs=1e-8)
    total, n = torch.zeros_like(x), 60  # Simpson's rule
    for k in range(n + 1):
        weight = (1 if k in (0, n) else 4 if k % 2 else 2) / (3 * n)
        point = (start + k / n * (x - start))[None].requires_grad_()
        with cut.patch(model, {"embed": lambda _, point=point: point}):
            y = model(torch.tensor([TOKENS]))[0, -1, 7]
        total += weight * torch.autograd.grad(y, point)[0][0]
    assert found.values == pytest.approx(((x - start) * total).numpy(), abs=1e-4)


def test_a_value_further_inside():
    model = ours()
    found = integrated_gradients(model, TOKENS, 7, at="blocks.1", baseline=0.0, steps=200, tolerance=0.05)
    assert found.values.shape == (7, 12)
    assert np.abs(found.gap) < 0.05 * abs(found.score - found.baseline)


def test_the_model_and_the_mode_are_left_as_they_were():
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)).double().train()
    one, two = (saliency(model, X, answer=1).values for _ in range(2))
    assert one.tolist() == two.tolist()
    assert model.training
    assert all(p.grad is None for p in model.parameters())
    with torch.no_grad():  # gradients are asked for, so they are taken
        assert saliency(model, X, answer=1).values.tolist() == one.tolist()


def test_no_warning_where_nothing_is_missing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        integrated_gradients(network(), X, answer=0)
        integrated_gradients(lambda x: x.sum(-1) * 0, X)  # f(x) = f(baseline)


def test_messages():
    model = network()
    with pytest.raises(ValueError, match="answer must choose one of the 4 outputs, got None; try answer=0"):
        saliency(model, X)
    with pytest.raises(ValueError, match="answer must be from 0 to 3, got 4; the model's output has 4"):
        saliency(model, X, 4)
    with pytest.raises(ValueError, match=r"inputs must be a batch of one, got shape \(2, 3\); pass x\[:1\]"):
        saliency(model, X.expand(2, 3), 0)
    with pytest.raises(ValueError, match=r"depend on what it is attributed to .* got none back to the input; look for"):
        saliency(lambda x: x.detach(), X, 0)
    with pytest.raises(ValueError, match="got none back to '0'; look for a detach"):
        saliency(nn.Sequential(nn.Linear(3, 3), nn.Threshold(0, 0), Cut()).double(), X, 0, at="0")
    with pytest.raises(ValueError, match=r"real numbers to have gradients, got torch\.int64; pass the model itself"):
        saliency(lambda x: x, [1, 2], 0)
    with pytest.raises(
        ValueError, match=r"an address is in a model, got at='embed' with a function; pass the nn\.Module"
    ):
        saliency(lambda x: x, X, 0, at="embed")
    with pytest.raises(ValueError, match="got 'embd'; the nearest known are: embed"):
        saliency(ours(), TOKENS, 0, at="embd")
    with pytest.raises(ValueError, match=r"got Tensor \(7, 12\) of torch\.float64 at 'position\.rows'; choose another"):
        saliency(ours(), TOKENS, 0, at="position.rows")
    with pytest.raises(ValueError, match=r"one tensor of real numbers .*, got 3 values, the first .* at 'blocks\.\*'"):
        saliency(ours(), TOKENS, 0, at="blocks.*")
    with pytest.raises(ValueError, match="steps must be 1 or more, got 0; try steps=32"):
        integrated_gradients(model, X, 0, steps=0)
    with pytest.raises(ValueError, match=r"baseline must broadcast to the value's shape \(1, 3\), got \(2,\); give it"):
        integrated_gradients(model, X, 0, baseline=torch.zeros(2))
    with pytest.raises(ValueError, match=r"an output must be \(batch, classes\) .* got shape \(1, 3, 1, 1\); wrap"):
        saliency(lambda x: x[..., None, None], X, 0)
    with pytest.raises(ValueError, match="a tensor or something with logits, got dict; wrap it in a function"):
        saliency(lambda x: {}, X, 0)
    with torch.inference_mode(), pytest.raises(ValueError, match=r"outside of torch\.inference_mode\(\), got it on"):
        saliency(model, X, 0)


class Cut(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.argmax(-1, keepdim=True).to(x).expand(-1, 3)
