"""Optimizers written out: by hand, and how each is related to torch.optim, step by step in float64."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.training import (
    RULES,
    Muon,
    adadelta_step,
    adagrad_step,
    adam_step,
    adamw_step,
    amsgrad_step,
    bowl,
    descend,
    gradient_step,
    himmelblau,
    momentum_step,
    muon_step,
    nadam_step,
    nesterov_step,
    rmsprop_step,
)
from cutaway.training.optimizers.groups import NAMES

STEPS = 40
START = torch.tensor([-1.3, 2.1], dtype=torch.float64)


def torch_way(cost, start, kind, steps=STEPS, rate=None, **how):
    """The way of an optimizer of torch, and that optimizer. ``rate``: a schedule."""
    theta = start.clone().requires_grad_()
    optimizer = kind([theta], **how)
    way = [theta.detach().clone()]
    for t in range(steps):
        if rate is not None:
            optimizer.param_groups[0]["lr"] = rate(t)
        optimizer.zero_grad()
        cost(theta).backward()
        optimizer.step()
        way.append(theta.detach().clone())
    return torch.stack(way)


def same(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def differ(ours, theirs):
    """No rounding: the ways part by more than a thousandth of their length."""
    assert (ours - theirs).abs().max() > 1e-3 * (theirs - theirs[0]).abs().max()


# By hand ------------------------------------------------------------------------------------------------------------


def slope_two(theta):
    """J = 2 θ: the gradient is 2 everywhere."""
    return 2 * theta.sum()


@pytest.mark.parametrize(
    ("rule", "how", "way"),
    [
        (gradient_step, {"rate": 0.1}, [1, 0.8, 0.6]),
        (momentum_step, {"rate": 0.1, "momentum": 0.9}, [1, 0.8, 0.42]),  # v = −0.2, then −0.18 − 0.2
        (adagrad_step, {"rate": 0.1, "epsilon": 0}, [1, 0.9, 0.9 - 0.1 * 2 / 8**0.5]),  # r = 4, then 8
        (rmsprop_step, {"rate": 0.1, "decay": 0.75, "epsilon": 0}, [1, 0.8, 0.8 - 0.2 / 1.75**0.5]),  # r = 1, then 7/4
        (adam_step, {"rate": 0.1, "epsilon": 0}, [1, 0.9, 0.8]),  # v̂ = 2 and ŝ = 4 at every step
        (adam_step, {"rate": 0.1, "epsilon": 2.0}, [1, 0.95, 0.9]),  # 2 / (√4 + 2) = ½
        (adamw_step, {"rate": 0.1, "epsilon": 0, "weight_decay": 0.5}, [1, 0.85, 0.7075]),  # − 0.05 · 1, − 0.05 · 0.85
        (amsgrad_step, {"rate": 0.1, "epsilon": 0}, [1, 0.9, 0.8]),
    ],
)
def test_two_steps_by_hand(rule, how, way):
    ours = descend(slope_two, torch.tensor([1.0], dtype=torch.float64), rule, 2, **how)
    same(ours.flatten(), torch.tensor(way, dtype=torch.float64))


def test_nesterov_by_hand():
    """J = ½ θ², ε = 0.1, γ = 0.5: v₁ = −0.1, θ₁ = 0.9; v₂ = −0.05 − 0.1 (0.9 − 0.05) = −0.135, θ₂ = 0.765."""
    start = torch.tensor([1.0], dtype=torch.float64)
    ours = descend(lambda x: (x**2).sum() / 2, start, nesterov_step, 2, rate=0.1, momentum=0.5)
    same(ours.flatten(), torch.tensor([1.0, 0.9, 0.765], dtype=torch.float64))


def test_adadelta_by_hand():
    """ρ = ½, δ = 1: r = 2, Δ = 2 √1/√3; then r = 1 + 2 = 3, d = ½ · 4/3, Δ = 2 √(5/3)/√4 = √(5/3)."""
    start = torch.tensor([0.0], dtype=torch.float64)
    ours = descend(slope_two, start, adadelta_step, 2, decay=0.5, epsilon=1.0)
    first = -2 / 3**0.5
    same(ours.flatten(), torch.tensor([0.0, first, first - (5 / 3) ** 0.5], dtype=torch.float64))


def test_nadam_by_hand():
    """β₁ = 0.8, ψ = 0: μ = μ' = 0.4, v = 0.4, m = 0.4, ŝ = 4: (0.4 · 0.4 / (1 − 0.16) + 0.6 · 2 / 0.6) / 2."""
    start = torch.tensor([0.0], dtype=torch.float64)
    ours = descend(slope_two, start, nadam_step, 1, rate=1.0, betas=(0.8, 0.9), epsilon=0, momentum_decay=0)
    same(ours[1], torch.tensor([-(0.16 / 0.84 + 2) / 2], dtype=torch.float64))


