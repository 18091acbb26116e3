r"""Augmentation of series: other measurements of what might be the same event.

    jitter            y_t = x_t + s σ ε_t                  noise of the sensor; σ: the series' own deviation
    scaling           y_t = a x_t,  a ~ N(1, s²)           another gain; keeps the shape
    magnitude warp    y_t = a(t) x_t                       a gain that drifts: a smooth curve around 1
    time warp         y_t = x(τ(t))                        other speeds: τ smooth and rising from 0 to the end
    window slice      y_t = x(τ(t)), τ over a window       a part, stretched to the whole; loses the ends
    window warp       a window at another speed            keeps the rest at its own
    permutation       pieces in another order              keeps each piece; loses what comes after what

Each says what it keeps: a class that is known by its level does not survive scaling, one known by its tempo no time
warp, and a forecast needs the order that permutation destroys. Series are (batch, steps) or (batch, steps, channels);
with ``lengths``, the steps after the end of a row stay as they are. All channels of a series share its clock.

Um et al. 2017 (jitter to permutation); Le Guennec et al. 2016 (windows). Notes: N3 §8.2 (noise on inputs).
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_positive

Series = Float[Tensor, "b t *c"]


def jitter(
    x: Series, scale: float = 0.05, lengths: Int[Tensor, "b"] | None = None, generator: torch.Generator | None = None
) -> Series:
    """y_t = x_t + s σ ε_t, with σ the standard deviation of each series and channel. Keeps level, shape and clock."""
    _expect_series(x)
    _expect_scale(scale)
    ends = _ends(x, lengths)[:, None]
    here = _for_channels(torch.arange(x.shape[1], device=x.device) <= ends, x).to(x.dtype)
    count = here.sum(1, keepdim=True)
    mean = (here * x).sum(1, keepdim=True) / count
    σ = ((here * (x - mean).square()).sum(1, keepdim=True) / count).sqrt()
    return x + scale * σ * here * _normal(x, x.shape, generator)


def scaling(x: Series, scale: float = 0.1, generator: torch.Generator | None = None) -> Series:
    """y_t = a x_t with one a ~ N(1, s²) for each series and channel. Keeps the shape and the clock, not the level."""
    _expect_series(x)
    _expect_scale(scale)
    return x * (1 + scale * _normal(x, (len(x), 1, *x.shape[2:]), generator))


def magnitude_warp(x: Series, scale: float = 0.2, knots: int = 4, generator: torch.Generator | None = None) -> Series:
    """y_t = a(t) x_t, with a smooth curve a through ``knots`` + 2 values from N(1, s²). Keeps the clock."""
    _expect_series(x)
    _expect_scale(scale)
    curves = _smooth_curves(x, len(x) * math.prod(x.shape[2:]), scale, knots, generator)
    return x * curves.view(len(x), math.prod(x.shape[2:]), x.shape[1]).transpose(1, 2).reshape(x.shape)


def time_warp(
    x: Series,
    scale: float = 0.2,
    knots: int = 4,
    lengths: Int[Tensor, "b"] | None = None,
    generator: torch.Generator | None = None,
) -> Series:
    """y_t = x(τ(t)), where τ runs at a speed that is a smooth curve around 1. Keeps the order and both ends."""
    _expect_series(x)
    _expect_scale(scale)
    speed = _smooth_curves(x, len(x), scale, knots, generator).clamp(min=0.05)
    ends = _ends(x, lengths)
    passed = torch.cat([torch.zeros_like(speed[:, :1]), speed[:, :-1].cumsum(1)], 1)
    whole = passed.gather(1, ends[:, None]).clamp(min=1e-9)
    return resample(x, passed / whole * ends[:, None], lengths)


def window_slice(
    x: Series, share: float = 0.9, lengths: Int[Tensor, "b"] | None = None, generator: torch.Generator | None = None
) -> Series:
    """A random window of ``share`` of the steps, stretched to the whole. Keeps order and values, not the ends."""
    _expect_series(x)
    _expect_share(share)
    ends = _ends(x, lengths)[:, None].to(x.dtype)
    start = _uniform(x, (len(x), 1), generator) * (1 - share) * ends
    steps = torch.arange(x.shape[1], device=x.device)
    return resample(x, start + share * steps, lengths)


def window_warp(
    x: Series,
    share: float = 0.2,
    factor: float = 2.0,
    lengths: Int[Tensor, "b"] | None = None,
    generator: torch.Generator | None = None,
) -> Series:
    """A random window of ``share`` of the steps at ``factor`` times its speed, or slower by it. Keeps the order."""
    _expect_series(x)
    _expect_share(share)
    expect_positive(factor=factor)
    ends = _ends(x, lengths)[:, None].to(x.dtype)
    start = _uniform(x, (len(x), 1), generator) * (1 - share)
    faster = _uniform(x, (len(x), 1), generator) < 0.5
    speed = torch.where(faster, factor, 1 / factor)
    # The clock's share of time, u, is a line with two kinks: outside the window at speed 1, inside at another.
    u = torch.arange(x.shape[1], device=x.device) / ends.clamp(min=1)
    inside = share / speed  # what the window takes of the new clock
    whole = 1 - share + inside
    passed = u * whole
    τ = torch.where(
        passed < start,
        passed,
        torch.where(passed < start + inside, start + (passed - start) * speed, passed - inside + share),
    )
    return resample(x, τ * ends, lengths)


def permute_pieces(
    x: Series, pieces: int = 4, lengths: Int[Tensor, "b"] | None = None, generator: torch.Generator | None = None
) -> Series:
    """``pieces`` of about equal length in random order. Keeps what is inside a piece, loses what comes after what."""
    _expect_series(x)
    expect_positive(pieces=pieces)
    lengths_ = _ends(x, lengths)[:, None] + 1
    steps = torch.arange(x.shape[1], device=x.device)
    piece = steps * pieces // lengths_  # of each step; beyond the end, past the last
    order = _uniform(x, (len(x), pieces), generator)
    past = steps >= lengths_
    key = order.gather(1, piece.clamp(max=pieces - 1)).masked_fill(past, 2.0)
    places = key.argsort(dim=1, stable=True)
    return x.gather(1, _for_channels(places, x))


def resample(x: Series, times: Float[Tensor, "b t"], lengths: Int[Tensor, "b"] | None = None) -> Series:
    """x at ``times`` between its steps, by straight lines; the steps after the end of a row stay as they are.

    >>> resample(torch.tensor([[0.0, 10.0, 20.0]]), torch.tensor([[0.0, 0.5, 2.0]]))
    tensor([[ 0.,  5., 20.]])
    """
    ends = _ends(x, lengths)[:, None]
    times = torch.minimum(times.clamp(min=0), ends.to(times.dtype))
    low = times.floor().long()
    high = torch.minimum(low + 1, ends)
    share = _for_channels(times - low, x).to(x.dtype)
    before, after = (x.gather(1, _for_channels(places, x)) for places in (low, high))
    y = before + share * (after - before)
    past = torch.arange(x.shape[1], device=x.device) > ends
    return torch.where(_for_channels(past, x), x, y)


def _smooth_curves(x: Tensor, count: int, scale: float, knots: int, generator: torch.Generator | None) -> Tensor:
    """Curves (count, steps) around 1: cubic splines through values from N(1, scale²) at ``knots`` inner places."""
    expect_positive(knots=knots)
    values = 1 + scale * _normal(x, (count, knots + 2), generator)
    return values @ _spline_basis(knots + 2, x.shape[1]).to(values)


def _spline_basis(knots: int, steps: int) -> Tensor:
    """The natural cubic spline through equally spaced knots, as a matrix (knots, steps) from their values."""
    # the second derivatives m solve  m_{i−1} + 4 m_i + m_{i+1} = 6 (v_{i−1} − 2 v_i + v_{i+1}),  m = 0 at both ends
    near = torch.diag(torch.ones(knots - 1), 1) + torch.diag(torch.ones(knots - 1), -1)
    system, second = (near + 4 * torch.eye(knots)).double(), (6 * near - 12 * torch.eye(knots)).double()
    for end in (0, knots - 1):
        system[end] = torch.eye(knots)[end]
        second[end] = 0
    m = torch.linalg.solve(system, second)
    at = torch.linspace(0, knots - 1, steps, dtype=torch.float64)
    i = at.floor().long().clamp(max=knots - 2)
    b = (at - i)[:, None]
    a = 1 - b
    v = torch.eye(knots, dtype=torch.float64)
    return (a * v[i] + b * v[i + 1] + ((a**3 - a) * m[i] + (b**3 - b) * m[i + 1]) / 6).T


def _ends(x: Tensor, lengths: Tensor | None) -> Tensor:
    """The last step of each row."""
    if lengths is None:
        return torch.full((len(x),), x.shape[1] - 1, device=x.device)
    if len(lengths) != len(x) or (len(x) and not 1 <= int(lengths.min()) <= int(lengths.max()) <= x.shape[1]):
        raise ValueError(
            f"lengths must be one for each of the {len(x)} series, from 1 to {x.shape[1]}, got "
            f"{len(lengths)} from {int(lengths.min())} to {int(lengths.max())}; count the steps before the padding"
        )
    return lengths.to(x.device) - 1


def _for_channels(places: Tensor, x: Tensor) -> Tensor:
    return places.view(*places.shape, *[1] * (x.ndim - 2)).expand(*places.shape, *x.shape[2:])


def _normal(x: Tensor, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    return torch.randn(shape, generator=generator, device=x.device).to(x.dtype)


def _uniform(x: Tensor, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    return torch.rand(shape, generator=generator, device=x.device).to(x.dtype)


def _expect_series(x: Tensor) -> None:
    expect_float("x", x)
    if x.ndim < 2 or x.shape[1] == 0:
        raise ValueError(
            f"series must have shape (batch, steps) or (batch, steps, channels), got {tuple(x.shape)}; "
            "add what is missing, as in x[None]"
        )


def _expect_scale(scale: float) -> None:
    if not scale >= 0:
        raise ValueError(f"scale must be 0 or above, got {scale}; it is a standard deviation")


def _expect_share(share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}; it is a part of the steps")


__all__ = [
    "jitter",
    "magnitude_warp",
    "permute_pieces",
    "resample",
    "scaling",
    "time_warp",
    "window_slice",
    "window_warp",
]
