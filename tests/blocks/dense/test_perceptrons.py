"""The perceptron's rule by hand and against scikit-learn, Novikoff's bound, and XOR."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cutaway as cut
from cutaway.blocks import Perceptron, perceptron_step

CORNERS = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
AND, OR, XOR = torch.tensor([0, 0, 0, 1]), torch.tensor([0, 1, 1, 1]), torch.tensor([0, 1, 1, 0])


def test_step_by_hand():
    """x = (1, 2), W = (1, −1)ᵀ, b = 0: s = −1, so ŷ = 0; with y = 1 and ε = ½ the example is added, halved."""
    W, b, x = torch.tensor([[1.0], [-1.0]]), torch.zeros(1), torch.tensor([1.0, 2.0])
    new_W, new_b = perceptron_step(W, b, x, torch.tensor([1.0]), rate=0.5)
    assert torch.equal(new_W, torch.tensor([[1.5], [0.0]]))
    assert torch.equal(new_b, torch.tensor([0.5]))
    assert torch.equal(W, torch.tensor([[1.0], [-1.0]]))  # a pure function
    same_W, same_b = perceptron_step(W, b, x, torch.tensor([0.0]))  # right already
    assert torch.equal(same_W, W)
    assert torch.equal(same_b, b)


def test_or_by_hand():
    """From 0. Epoch 1: (0,0)→1 wrong, b=−1; (0,1): −1→0 wrong, w=(0,1), b=0; the others give 0→1 and 1→1.
    Epoch 2: (0,0): 0→1 wrong, b=−1; (0,1): 0→1; (1,0): −1→0 wrong, w=(1,1), b=0; (1,1). Epoch 3: (0,0) wrong, b=−1;
    then sums 0, 0, 1 are right. Epoch 4: none."""
    p = Perceptron(2)
    assert p.fit(CORNERS, OR) == [2, 2, 1, 0]
    assert p.weight.tolist() == [[1.0], [1.0]]
    assert p.bias.tolist() == [-1.0]


@pytest.mark.parametrize("y", [AND, OR, 1 - AND, 1 - OR])
def test_learns_what_a_line_separates(y: torch.Tensor):
    p = Perceptron(2)
    assert p.fit(CORNERS, y)[-1] == 0
    assert torch.equal(p(CORNERS), y.unsqueeze(-1).float())
    assert p.fit(CORNERS, y) == [0]  # and rests


@pytest.mark.parametrize("y", [XOR, 1 - XOR])
def test_never_learns_xor(y: torch.Tensor):
    p = Perceptron(2)
    mistakes = p.fit(CORNERS, y, epochs=300)
    assert len(mistakes) == 300
    assert min(mistakes) > 0
    assert (p(CORNERS).squeeze(-1) == y).float().mean().item() < 1


@given(st.integers(0, 10_000), st.floats(0.05, 0.5), st.integers(1, 5))
@settings(max_examples=25)
def test_mistake_bound(seed: int, margin: float, inputs: int):
    """Novikoff: with u a unit vector, (x, 1)ᵀu at least γ from 0 on the right side, at most (R/γ)² mistakes."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(40, inputs, generator=g, dtype=torch.float64)
    u = torch.nn.functional.normalize(torch.randn(inputs + 1, generator=g, dtype=torch.float64), dim=0)
    one = torch.ones(40, 1, dtype=torch.float64)
    side = torch.cat([x, one], -1) @ u
    x, side = x[side.abs() > margin], side[side.abs() > margin]
    if len(x) == 0:
        return
    R = torch.cat([x, one[: len(x)]], -1).norm(dim=-1).max().item()
    gamma = side.abs().min().item()
    bound = (R / gamma) ** 2
    p = Perceptron(inputs).double()
    mistakes = p.fit(x, side > 0, epochs=int(bound) + 2)
    assert mistakes[-1] == 0
    assert sum(mistakes) <= bound


