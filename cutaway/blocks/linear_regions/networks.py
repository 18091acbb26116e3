r"""Every piecewise linear function is a network with one hidden layer of rectifiers, built here exactly.

    f(x) = λ₀x + c₀ + Σ_ℓ (λ_ℓ − λ_{ℓ−1}) ReLU(x − t_ℓ)             a change of slope at each interior knot t_ℓ
    λ₀x + c₀ = ReLU(λ₀x + c₀) − ReLU(−λ₀x − c₀)                     two more units for the first segment

✎ N0's proof (Lemma 1.3) arrives at this sum with limits that do not fit each other and a knot t_{p+1} that does not
exist. Here knots are points of the graph and the outer segments extend to ±∞, so the end knots are no kinks: k knots
need k − 2 units for the kinks, and two for the first segment.

Interpolating a function g at knots that are h apart approximates it; with g(a), g(b) at the ends of a segment of length
h and x = a + s h, the interpolant is (1−s) g(a) + s g(b), and its error at x

    |g(x) − f(x)| = |(1−s)(g(x) − g(a)) + s (g(x) − g(b))| ≤ 2s(1−s) h L ≤ L h / 2      if g is L-Lipschitz
    |g(x) − f(x)| = ½ s(1−s) h² |g″(ξ)| ≤ M h² / 8                                      if |g″| ≤ M

Both are attained: by a hat on one segment, by a parabola. Hence the universal approximation theorem in one dimension,
with the number of units. Cybenko 1989; Davis 1975, §3.1 (the second bound). Notes: N0 §1.1, N3 §2.4.8.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.convolution.as_matrix import linear_of
from cutaway.blocks.dense.affine import Dense


def relu_network(
    knots: Float[Tensor, "n"] | Sequence[float], values: Float[Tensor, "n"] | Sequence[float]
) -> nn.Sequential:
    """The network of the function that is linear between ``knots``, where it takes ``values``, and goes on beyond.

    f(x) = λ₀x + c₀ + Σ (λ_ℓ − λ_{ℓ−1}) ReLU(x − t_ℓ)

    A ``hidden`` Dense layer and a Linear ``output``, for inputs of shape (..., 1), in the dtype of the knots. Exact but
    for rounding, of about ε Σ |λ_ℓ − λ_{ℓ−1}| (x − t_ℓ).

    >>> hat = relu_network([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    >>> hat(torch.tensor([[0.0], [0.5], [1.0], [3.0]])).flatten().tolist()
    [0.0, 0.5, 1.0, -1.0]
    """
    knots, values = _as_floats(knots), _as_floats(values)
    if knots.ndim != 1 or knots.shape != values.shape or len(knots) < 2:
        raise ValueError(
            f"knots and values must be two lists of one length, at least 2, got shapes {tuple(knots.shape)} and "
            f"{tuple(values.shape)}; give each knot its value"
        )
    if not (knots.isfinite().all() and values.isfinite().all()):
        raise ValueError("knots and values must be finite, got an infinite one or NaN; leave such points out")
    t, y = knots.detach().double(), values.detach().double()
    steps = t.diff()
    if not (steps > 0).all():
        at = int((steps <= 0).nonzero()[0])
        raise ValueError(
            f"knots must be strictly increasing, got {t[at].item():g} before {t[at + 1].item():g} at position {at}; "
            "sort them with their values, and merge equal ones"
        )
    λ = y.diff() / steps
    c0 = y[0] - λ[0] * t[0]
    one = torch.ones_like(t[1:-1])
    hidden = linear_of(
        torch.cat([λ[:1], -λ[:1], one])[None, :].to(knots),
        torch.cat([c0[None], -c0[None], -t[1:-1]]).to(knots),
    )
    output = linear_of(torch.cat([t.new_tensor([1.0, -1.0]), λ.diff()])[:, None].to(knots), knots.new_zeros(1))
    with torch.device("meta"):
        layer = Dense(1, hidden.outputs)
    layer.linear = hidden
    return nn.Sequential(OrderedDict(hidden=layer, output=output))


class Approximation(NamedTuple):
    """A network, and how far it can be from the function that it stands for."""

    network: nn.Sequential
    bound: float
    knots: Tensor


def approximate(
    function: Callable[[Tensor], Tensor],
    low: float,
    high: float,
    *,
    error: float | None = None,
    knots: int | None = None,
    lipschitz: float | None = None,
    curvature: float | None = None,
) -> Approximation:
    """A network f that approximates a function g between ``low`` and ``high``, with a bound on the error.

    |g(x) − f(x)| ≤ bound = min(L h / 2, M h² / 8)

    What is known of g makes the bound: ``lipschitz``, L with |g(x) − g(y)| ≤ L |x − y|, or ``curvature``, M ≥ |g″|, or
    both. Say which ``error`` you accept, or how many ``knots`` (evenly spaced) to spend. The bound is that of the
    theorem; the rounding of the network's dtype (torch's default) comes on top.

    >>> network, bound, knots = approximate(torch.sin, 0.0, torch.pi, error=0.01, curvature=1.0)
    >>> len(knots), round(bound, 4)  # π²/(8·12²)
    (13, 0.0086)
    """
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"low must be below high, both finite, got low={low}, high={high}; swap or change them")
    if (error is None) == (knots is None):
        raise ValueError(f"one of error and knots must be given, got error={error}, knots={knots}; drop or add one")
    if lipschitz is None and curvature is None:
        raise ValueError("a bound needs lipschitz or curvature, got neither; give the largest |g'| or |g''|")
    for known in (lipschitz, curvature):
        if known is not None and not 0 <= known < math.inf:
            raise ValueError(
                f"lipschitz and curvature must be 0 or more and finite, got {known}; take the largest |g'|"
            )
    L = math.inf if lipschitz is None else lipschitz
    M = math.inf if curvature is None else curvature

    def bound(segments: int) -> float:
        h = (high - low) / segments
        return min(L * h / 2, M * h**2 / 8)

    if knots is not None:
        if knots < 2:
            raise ValueError(f"knots must be at least 2, the two ends, got {knots}; try knots=2")
        segments = knots - 1
    else:
        assert error is not None
        expect_positive(error=error)
        widest = max(2 * error / L if L else math.inf, math.sqrt(8 * error / M) if M else math.inf)
        segments = max(1, math.ceil((high - low) / widest))
        segments += bound(segments) > error  # where the division was rounded down
    t = torch.linspace(low, high, segments + 1, dtype=torch.float64)
    y = function(t)
    if not isinstance(y, Tensor) or y.shape != t.shape:
        got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(
            f"function must give one number for each x, got {got} for x of shape {tuple(t.shape)}; "
            "apply it entry by entry"
        )
    dtype = torch.get_default_dtype()
    return Approximation(relu_network(t, y.double()).to(dtype), bound(segments), t.to(dtype))


def _as_floats(numbers: Tensor | Sequence[float]) -> Tensor:
    x = torch.as_tensor(numbers)
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())