def test_amsgrad_remembers_the_largest():
    """g = 10 once, then 1: β₂ = ½ gives s = 50, 25.5 …, but z stays 50. β₁ = 0, so v̂ = g."""
    gradients = iter([10.0, 1.0, 1.0])
    theta, state = torch.tensor([0.0], dtype=torch.float64), {}
    for t, z_hat in enumerate((50 / 0.5, 50 / 0.75, 50 / 0.875), 1):
        g = next(gradients)
        before = theta
        theta, state = amsgrad_step(theta, lambda x, g=g: torch.full_like(x, g), state, 1.0, (0.0, 0.5), 0.0)
        same(before - theta, torch.tensor([g / z_hat**0.5], dtype=torch.float64))
        assert state["t"] == t
        assert state["z"].item() == pytest.approx(50)
    assert state["s"].item() == pytest.approx(((100 / 2) / 2 + 1 / 2) / 2 + 1 / 2)


# Relations to torch.optim -------------------------------------------------------------------------------------------

EQUAL = [
    (gradient_step, {"rate": 0.01}, torch.optim.SGD, {"lr": 0.01}),
    (momentum_step, {"rate": 0.003, "momentum": 0.9}, torch.optim.SGD, {"lr": 0.003, "momentum": 0.9}),
    (adagrad_step, {"rate": 0.5}, torch.optim.Adagrad, {"lr": 0.5}),
    (rmsprop_step, {"rate": 0.05}, torch.optim.RMSprop, {"lr": 0.05}),
    (rmsprop_step, {"rate": 0.05, "decay": 0.8}, torch.optim.RMSprop, {"lr": 0.05, "alpha": 0.8}),
    (adadelta_step, {}, torch.optim.Adadelta, {}),
    (adadelta_step, {"rate": 3.0, "decay": 0.5}, torch.optim.Adadelta, {"lr": 3.0, "rho": 0.5}),
    (adam_step, {"rate": 0.1}, torch.optim.Adam, {"lr": 0.1}),
    (adam_step, {"betas": (0.5, 0.9)}, torch.optim.Adam, {"betas": (0.5, 0.9), "fused": True}),
    (adamw_step, {"rate": 0.1, "weight_decay": 0.3}, torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.3}),
    (nadam_step, {"rate": 0.1}, torch.optim.NAdam, {"lr": 0.1}),
    (nadam_step, {"momentum_decay": 0.3}, torch.optim.NAdam, {"momentum_decay": 0.3}),
    (amsgrad_step, {"rate": 0.1}, torch.optim.Adam, {"lr": 0.1, "amsgrad": True}),
]


@pytest.mark.parametrize(("rule", "how", "kind", "torch_how"), EQUAL)
def test_equal_to_torch_step_by_step(rule, how, kind, torch_how, float64):
    """With float64 as default, since torch.optim.NAdam keeps the product of its μ in the default type."""
    ours = descend(himmelblau, START, rule, STEPS, **how)
    same(ours, torch_way(himmelblau, START, kind, **torch_how))
    assert (ours[-1] - ours[0]).norm() > 0.01  # they went somewhere


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (adagrad_step, torch.optim.Adagrad),
        (rmsprop_step, torch.optim.RMSprop),
        (adadelta_step, torch.optim.Adadelta),
        (adam_step, torch.optim.Adam),
        (nadam_step, torch.optim.NAdam),
    ],
)
def test_a_large_epsilon_stands_where_torch_has_it(rule, kind, float64):
    """Outside the root, after the bias correction; under both roots for Adadelta."""
    ours = descend(himmelblau, START, rule, STEPS, rate=0.05, epsilon=7.0)
    same(ours, torch_way(himmelblau, START, kind, lr=0.05, eps=7.0))
    differ(ours, descend(himmelblau, START, rule, STEPS, rate=0.05))


def test_torch_nesterov_is_the_place_looked_ahead_to():
    """torch's iterate is θ + γ v of this formula: it never stands at θ itself."""
    gradient = himmelblau.gradient
    theta, state, ahead = START, {}, [START]
    for _ in range(STEPS):
        theta, state = nesterov_step(theta, gradient, state, 0.003, 0.9)
        ahead.append(theta + 0.9 * state["v"])
    theirs = torch_way(himmelblau, START, torch.optim.SGD, lr=0.003, momentum=0.9, nesterov=True)
    same(torch.stack(ahead), theirs)
    differ(descend(himmelblau, START, nesterov_step, STEPS, rate=0.003, momentum=0.9), theirs)


def falling(t):
    return 0.005 * 0.9**t


