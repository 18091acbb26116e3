"""N4's party and N0's lookup table: their numbers and their claims."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import cutaway as cut
from cutaway.blocks import (
    Forgetting,
    GatedSummary,
    decay_weights,
    forgetting_gate,
    forgetting_weights,
    lookup,
    soft_lookup,
)


def test_decay_by_hand():
    """N4: five people, γ⁴ for the first and γ⁰ for the last."""
    g = 0.9
    torch.testing.assert_close(decay_weights(5, g), torch.tensor([g**4, g**3, g**2, g, 1.0]))
    assert decay_weights(3, 0.0).tolist() == [0, 0, 1]
    assert decay_weights(3, 1.0).tolist() == [1, 1, 1]


@given(gamma=st.floats(0.01, 0.99), n=st.integers(1, 30))
def test_decay_is_the_recurrence_written_out(gamma: float, n: int):
    """h ← γ h + x, from h = 0, is Σ γ^{n−i} x_i."""
    x = torch.randn(n, dtype=torch.float64)
    h = torch.zeros((), dtype=torch.float64)
    for x_i in x:
        h = gamma * h + x_i
    torch.testing.assert_close(decay_weights(n, torch.tensor(gamma, dtype=torch.float64)) @ x, h)


def test_decay_forgets_the_first_a_gate_need_not():
    """The star comes first and stays: N4's 1.0, 0.1, 0.1, 0.5, 0.1 against γ⁴."""
    wanted = torch.tensor([0.99, 0.1, 0.1, 0.5, 0.1])
    people = torch.logit(wanted).unsqueeze(-1)  # one feature, which the gate reads as it is
    torch.testing.assert_close(forgetting_gate(people, torch.ones(1)), wanted)
    assert decay_weights(5, 0.5)[0] == 1 / 16


def test_normalised_gates_of_the_notes():
    """N4: 0.70 + 0.04 + 0.03 + 0.20 + 0.03 = 1.0; the softmax of their logarithms."""
    wanted = torch.tensor([0.70, 0.04, 0.03, 0.20, 0.03])
    ours = forgetting_weights(wanted.log().unsqueeze(-1), torch.ones(1))
    torch.testing.assert_close(ours, wanted)
    assert ours.sum().item() == pytest.approx(1)


def test_same_as_torch(float64):
    x, theta, bias = torch.randn(2, 5, 3), torch.randn(3), torch.tensor(0.7)
    torch.testing.assert_close(forgetting_gate(x, theta, bias), torch.sigmoid((x * theta).sum(-1) + bias))
    torch.testing.assert_close(forgetting_weights(x, theta), torch.softmax((x * theta).sum(-1), -1))


