"""Noise: its size, where it acts, and that clean weights come back bit for bit."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import cutaway as cut
from cutaway.blocks import Dense, GaussianNoise, flip_labels, gaussian_noise, label_smoothing, noisy_weights


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_noise_has_the_scale_asked_for(float64):
    noise = gaussian_noise(torch.full((100_000,), 3.0), 0.5) - 3
    assert noise.mean().item() == pytest.approx(0, abs=6 * 0.5 / 100_000**0.5)
    assert noise.std().item() == pytest.approx(0.5, rel=0.02)


def test_one_seed_is_one_noise_in_every_precision():
    x = torch.zeros(11)
    noise = gaussian_noise(x, 1.0, generator())
    assert torch.equal(gaussian_noise(x.double(), 1.0, generator()), noise.double())
    assert torch.equal(gaussian_noise(x.bfloat16(), 1.0, generator()), noise.bfloat16())
    assert not torch.equal(gaussian_noise(x, 1.0, generator(1)), noise)


def test_the_module_adds_noise_in_training_alone():
    layer, x = GaussianNoise(0.5), torch.randn(5, 3)
    with cut.trace(layer, "noise") as seen:
        y = layer(x)
    assert torch.equal(y, x + seen["noise"])
    assert not torch.equal(y, x)
    assert torch.equal(layer.eval()(x), x)
    with cut.patch(layer.train(), {"noise": 1.0}):
        assert torch.equal(layer(x), x + 1)


def test_input_noise_on_a_linear_model_is_an_l2_penalty(float64):
    """Bishop 1995: E (y − w(x + sε))² = (y − wx)² + s² ‖w‖²."""
    w, x, s, n = torch.randn(7), torch.randn(7), 0.3, 200_000
    errors = (1.0 - gaussian_noise(x.expand(n, 7), s) @ w).square()
    expected = (1.0 - x @ w).square() + s**2 * w.square().sum()
    assert errors.mean().item() == pytest.approx(expected.item(), abs=6 * errors.std().item() / n**0.5)


def test_noisy_weights_are_noisy_inside_and_clean_after():
    model = nn.Sequential(Dense(300, 200), nn.BatchNorm1d(200))
    clean = {name: value.clone() for name, value in model.state_dict().items()}
    with noisy_weights(model, 0.1, generator()):
        inside = {name: p.detach().clone() for name, p in model.named_parameters()}
    for name, value in model.state_dict().items():
        assert torch.equal(value, clean[name])
    noise = inside["0.linear.weight"] - clean["0.linear.weight"]
    assert noise.std().item() == pytest.approx(0.1, rel=0.02)
    assert all(not torch.equal(inside[name], clean[name]) for name in inside)


def test_clean_weights_come_back_bit_for_bit():
    model = nn.Linear(3, 3)
    model.weight.data[0] = torch.tensor([float("nan"), -0.0, 1e-45])  # what W + ε − ε would not give back
    bits = model.weight.detach().view(torch.int32).clone()

    def fail():
        with noisy_weights(model, 0.1), noisy_weights(model, 0.1):
            raise KeyError("mid-way")

    with pytest.raises(KeyError, match="mid-way"):
        fail()
    assert torch.equal(model.weight.view(torch.int32), bits)


def test_training_with_weight_noise(float64):
    """The gradient is taken at the noisy weights, the step from the clean ones."""
    model = nn.Linear(3, 1, bias=False)
    clean = model.weight.detach().clone()
    x = torch.randn(11, 3)
    with noisy_weights(model, 0.1, generator()):
        noisy = model.weight.detach().clone()
        model(x).square().mean().backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    gradient = 2 / 11 * (x @ noisy.T).T @ x  # of mean (x w)²
    torch.testing.assert_close(model.weight, nn.Parameter(clean - 0.5 * gradient))


def test_a_backward_pass_left_for_later_raises():
    model = nn.Linear(3, 1)
    x = torch.randn(11, 3, requires_grad=True)
    with noisy_weights(model, 0.1):
        y = model(x).sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@given(rate=st.floats(0, 1), classes=st.integers(2, 11))
def test_flipped_labels_are_labels_of_another_class(rate, classes):
    labels = torch.randint(classes, (2, 50))
    flipped = flip_labels(labels, rate, classes)
    assert flipped.dtype == labels.dtype
    assert flipped.min() >= 0
    assert flipped.max() < classes
    if rate == 1:
        assert (flipped != labels).all()
    if rate == 0:
        assert torch.equal(flipped, labels)


def test_flips_happen_at_their_rate_and_favour_no_class():
    n = 60_000
    flipped = flip_labels(torch.full((n,), 2), 0.3, 4, generator())
    counts = torch.bincount(flipped, minlength=4) / n
    torch.testing.assert_close(counts, torch.tensor([0.1, 0.1, 0.7, 0.1]), atol=6 * 0.5 / n**0.5, rtol=0)
    assert torch.equal(flipped, flip_labels(torch.full((n,), 2), 0.3, 4, generator()))


def test_label_smoothing_by_hand():
    # 0.2 spread over 4 classes is 0.05 each
    expected = torch.tensor([[0.05, 0.05, 0.85, 0.05]])
    torch.testing.assert_close(label_smoothing(torch.tensor([2]), 0.2, 4), expected)
    torch.testing.assert_close(label_smoothing(torch.tensor([[0.0, 0.0, 1.0, 0.0]]), 0.2), expected)


def test_label_smoothing_is_the_one_inside_torchs_loss(float64):
    logits, labels = torch.randn(11, 7), torch.randint(7, (11,))
    ours = nn.functional.cross_entropy(logits, label_smoothing(labels, 0.1, 7))
    torch.testing.assert_close(ours, nn.functional.cross_entropy(logits, labels, label_smoothing=0.1))


@given(amount=st.floats(0, 1), classes=st.integers(2, 11))
def test_smoothed_labels_are_probabilities(amount, classes):
    q = label_smoothing(torch.randint(classes, (5,)), amount, classes)
    torch.testing.assert_close(q.sum(-1), torch.ones(5))
    assert q.min() >= 0


@pytest.mark.parametrize("make", [GaussianNoise, lambda s: gaussian_noise(torch.ones(3), s)])
def test_bad_scales(make):
    with pytest.raises(ValueError, match=r"scale must be 0 or above, got -0.1; it is the standard deviation"):
        make(-0.1)


def test_bad_settings():
    labels = torch.tensor([0, 1])
    with pytest.raises(ValueError, match="rate must be a probability from 0 to 1, got 30"):
        flip_labels(labels, 30, 4)
    with pytest.raises(ValueError, match="classes must be 2 or more, got 1; count the classes"):
        flip_labels(labels, 0.3, 1)
    with pytest.raises(ValueError, match=r"amount must be a probability from 0 to 1, got -0.1"):
        label_smoothing(labels, -0.1, 4)
    with pytest.raises(ValueError, match="label smoothing of class numbers needs classes, got none; pass classes="):
        label_smoothing(labels, 0.1)
    with pytest.raises(ValueError, match=r"the last axis of targets must have width 4, got shape \(5, 3\)"):
        label_smoothing(torch.rand(5, 3), 0.1, 4)


@pytest.mark.untyped
def test_bad_dtypes():
    with pytest.raises(
        ValueError, match=r"labels must be class numbers, got torch.float32; convert .* labels.long\(\)"
    ):
        flip_labels(torch.ones(3), 0.1, 4)
    with pytest.raises(ValueError, match=r"labels must be class numbers, got torch.bool"):
        label_smoothing(torch.ones(3) > 0, 0.1, 4)
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        GaussianNoise(0.1)(torch.ones(3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        gaussian_noise(torch.ones(3, dtype=torch.long), 0.1)


@pytest.mark.untyped
def test_label_smoothing_of_class_numbers_compiles():
    smooth = torch.compile(lambda y: label_smoothing(y, 0.1, 7), fullgraph=True, backend="aot_eager")
    labels = torch.randint(7, (5,))
    assert torch.equal(smooth(labels), label_smoothing(labels, 0.1, 7))
