r"""Distances between discrete distributions p and q on n outcomes.

    d_p(P, Q)  = (Σ_i |p_i − q_i|^p)^(1/p)          L^p distance
    TV(P, Q)   = max_A |P(A) − Q(A)| = ½ Σ_i |p_i − q_i|
    KL(p ‖ q)  = Σ_i p_i log(p_i / q_i)             Kullback–Leibler divergence
    H(p)       = −Σ_i p_i log p_i                   entropy
    CE(p, q)   = −Σ_i p_i log q_i = H(p) + KL(p ‖ q)

L^p and total variation are metrics; KL and cross entropy are not: the target belongs in the first place, p. Natural
logarithms: divide by log 2 for bits. 0·log 0 = 0, and KL and CE are +∞ where q_i = 0 < p_i. The last axis holds the
outcomes. The functions whose names end in `_from_logits` take logits, p = softmax(a), in place of every distribution
and stay exact where a probability is too small for the dtype.

Gradients are never NaN: an entry where the logarithm is infinite passes none. For p_i = 0 that is the right limit below
a softmax, whose own slope is p_i; where the value is +∞ no gradient exists, and the `_from_logits` twin is the way out.

Kullback, Leibler 1951; Cover, Thomas 2006, §2. Notes: N0 §1.4 (✎ its convexity law must end in KL(P′ ‖ Q′)).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_same_shape


def lp_distance(p: Float[Tensor, "*b n"], q: Float[Tensor, "*b n"], order: float) -> Float[Tensor, "*b"]:
    r"""The L^p distance, for an order from 1 to math.inf (the largest difference).

        d(p, q) = (Σ_i |p_i − q_i|^order)^(1/order)

    >>> lp_distance(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.5, 0.2, 0.3]), order=1)
    tensor(0.6000)
    """
    _expect_distributions(p=p, q=q)
    if not order >= 1:
        raise ValueError(f"order must be at least 1, got {order}; below 1 the triangle inequality fails, try order=1")
    d = p - q
    # |d|^order would underflow for a high order. d ↦ ‖d‖ is homogeneous, so any constant may be taken out of it.
    scale = d.detach().abs().amax(-1, keepdim=True)
    scale = scale.masked_fill(scale == 0, 1)
    return torch.linalg.vector_norm(d / scale, order, dim=-1) * scale.squeeze(-1)


def total_variation(p: Float[Tensor, "*b n"], q: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The largest difference in probability of any event A.

        TV(P, Q) = max_A |P(A) − Q(A)| = ½ Σ_i |p_i − q_i|

    >>> total_variation(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.5, 0.2, 0.3]))
    tensor(0.3000)
    """
    _expect_distributions(p=p, q=q)
    return (p - q).abs().sum(-1) / 2


def entropy(p: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The nats that a sample of p takes to write down.

        H(p) = −Σ_i p_i log p_i

    >>> entropy(torch.tensor([0.5, 0.5, 0.0])) / math.log(2)
    tensor(1.)
    """
    _expect_distributions(p=p)
    return (-p_log_q(p, log(p))).sum(-1)


def cross_entropy(p: Float[Tensor, "*b n"], q: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The nats that a sample of p takes in the code made for q.

        CE(p, q) = −Σ_i p_i log q_i

    >>> cross_entropy(torch.tensor([0.0, 1.0]), torch.tensor([0.75, 0.25]))  # one-hot: −log q_i = log 4
    tensor(1.3863)
    """
    _expect_distributions(p=p, q=q)
    return (-p_log_q(p, log(q))).sum(-1)


def kl_divergence(p: Float[Tensor, "*b n"], q: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The nats lost by writing samples of p in the code made for q.

        KL(p ‖ q) = Σ_i p_i log(p_i / q_i)

    >>> kl_divergence(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
    tensor(inf)
    """
    _expect_distributions(p=p, q=q)
    return (p_log_q(p, log(p)) - p_log_q(p, log(q))).sum(-1)


def entropy_from_logits(logits: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The entropy of a distribution given by its logits.

    H(p) = −Σ_i p_i log p_i,  p = softmax(logits)
    """
    _expect_distributions(logits=logits)
    log_p = log_softmax(logits)
    return (-p_log_q(log_p.exp(), log_p)).sum(-1)


def cross_entropy_from_logits(p_logits: Float[Tensor, "*b n"], q_logits: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The cross entropy of two distributions given by their logits.

        CE(p, q) = −Σ_i p_i log q_i,  p = softmax(p_logits),  q = softmax(q_logits)

    For p given as probabilities or as a class, see `cross_entropy_loss`.
    """
    _expect_distributions(p_logits=p_logits, q_logits=q_logits)
    return (-p_log_q(log_softmax(p_logits).exp(), log_softmax(q_logits))).sum(-1)


def kl_from_logits(p_logits: Float[Tensor, "*b n"], q_logits: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    r"""The divergence of two distributions given by their logits.

        KL(p ‖ q) = Σ_i p_i log(p_i / q_i),  p = softmax(p_logits),  q = softmax(q_logits)

    >>> kl_from_logits(torch.tensor([0.0, 0.0]), torch.tensor([200.0, 0.0]))  # ½·200 − log 2, though q_2 underflows
    tensor(99.3069)
    """
    _expect_distributions(p_logits=p_logits, q_logits=q_logits)
    log_p, log_q = log_softmax(p_logits), log_softmax(q_logits)
    p = log_p.exp()
    return (p_log_q(p, log_p) - p_log_q(p, log_q)).sum(-1)


# ---------------------------------------------------------------------------------------------------------------------
# Logarithms of probabilities that may be zero; pointwise.py uses them too.


def p_log_q(p: Tensor, log_q: Tensor) -> Tensor:
    """p_i log q_i entry by entry: 0 where p_i = 0, −∞ without a gradient where q_i = 0 < p_i."""
    zero = log_q.isneginf()
    return (p * log_q.masked_fill(zero, 0)).masked_fill(zero & (p > 0), -math.inf)


def log(p: Tensor) -> Tensor:
    """log p with gradient 0, not ∞, at p = 0: ∞ times the zero that waits upstream would be NaN."""
    zero = p == 0
    return p.masked_fill(zero, 1).log().masked_fill(zero, -math.inf)


def log_softmax(logits: Tensor) -> Tensor:
    """log softmax over the last axis, in float32 where the logits are half precision."""
    half = logits.dtype in (torch.float16, torch.bfloat16)
    return nn.functional.log_softmax(logits, dim=-1, dtype=torch.float32 if half else None)


def _expect_distributions(**tensors: Tensor) -> None:
    (first, x), *others = tensors.items()
    for name, tensor in tensors.items():
        expect_float(name, tensor)
    for name, tensor in others:
        expect_same_shape(first, x, name, tensor)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(
            f"the last axis of {first} must hold at least one outcome, got shape {tuple(x.shape)}; "
            "give it shape (..., outcomes)"
        )
