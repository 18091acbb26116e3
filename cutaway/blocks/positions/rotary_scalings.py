r"""Scalings of rotary positions: a model trained on short contexts reads longer ones if its pairs turn more slowly.

    θ'_k = scale(θ_k)           speed of pair k, from θ_k = base^{−2k/w}

Position interpolation: Chen et al. 2023; NTK-aware and YaRN: Peng et al. 2023; Llama 3 2024. The rotation itself:
rotary.py. Notes: N3 §5.7.2.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Real
from torch import Tensor

from cutaway.blocks.checks import expect_positive


@runtime_checkable
class Scaling(Protocol):
    """How pairs are slowed down for contexts longer than those trained on."""

    @property
    def amplitude(self) -> float:
        """The factor by which the turned vectors are multiplied."""

    def scale(self, speeds: Float[Tensor, "k"], base: float, positions: Real[Tensor, "*t"]) -> Float[Tensor, "k"]:
        """The slowed speeds θ' of the speeds θ."""


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
        share = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)  # of the old speed
        return speeds * (share + (1 - share) / self.factor)


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