def test_under_a_schedule_torch_scales_the_whole_velocity():
    """torch: θ ← θ − ε_t b with b ← γ b + g, so its v = −ε_t b ← γ (ε_t / ε_{t−1}) v − ε_t g."""
    theirs = torch_way(himmelblau, START, torch.optim.SGD, rate=falling, lr=1.0, momentum=0.9)
    differ(descend(himmelblau, START, momentum_step, STEPS, rate=falling, momentum=0.9), theirs)
    scaled = {"rate": falling, "momentum": lambda t: 0.9 * falling(t) / falling(t - 1)}
    same(descend(himmelblau, START, momentum_step, STEPS, **scaled), theirs)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [(gradient_step, torch.optim.SGD), (adam_step, torch.optim.Adam), (adagrad_step, torch.optim.Adagrad)],
)
def test_schedules_that_act_on_the_step_alone_are_torchs(rule, kind):
    same(
        descend(himmelblau, START, rule, STEPS, rate=falling),
        torch_way(himmelblau, START, kind, rate=falling, lr=1.0),
    )


def test_momentum_in_the_other_parametrisation():
    """N0: v ← β v + (1 − β) g, θ ← θ − η v is the same, with ε = η (1 − β). ✎ θ takes the new v."""
    η, β = 0.04, 0.9
    theta, v, way = START, 0.0, [START]
    for _ in range(STEPS):
        v = β * v + (1 - β) * himmelblau.gradient(theta)
        theta = theta - η * v
        way.append(theta)
    same(descend(himmelblau, START, momentum_step, STEPS, rate=η * (1 - β), momentum=β), torch.stack(way))


def test_nadam_momentum_decay(float64):
    """ψ = 1/250 is Dozat's schedule of μ. ψ → ∞ gives μ = β₁ from the start; ψ = 0 does not: μ stays β₁/2."""
    β1, β2, η = 0.9, 0.99, 0.1
    theta, v, s, way = START, 0.0, 0.0, [START]
    for t in range(1, STEPS + 1):
        g = himmelblau.gradient(theta)
        v, s = β1 * v + (1 - β1) * g, β2 * s + (1 - β2) * g**2
        ahead = β1 * v / (1 - β1 ** (t + 1)) + (1 - β1) * g / (1 - β1**t)
        theta = theta - η * ahead / ((s / (1 - β2**t)).sqrt() + 1e-8)
        way.append(theta)
    how = {"rate": η, "betas": (β1, β2)}
    same(descend(himmelblau, START, nadam_step, STEPS, momentum_decay=math.inf, **how), torch.stack(way))
    differ(descend(himmelblau, START, nadam_step, STEPS, momentum_decay=0.0, **how), torch.stack(way))
    theirs = torch_way(himmelblau, START, torch.optim.NAdam, lr=η, betas=(β1, β2), momentum_decay=1e9)
    same(torch.stack(way), theirs)


def test_decay_beside_the_step_is_not_decay_in_the_gradient():
    """torch.optim.Adam(weight_decay=λ) is Adam on J + λ/2 ‖θ‖²; AdamW is not."""
    λ = 0.3
    penalised = descend(lambda x: himmelblau(x) + λ / 2 * (x**2).sum(), START, adam_step, STEPS, rate=0.1)
    same(penalised, torch_way(himmelblau, START, torch.optim.Adam, lr=0.1, weight_decay=λ))
    differ(penalised, descend(himmelblau, START, adamw_step, STEPS, rate=0.1, weight_decay=λ))


# Relations among the rules ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [momentum_step, nesterov_step])
def test_without_momentum_it_is_gradient_descent(rule):
    ours = descend(himmelblau, START, rule, STEPS, rate=0.01, momentum=0.0)
    same(ours, descend(himmelblau, START, gradient_step, STEPS, rate=0.01))


def test_adam_without_its_first_mean_is_rmsprop_without_its_bias():
    """β₁ = 0: θ ← θ − η g √(1 − β₂^t) / (√s + ε √(1 − β₂^t)), RMSProp with a rate and an ε that rise."""
    corrected = lambda t: (1 - 0.9 ** (t + 1)) ** 0.5
    ours = descend(himmelblau, START, adam_step, STEPS, rate=0.1, betas=(0.0, 0.9), epsilon=0.5)
    how = {"rate": lambda t: 0.1 * corrected(t), "epsilon": lambda t: 0.5 * corrected(t), "decay": 0.9}
    same(ours, descend(himmelblau, START, rmsprop_step, STEPS, **how))


