r"""Optimizers, each written out as its equation: θ ← θ + a step made of the gradient g = ∇J(θ) and of past gradients.

    θ ← θ − ε g                         gradient descent; with the gradient of a batch, SGD (Robbins & Monro 1951)
    v ← γ v − ε g,  θ ← θ + v           momentum (Polyak 1964); Nesterov 1983 takes g at θ + γ v
    r ← r + g²,  θ ← θ − ε g / √r       Adagrad; with running means, RMSProp, Adadelta, Adam, AdamW, NAdam, AMSGrad
    W ← W − η orthogonal(v)             Muon

Every rule is a pure function ``theta, state = rule(theta, gradient, state, …)``: ``gradient`` is the function ∇J,
``state`` what it remembers, empty at the start. Products and roots are entry by entry. They are here to be read and
drawn: training uses torch.optim, and the tests state how each is related to it. Notes: N0 §1.5, N3 §3.4; ✎: corrected.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float
from cutaway.training.optimizers.muon import orthogonalise

Gradient = Callable[[Tensor], Tensor]
State = dict[str, Any]
Stepped = tuple[Tensor, State]
Rule = Callable[..., Stepped]


def descend(
    cost: Callable[[Tensor], Tensor], start: Float[Tensor, "*s"], rule: Rule, steps: int, **settings: Any
) -> Float[Tensor, "_ *s"]:
    """The path θ_0, θ_1 … θ_steps of a rule down a cost: ``descend(bowl, start, adam_step, 100, rate=0.1)``.

    A setting may be a function of the step, which is a schedule: ``rate=lambda t: 0.1 / (t + 1)``.

    >>> descend(lambda x: (x**2).sum(), torch.tensor([8.0]), gradient_step, 3, rate=0.25).flatten()
    tensor([8., 4., 2., 1.])
    """
    expect_float("start", start)
    if steps < 0:
        raise ValueError(f"steps must be 0 or above, got {steps}; try steps=100")
    gradient = torch.func.grad(lambda theta: _scalar(cost(theta)))
    theta = start.detach()
    state: State = {}
    path = [theta]
    for t in range(steps):
        now = {name: value(t) if callable(value) else value for name, value in settings.items()}
        theta, state = rule(theta, gradient, state, **now)
        path.append(theta)
    return torch.stack(path)


def _scalar(cost: Tensor) -> Tensor:
    if cost.ndim:
        raise ValueError(f"a cost must be a single number, got shape {tuple(cost.shape)}; sum or average it")
    return cost


def gradient_step(theta: Tensor, gradient: Gradient, state: State, rate: float = 0.01) -> Stepped:
    """θ ← θ − ε g."""
    return theta - rate * gradient(theta), state


def momentum_step(
    theta: Tensor, gradient: Gradient, state: State, rate: float = 0.01, momentum: float = 0.9
) -> Stepped:
    """v ← γ v − ε g;  θ ← θ + v.  ✎ N0 adds the v of the step before. Polyak 1964.

    A rate ε that falls changes what is added to v, not v itself: torch.optim.SGD scales the whole velocity instead.
    """
    v = momentum * state.get("v", 0) - rate * gradient(theta)
    return theta + v, {"v": v}


def nesterov_step(
    theta: Tensor, gradient: Gradient, state: State, rate: float = 0.01, momentum: float = 0.9
) -> Stepped:
    """v ← γ v − ε ∇J(θ + γ v);  θ ← θ + v.  ✎ N3 has a g too many. Nesterov 1983, Sutskever et al. 2013."""
    v = state.get("v", 0)
    v = momentum * v - rate * gradient(theta + momentum * v)
    return theta + v, {"v": v}


def adagrad_step(
    theta: Tensor, gradient: Gradient, state: State, rate: float = 0.01, epsilon: float = 1e-10
) -> Stepped:
    """r ← r + g²;  θ ← θ − ε g / (δ + √r): a rate for each parameter, that only falls. Duchi et al. 2011."""
    g = gradient(theta)
    r = state.get("r", 0) + g**2
    return theta - rate * g / (epsilon + r.sqrt()), {"r": r}


def rmsprop_step(
    theta: Tensor, gradient: Gradient, state: State, rate: float = 0.01, decay: float = 0.99, epsilon: float = 1e-8
) -> Stepped:
    """r ← ρ r + (1 − ρ) g²;  θ ← θ − ε g / (δ + √r): Adagrad that forgets. Hinton 2012."""
    g = gradient(theta)
    r = decay * state.get("r", 0) + (1 - decay) * g**2
    return theta - rate * g / (epsilon + r.sqrt()), {"r": r}


def adadelta_step(
    theta: Tensor, gradient: Gradient, state: State, rate: float = 1.0, decay: float = 0.9, epsilon: float = 1e-6
) -> Stepped:
    """r ← ρ r + (1 − ρ) g²;  Δ = g √(d + δ) / √(r + δ);  d ← ρ d + (1 − ρ) Δ²;  θ ← θ − ε Δ.

    The step is measured in units of θ, by steps so far; Zeiler 2012 has no rate (ε = 1). δ stands under the roots.
    """
    g = gradient(theta)
    r = decay * state.get("r", 0) + (1 - decay) * g**2
    d = state.get("d", torch.zeros_like(theta))
    delta = g * (d + epsilon).sqrt() / (r + epsilon).sqrt()
    d = decay * d + (1 - decay) * delta**2
    return theta - rate * delta, {"r": r, "d": d}


def _moments(g: Tensor, state: State, betas: tuple[float, float]) -> tuple[int, Tensor, Tensor]:
    """t, and the running means v of g and s of g², which start at 0: after t steps the weights sum to 1 − β^t."""
    β1, β2 = betas
    v = β1 * state.get("v", 0) + (1 - β1) * g
    s = β2 * state.get("s", 0) + (1 - β2) * g**2
    return state.get("t", 0) + 1, v, s


def adam_step(
    theta: Tensor,
    gradient: Gradient,
    state: State,
    rate: float = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
) -> Stepped:
    """θ ← θ − η v̂ / (√ŝ + ε), a mean of gradients over the root of a mean of squares. Kingma & Ba 2015.

    v ← β₁ v + (1 − β₁) g;  s ← β₂ s + (1 − β₂) g²;  v̂ = v / (1 − β₁^t);  ŝ = s / (1 − β₂^t).
    """
    β1, β2 = betas
    t, v, s = _moments(gradient(theta), state, betas)
    v_hat, s_hat = v / (1 - β1**t), s / (1 - β2**t)
    return theta - rate * v_hat / (s_hat.sqrt() + epsilon), {"t": t, "v": v, "s": s}


def adamw_step(
    theta: Tensor,
    gradient: Gradient,
    state: State,
    rate: float = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
    weight_decay: float = 0.01,
) -> Stepped:
    """θ ← Adam(θ) − η λ θ: the pull towards zero stands beside Adam's step, not in g. Loshchilov & Hutter 2019."""
    stepped, state = adam_step(theta, gradient, state, rate, betas, epsilon)
    return stepped - rate * weight_decay * theta, state


