r"""Rotary positions: queries and keys are turned by their position, so that their product knows the distance alone.

    θ_k = base^{−2k/w}                              speed of pair k = 0 … w/2 − 1
    R_i (a, b)_k = (a cos iθ_k − b sin iθ_k, b cos iθ_k + a sin iθ_k)
    (R_i q) · (R_j k) = q · R_{j−i} k               depends on i and j through j − i

The pair k is (x_k, x_{k+w/2}) in the layout "half" (Llama, Qwen, GPT-NeoX) and (x_{2k}, x_{2k+1}) in "interleaved" (the
paper, GPT-J). Su et al. 2021. A model trained on short contexts reads longer ones if its pairs are slowed down: see the
scalings below (Chen et al. 2023, Peng et al. 2023, Llama 3 2024). Notes: N3 §5.7.2. Axis letters: docs/notation.md.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_even, expect_float, expect_positive
from cutaway.inside.taps import Tap

LAYOUTS = ("half", "interleaved")


@runtime_checkable
class Scaling(Protocol):
    """How pairs are slowed down for contexts longer than those trained on."""

    @property
    def amplitude(self) -> float:
        """What the turned vectors are multiplied by."""

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        """θ' from θ."""


@dataclass(frozen=True)
class LinearScaling:
    """Position interpolation, θ'_k = θ_k / factor (Chen et al. 2023)."""

    factor: float
    amplitude: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        expect_positive(factor=self.factor)

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        return speeds / self.factor


@dataclass(frozen=True)
class NTKScaling:
    """NTK-aware, θ'_k = θ_k · factor^{−2k/(w−2)}: the fastest pair is kept, the slowest is divided by the factor.

    The same as a base of base · factor^{w/(w−2)} (bloc97 2023, in Peng et al. 2023, §3.1).
    """

    factor: float
    amplitude: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        expect_positive(factor=self.factor)

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        return speeds * self.factor ** -_ramp(speeds)


@dataclass(frozen=True)
class DynamicNTKScaling:
    """NTK-aware, with a factor that grows with the length n: g = factor · n / context − (factor − 1) for n > context.

    Up to ``context`` nothing changes (emozilla 2023, in Peng et al. 2023, §3.3). n is the last position of this call
    plus one; Hugging Face also remembers longer sequences that it saw before.
    """

    factor: float
    context: int
    amplitude: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        expect_positive(factor=self.factor, context=self.context)

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        if positions.numel() == 0:
            return speeds
        n = (positions.amax() + 1).clamp(min=self.context).to(speeds.dtype)
        return speeds * (self.factor * n / self.context - (self.factor - 1)) ** -_ramp(speeds)


@dataclass(frozen=True)
class Llama3Scaling:
    """By the turns that a pair makes in the old context, r_k = context · θ_k / 2π.

    From ``high`` turns on a pair is kept; up to ``low`` it is slowed to θ_k / factor; between, mixed linearly in r_k.
    The defaults are those of Llama 3.1 (2024).
    """

    factor: float = 8.0
    context: int = 8192
    low: float = 1.0
    high: float = 4.0
    amplitude: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        expect_positive(factor=self.factor, context=self.context)
        _expect_order("low", self.low, "high", self.high)

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        turns = self.context * speeds / (2 * math.pi)
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return speeds * (kept + (1 - kept) / self.factor)