def test_amsgrad_is_adam_while_gradients_grow():
    hill = lambda x: -(x**2).sum()  # the further, the steeper
    start = torch.tensor([1.0, -2.0], dtype=torch.float64)
    same(*(descend(hill, start, rule, STEPS, rate=0.1) for rule in (amsgrad_step, adam_step)))
    differ(*(descend(bowl, START, rule, 300, rate=0.1, betas=(0.9, 0.9)) for rule in (amsgrad_step, adam_step)))


@pytest.mark.parametrize("rule", [adagrad_step, rmsprop_step, adam_step, nadam_step, amsgrad_step])
@given(scale=st.floats(1e-3, 1e3))
@settings(max_examples=10)
def test_adaptive_rates_do_not_see_the_scale_of_the_cost(rule, scale):
    """With ε = 0, c J goes the way of J: each entry of g is divided by a mean of its own size."""
    how = {"rate": 0.05, "epsilon": 0.0}
    ours = descend(lambda x: scale * himmelblau(x), START, rule, 20, **how)
    torch.testing.assert_close(ours, descend(himmelblau, START, rule, 20, **how), rtol=1e-6, atol=1e-6)


def test_muon_is_the_optimizer_written_out(float64):
    start, target = torch.randn(3, 5), torch.randn(3, 5)
    cost = lambda w: ((w - target) ** 4).sum()
    how = {"momentum": 0.8, "weight_decay": 0.3}
    ours = descend(cost, start, muon_step, STEPS, rate=0.1, **how)
    same(ours, torch_way(cost, start, Muon, lr=0.1, **how))


def test_muon_by_hand():
    """A 1 × 1 matrix is its sign times the quintic, five times from 1; √max(1, o/i) = 1."""
    x = 1.0
    for _ in range(5):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    start = torch.zeros(1, 1, dtype=torch.float64)
    ours = descend(lambda w: 1e3 * w.sum(), start, muon_step, 3, rate=0.1)
    same(ours.flatten(), -0.1 * x * torch.arange(4, dtype=torch.float64))


# The way ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in RULES if name != "muon"])
def test_every_rule_finds_the_bottom_of_a_bowl(name):
    rates = {"sgd": 0.15, "momentum": 0.05, "nesterov": 0.05, "adagrad": 2.0, "adadelta": lambda t: 40 * 0.99**t}
    how = {"rate": rates.get(name, lambda t: 0.3 * 0.99**t)} | ({"weight_decay": 0.0} if name == "adamw" else {})
    way = descend(bowl, torch.tensor(bowl.start), RULES[name], 600, **how)
    assert bowl(way[-1]) < 1e-4 * bowl(way[0])


def test_muon_finds_the_bottom_of_a_bowl():
    target = torch.randn(4, 3)
    way = descend(lambda w: ((w - target) ** 2).sum(), torch.zeros(4, 3), muon_step, 200, rate=lambda t: 0.3 * 0.97**t)
    assert (way[-1] - target).norm() < 0.01 * target.norm()


def test_there_is_a_rule_for_every_optimizer():
    assert set(RULES) == set(NAMES)


def test_the_way_is_whole():
    start = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with torch.no_grad():
        way = descend(lambda w: (w**2).sum() / 2, start, gradient_step, 4, rate=0.5)
    torch.testing.assert_close(way, start.detach() * 0.5 ** torch.arange(5)[:, None, None])
    assert not way.requires_grad
    assert start.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert descend(lambda w: w.sum(), torch.zeros(3), adam_step, 0).shape == (1, 3)


def test_a_batch_drawn_in_the_cost_makes_it_stochastic():
    """SGD is gradient descent on the cost of a batch: here one example each time, in turn."""
    examples = iter([1.0, 3.0, 5.0])
    way = descend(lambda x: ((x - next(examples)) ** 2).sum() / 2, torch.zeros(1), gradient_step, 3, rate=0.5)
    assert way.flatten().tolist() == [0, 0.5, 1.75, 3.375]  # halfway to 1, to 3, to 5


def test_bad_calls():
    with pytest.raises(ValueError, match=r"a cost must be a single number, got shape \(2,\); sum or average it"):
        descend(lambda x: x**2, torch.zeros(2), gradient_step, 1)
    with pytest.raises(ValueError, match="steps must be 0 or above, got -1; try steps=100"):
        descend(lambda x: x.sum(), torch.zeros(2), gradient_step, -1)


@pytest.mark.untyped
def test_bad_tensors():
    with pytest.raises(ValueError, match=r"start must be a float tensor, got torch.int64"):
        descend(lambda x: x.sum(), torch.zeros(2, dtype=torch.long), gradient_step, 1)
    with pytest.raises(ValueError, match=r"Muon takes a matrix, got shape \(2,\); take adam_step for other parameters"):
        descend(lambda x: x.sum(), torch.zeros(2), muon_step, 1)