@given(n=st.integers(1, 50), seed=st.integers(0, 100), size=st.floats(0, 1000))
def test_weights_sum_to_one(n: int, seed: int, size: float):
    draw = torch.Generator().manual_seed(seed)
    x = size * torch.randn(2, n, 3, generator=draw, dtype=torch.float64)
    w = forgetting_weights(x, torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close(w.sum(-1), torch.ones(2, dtype=torch.float64))
    assert (w >= 0).all()


def test_weights_are_the_odds_of_the_gates(float64):
    x, theta = torch.randn(5, 3), torch.randn(3)
    gates = forgetting_gate(x, theta)
    odds = gates / (1 - gates)
    torch.testing.assert_close(forgetting_weights(x, theta), odds / odds.sum())


def test_masked_people_are_not_there(float64):
    x, theta = torch.randn(2, 5, 3), torch.randn(3)
    mask = torch.tensor([[True, True, False, True, False], [False] * 5])
    w = forgetting_weights(x, theta, mask)
    torch.testing.assert_close(w[0, mask[0]], forgetting_weights(x[0, mask[0]], theta))
    assert not w[0, ~mask[0]].any()
    assert torch.equal(w[1], torch.zeros(5))


@pytest.mark.parametrize("make", [Forgetting, GatedSummary])
def test_the_context_vector_has_a_fixed_length(make):
    layer = make(3, 7)
    assert {layer(torch.randn(n, 3)).shape for n in (1, 2, 10, 500)} == {(7,)}


@pytest.mark.parametrize("make", [Forgetting, GatedSummary])
def test_the_order_does_not_matter(make, float64):
    layer, x = make(3, 7), torch.randn(2, 9, 3)
    torch.testing.assert_close(layer(x[:, torch.randperm(9)]), layer(x))


def test_modules_are_their_equations(float64):
    x, gated, shared = torch.randn(2, 5, 3), Forgetting(3, 7), GatedSummary(3, 7)
    gates = forgetting_gate(x, gated.gate.weight[:, 0], gated.gate.bias[0])
    torch.testing.assert_close(gated(x), (gates[..., None] * gated.value(x)).sum(1))
    weights = forgetting_weights(x, shared.gate.weight[:, 0])
    torch.testing.assert_close(shared(x), (weights[..., None] * shared.value(x)).sum(1))


@pytest.mark.parametrize("make", [Forgetting, GatedSummary])
def test_padding_changes_nothing(make, float64):
    layer, x = make(3, 7), torch.randn(5, 3)
    padded = torch.cat((x, 100 * torch.randn(2, 3)))
    torch.testing.assert_close(layer(padded, torch.arange(7) < 5), layer(x))
    assert torch.equal(layer(x, torch.zeros(5, dtype=torch.bool)), torch.zeros(7))


def test_a_gate_can_attend_to_everyone_a_share_cannot(float64):
    """N4: "This form of attention will learn to pay attention to everyone!"

    Asked to copy what a hundred people said in sum, the gates open; the shares cannot, whatever they learn.
    """
    x = torch.cat((torch.ones(100, 1), torch.randn(100, 1)), 1)
    gated, shared = Forgetting(2, 2), GatedSummary(2, 2)
    for layer in (gated, shared):
        layer.gate.weight.data.fill_(0)
        layer.value.weight.data = torch.eye(2)
        layer.value.bias.data.fill_(0)
    gated.gate.bias.data.fill_(50)
    torch.testing.assert_close(gated(x), x.sum(0))
    torch.testing.assert_close(shared(x), x.mean(0))


def test_taps_hold_the_values_of_the_equation():
    layer, x = GatedSummary(3, 7), torch.randn(5, 3)
    with cut.trace(layer, "gates", "weights", "output") as seen:
        y = layer(x)
    theta = layer.gate.weight[:, 0]
    torch.testing.assert_close(seen["gates"], forgetting_gate(x, theta))
    torch.testing.assert_close(seen["weights"], forgetting_weights(x, theta))
    assert torch.equal(seen["output"], y)
    other = Forgetting(3, 7)
    with cut.patch(other, {"gates": 1.0}):
        torch.testing.assert_close(other(x), other.value(x).sum(0))


def test_a_closed_gate_takes_somebody_out_of_memory(float64):
    layer, x = GatedSummary(3, 7), torch.randn(5, 3)
    star = torch.arange(5) == 0
    with cut.patch(layer, {"gates": lambda gates: gates * ~star}):
        y = layer(x)
        slopes = torch.autograd.grad(y.sum(), list(layer.parameters()))
    torch.testing.assert_close(y, layer(x[1:]))
    for mine, other in zip(slopes, torch.autograd.grad(layer(x[1:]).sum(), list(layer.parameters()))):
        torch.testing.assert_close(mine, other)
    with cut.patch(layer, {"gates": 0.0}):
        assert torch.equal(layer(x), torch.zeros(7))
    with cut.patch(layer, {"gates": 1.0}):  # everyone wide open: all alike
        torch.testing.assert_close(layer(x), layer.value(x).mean(0))


def test_lookup_of_the_notes():
    """N0, Example 2.3: lookup(e₃) = v₃, lookup(e₃ + 2 e₅) = v₃ + 2 v₅."""
    v, e = torch.randn(6, 4), torch.eye(6)
    assert torch.equal(lookup(e[2], v), v[2])
    torch.testing.assert_close(lookup(e[2] + 2 * e[4], v), v[2] + 2 * v[4])
    assert torch.equal(lookup(e, v), v)


def test_lookup_is_linear_in_both(float64):
    p, q, v, u = torch.randn(6), torch.randn(6), torch.randn(6, 4), torch.randn(6, 4)
    torch.testing.assert_close(lookup(2 * p - q, v), 2 * lookup(p, v) - lookup(q, v))
    torch.testing.assert_close(lookup(p, 2 * v - u), 2 * lookup(p, v) - lookup(p, u))


def test_soft_lookup_is_a_mean_that_sharpens(float64):
    v, e = torch.randn(6, 4), torch.eye(6)
    torch.testing.assert_close(soft_lookup(torch.zeros(6), v), v.mean(0))
    torch.testing.assert_close(soft_lookup(100 * e[2], v), v[2])
    # e₃ once: the weight of row 3 is e/(e + 5), of each other row 1/(e + 5)
    share = torch.e / (torch.e + 5)
    torch.testing.assert_close(soft_lookup(e[2], v), share * v[2] + (1 - share) * v[[0, 1, 3, 4, 5]].mean(0))


def test_bad_sizes():
    with pytest.raises(ValueError, match="n must be above 0, got 0; try n=1"):
        decay_weights(0, 0.5)
    with pytest.raises(ValueError, match="outputs must be above 0, got 0"):
        GatedSummary(3, 0)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"the last axis of x must have width 3, got shape \(5, 4\)"):
        forgetting_gate(torch.zeros(5, 4), torch.zeros(3))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        forgetting_weights(torch.zeros(5, 3, dtype=torch.long), torch.zeros(3))
    with pytest.raises(ValueError, match=r"the last axis of q must have width 6, got shape \(5,\)"):
        lookup(torch.zeros(5), torch.zeros(6, 2))
    with pytest.raises(ValueError, match=r"q must be a float tensor, got torch.int64"):
        soft_lookup(torch.zeros(6, dtype=torch.long), torch.zeros(6, 2))