def nadam_step(
    theta: Tensor,
    gradient: Gradient,
    state: State,
    rate: float = 0.002,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
    momentum_decay: float = 0.004,
) -> Stepped:
    """Adam with Nesterov's look ahead: θ ← θ − η (μ' v / (1 − m μ') + (1 − μ) g / (1 − m)) / (√ŝ + ε). Dozat 2016.

    μ = β₁ (1 − ½ 0.96^{tψ}) rises from about β₁/2 to β₁, μ' is that of the next step, m the product of all μ so far.
    """
    β1, β2 = betas
    g = gradient(theta)
    t, v, s = _moments(g, state, betas)
    μ, μ_next = (β1 * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
    m = μ * state.get("m", 1)
    ahead = μ_next * v / (1 - m * μ_next) + (1 - μ) * g / (1 - m)
    s_hat = s / (1 - β2**t)
    return theta - rate * ahead / (s_hat.sqrt() + epsilon), {"t": t, "v": v, "s": s, "m": m}


def amsgrad_step(
    theta: Tensor,
    gradient: Gradient,
    state: State,
    rate: float = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
) -> Stepped:
    """Adam that divides by the largest s so far: z ← max(z, s);  θ ← θ − η v̂ / (√(z / (1 − β₂^t)) + ε).

    Reddi et al. 2018, who have no bias corrections: these are torch's.
    """
    β1, β2 = betas
    t, v, s = _moments(gradient(theta), state, betas)
    z = torch.maximum(state.get("z", s), s)
    v_hat, z_hat = v / (1 - β1**t), z / (1 - β2**t)
    return theta - rate * v_hat / (z_hat.sqrt() + epsilon), {"t": t, "v": v, "s": s, "z": z}


def muon_step(
    theta: Float[Tensor, "i o"],
    gradient: Gradient,
    state: State,
    rate: float = 0.02,
    momentum: float = 0.95,
    weight_decay: float = 0.0,
) -> Stepped:
    """v ← μ v + (1 − μ) g;  O ≈ U Vᵀ of μ v + (1 − μ) g;  W ← (1 − ηλ) W − η √max(1, o/i) O. Jordan et al. 2024."""
    if theta.ndim != 2:
        raise ValueError(f"Muon takes a matrix, got shape {tuple(theta.shape)}; take adam_step for other parameters")
    inputs, outputs = theta.shape
    g = gradient(theta)
    v = momentum * state.get("v", 0) + (1 - momentum) * g
    O = orthogonalise(momentum * v + (1 - momentum) * g)
    step = rate * max(1.0, outputs / inputs) ** 0.5 * O
    return (1 - rate * weight_decay) * theta - step, {"v": v}


RULES: dict[str, Rule] = {
    "sgd": gradient_step,
    "momentum": momentum_step,
    "nesterov": nesterov_step,
    "adagrad": adagrad_step,
    "rmsprop": rmsprop_step,
    "adadelta": adadelta_step,
    "adam": adam_step,
    "adamw": adamw_step,
    "nadam": nadam_step,
    "amsgrad": amsgrad_step,
    "muon": muon_step,
}