@dataclass(frozen=True)
class YaRNScaling:
    """Pairs faster than ``fast`` turns in the old context are kept, slower than ``slow`` slowed; between, mixed in k.

    The vectors also grow by m = 0.1 ln(factor) + 1, so the scores by m²; ``attention`` replaces m. ``whole`` rounds
    both ends outwards to whole pairs, as the authors' code does. Peng et al. 2023, §3.2–3.4.
    """

    factor: float
    context: int
    slow: float = 1.0
    fast: float = 32.0
    attention: float | None = None
    whole: bool = True

    def __post_init__(self) -> None:
        expect_positive(factor=self.factor, context=self.context, slow=self.slow)
        _expect_order("slow", self.slow, "fast", self.fast)

    @property
    def amplitude(self) -> float:
        return 0.1 * math.log(max(self.factor, 1)) + 1 if self.attention is None else self.attention

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        half = len(speeds)
        pair = lambda turns: half * math.log(self.context / (2 * math.pi * turns), base)  # θ_k · context = 2π · turns
        first, last = pair(self.fast), pair(self.slow)
        if self.whole:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, 2 * half - 1)  # w − 1, as in the authors' code, though k stays below w/2
        k = torch.arange(half, dtype=speeds.dtype, device=speeds.device)
        slowed = ((k - first) / (last - first or 0.001)).clamp(0, 1)
        return speeds * (1 - slowed + slowed / self.factor)


# By the names of Hugging Face's "rope_type", which has no fixed NTK.
SCALINGS: dict[str, type[Scaling]] = {
    "linear": LinearScaling,
    "ntk": NTKScaling,
    "dynamic": DynamicNTKScaling,
    "llama3": Llama3Scaling,
    "yarn": YaRNScaling,
}


def _ramp(speeds: Tensor) -> Tensor:
    """2k/(w − 2): from 0 for the fastest pair to 1 for the slowest."""
    k = torch.arange(len(speeds), dtype=speeds.dtype, device=speeds.device)
    return k / max(len(speeds) - 1, 1)


def _expect_order(name: str, value: float, other: str, bound: float) -> None:
    if not value < bound:
        raise ValueError(f"{name} must be below {other}, got {name}={value}, {other}={bound}; swap them")