def test_same_steps_as_scikit_learn(float64):
    """Weight for weight, epoch for epoch. The first example is of class 0, since the two disagree at s = 0."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    x = torch.randn(60, 5)
    y = (x @ torch.randn(5) + 0.5 * torch.randn(60) > 0).long()
    y[0] = 0
    for epochs in (1, 2, 7):
        peer = linear_model.Perceptron(shuffle=False, tol=None, max_iter=epochs).fit(x.numpy(), y.numpy())
        ours = Perceptron(5)
        assert len(ours.fit(x, y, epochs)) == epochs
        torch.testing.assert_close(ours.weight.detach().T, torch.from_numpy(peer.coef_), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(ours.bias.detach(), torch.from_numpy(peer.intercept_), rtol=1e-12, atol=1e-12)


def test_iris_like_scikit_learn(float64):
    """Setosa against the rest is separable, versicolor is not."""
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.linear_model import Perceptron as Peer

    X, species = datasets.load_iris(return_X_y=True)
    x, y = torch.from_numpy(X), torch.from_numpy(species) == 0
    p = Perceptron(4)
    assert p.fit(x, y)[-1] == 0
    ours = (p(x).squeeze(-1) == y).double().mean().item()
    assert ours == Peer().fit(X, y.numpy()).score(X, y.numpy()) == 1
    assert 0 not in Perceptron(4).fit(x, torch.from_numpy(species) == 1, epochs=20)


def test_outputs_are_independent_perceptrons(float64):
    x = torch.randn(50, 3)
    y = (x @ torch.randn(3, 4) + torch.randn(4) > 0).long()
    together = Perceptron(3, 4)
    counts = together.fit(x, y, epochs=30)
    alone = [Perceptron(3) for _ in range(4)]
    each = [p.fit(x, y[:, j], epochs=30) for j, p in enumerate(alone)]
    torch.testing.assert_close(together.weight, torch.cat([p.weight for p in alone], -1))
    torch.testing.assert_close(together.bias, torch.cat([p.bias for p in alone]))
    assert sum(counts) == sum(map(sum, each))


def test_rate_only_scales_the_weights_from_zero(float64):
    x = torch.randn(50, 3)
    y = x @ torch.randn(3) > 0.3
    one, half = Perceptron(3), Perceptron(3)
    assert one.fit(x, y) == half.fit(x, y, rate=0.5)
    assert torch.equal(one.weight, 2 * half.weight)


def test_gradients_pass_straight_through_and_taps_hold_the_sums():
    p, x = Perceptron(2), CORNERS
    p.fit(x, AND)
    with cut.trace(p, "sums", "output") as seen:
        y = p(x)
    assert torch.equal(seen["sums"], x @ p.weight + p.bias)
    assert torch.equal(seen["output"], y)
    y.sum().backward()
    assert torch.equal(p.weight.grad, x.sum(0).unsqueeze(-1))
    assert repr(p).startswith("Perceptron(\n  2 → 1")


def test_bad_targets():
    p = Perceptron(2)
    with pytest.raises(
        ValueError, match=r"targets must be 0 or 1, got -1; labels of −1 and 1 become these by \(y > 0\)"
    ):
        p.fit(CORNERS, 2 * AND - 1)
    with pytest.raises(ValueError, match=r"targets must be 0 or 1, got 0.5; "):
        p.fit(CORNERS, torch.full((4,), 0.5))
    with pytest.raises(ValueError, match=r"targets must be 0 or 1, got nan; "):
        p.fit(CORNERS, torch.full((4,), torch.nan))
    with pytest.raises(
        ValueError, match=r"one entry per output, got shape \(4,\) for 4 examples and outputs=3; give it shape \(4, 3\)"
    ):
        Perceptron(2, 3).fit(CORNERS, AND)
    assert p.weight.tolist() == [[0.0], [0.0]]


def test_bad_values():
    with pytest.raises(ValueError, match="inputs must be above 0, got 0; try inputs=1"):
        Perceptron(0)
    with pytest.raises(ValueError, match="epochs must be above 0, got 0; try epochs=1"):
        Perceptron(2).fit(CORNERS, AND, epochs=0)
    with pytest.raises(ValueError, match="x must be finite, got -inf; leave such examples out"):
        Perceptron(2).fit(CORNERS.log(), AND)
    with pytest.raises(ValueError, match=r"x must hold at least one element, got shape \(0, 2\)"):
        Perceptron(2).fit(CORNERS[:0], AND[:0])


@pytest.mark.untyped
def test_bad_width():
    with pytest.raises(ValueError, match=r"the last axis of x must have width 2, got shape \(5, 3\)"):
        Perceptron(2)(torch.randn(5, 3))