def rotary_angles(
    positions: Real[Tensor, "*t"],
    width: int,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*t {width//2}"]:
    """α_ik = i θ_k with θ_k = base^{−2k/w}: the angle of every position i and pair k.

    Never below float32, where position 2049 would equal 2048. ``dtype`` is by default that of the positions if they
    are floats, else torch's.

    >>> rotary_angles(torch.arange(3), 4)
    tensor([[0.0000, 0.0000],
            [1.0000, 0.0100],
            [2.0000, 0.0200]])
    """
    expect_positive(width=width, base=base)
    expect_even(width=width)
    if dtype is None:
        dtype = positions.dtype if positions.is_floating_point() else torch.get_default_dtype()
    dtype = torch.promote_types(dtype, torch.float32)
    speeds = base ** (torch.arange(0, -width, -2, dtype=dtype, device=positions.device) / width)
    if scaling is not None:
        speeds = scaling.scale(speeds, base, positions)
    return positions.to(dtype).unsqueeze(-1) * speeds


def rotate(
    x: Float[Tensor, "*b t d"], angles: Float[Tensor, "*#b t k"], layout: str = "half", amplitude: float = 1.0
) -> Float[Tensor, "*b t d"]:
    """R(a, b) = (a cos α − b sin α, b cos α + a sin α) for each pair (a, b) of entries of x and its angle α.

    The k angles turn the first 2k entries of x; the others pass (partial rotary). Half precision turns in float32.

    >>> rotate(torch.tensor([[3.0, 4.0]]), torch.tensor([[math.pi / 2]]))
    tensor([[-4.0000,  3.0000]])
    """
    expect_float("x", x)
    expect_choice("layout", layout, LAYOUTS)
    _expect_entries("x", x, 2 * angles.shape[-1])
    return _turn(x, *_waves(angles, layout, amplitude), layout)


def _waves(angles: Tensor, layout: str, amplitude: float) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines, laid out as the entries that they meet: a meets −α and b meets α."""
    signed = (-angles, angles)
    alpha = torch.cat(signed, dim=-1) if layout == "half" else torch.stack(signed, dim=-1).flatten(-2)
    cosines, sines = alpha.cos(), alpha.sin()
    return (cosines, sines) if amplitude == 1 else (amplitude * cosines, amplitude * sines)


def _turn(x: Tensor, cosines: Tensor, sines: Tensor, layout: str) -> Tensor:
    w, d = cosines.shape[-1], x.shape[-1]
    z = (x if w == d else x[..., :w]).to(cosines.dtype)
    # (b, a) beside (a, b), and the sign in the sines: half the time of cutting x into a and b and joining them again.
    partner = z.roll(w // 2, dims=-1) if layout == "half" else z.unflatten(-1, (-1, 2)).roll(1, dims=-1).flatten(-2)
    y = torch.addcmul(z * cosines, partner, sines).to(x.dtype)
    return y if w == d else torch.cat((y, x[..., w:]), dim=-1)


def _expect_entries(name: str, x: Tensor, width: int) -> None:
    if x.ndim < 2 or x.shape[-1] < width:
        raise ValueError(
            f"{name} must have shape (..., time, {width} or more), got {tuple(x.shape)}; "
            "rotate with the width of a head or less"
        )


class Rotary(nn.Module):
    """Turns queries and keys by their positions: q_i ← R_i q_i, k_j ← R_j k_j. Taps: ``angles``, ``queries``, ``keys``.

    ``q, k = rotary(q, k, offset=cached)``. The first ``width`` entries of each vector turn. ``offset`` is the position
    of the first query and key; ``positions`` gives them one by one, (t) for all or (b, t) where b is the first axis of
    q and k. The angles are made anew in each pass, which takes little beside turning by them: no table can be rounded
    by ``.half()``, lost on the meta device, or too short.
    """

    def __init__(self, width: int, base: float = 10000.0, layout: str = "half", scaling: Scaling | None = None) -> None:
        super().__init__()
        expect_positive(width=width, base=base)
        expect_even(width=width)
        expect_choice("layout", layout, LAYOUTS)
        self.width, self.base, self.layout, self.scaling = width, base, layout, scaling
        self.angles = Tap()
        self.queries = Tap()
        self.keys = Tap()

    def forward(
        self,
        q: Float[Tensor, "*b t d"],
        k: Float[Tensor, "*c t d"],
        offset: int = 0,
        positions: Int[Tensor, "*p t"] | None = None,
    ) -> tuple[Float[Tensor, "*b t d"], Float[Tensor, "*c t d"]]:
        for name, x in (("q", q), ("k", k)):
            expect_float(name, x)
            _expect_entries(name, x, self.width)
        if positions is None:
            positions = torch.arange(offset, offset + q.shape[-2], device=q.device)
        alpha = rotary_angles(positions, self.width, self.base, self.scaling, q.dtype)
        if self.angles.live:
            alpha = self.angles(alpha)
        cosines, sines = _waves(alpha, self.layout, 1.0 if self.scaling is None else self.scaling.amplitude)
        q = _turn(q, _beside("q", q, cosines), _beside("q", q, sines), self.layout)
        k = _turn(k, _beside("k", k, cosines), _beside("k", k, sines), self.layout)
        if self.queries.live:
            q = self.queries(q)
        if self.keys.live:
            k = self.keys(k)
        return q, k

    def extra_repr(self) -> str:
        scaling = "" if self.scaling is None else f", {self.scaling}"
        return f"width={self.width}, base={self.base:g}, {self.layout}{scaling}"


def _beside(name: str, x: Tensor, wave: Tensor) -> Tensor:
    """(b, t, w) as (b, 1, …, t, w): the axes of the positions are the first of x, whatever lies between (heads)."""
    *first, t, w = wave.shape
    room = x.ndim - wave.ndim
    if room < 0 or t != x.shape[-2] or any(p not in (1, b) for p, b in zip(first, x.shape)):
        raise ValueError(
            f"positions must have shape (time) or (batch, time) of {name}, got {(*first, t)} for {name} of shape "
            f"{tuple(x.shape)}; give one position for each vector along the time axis"
        )
    return wave.reshape(*first, *(1,) * room, t, w)
