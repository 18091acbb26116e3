r"""Sampling chooses the next token from its logits.

    p = softmax(ℓ / T)                  temperature T; T = 0 is the argmax
    top-k       keep the k most probable tokens (Fan et al. 2018)
    top-p       keep the fewest tokens whose probability reaches p (Holtzman et al. 2020)
    min-p       keep tokens at least min_p times as probable as the best (Nguyen et al. 2024)
    penalty     ℓ_v / r if ℓ_v > 0 else ℓ_v · r for tokens v already there (Keskar et al. 2019)

Notes: N3 §2.4.6 (temperature), §5.4.
"""

import difflib
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_positive, expect_probability

_OTHER_KEYWORDS = ("tokens", "stop", "end", "beams", "speculate", "special")  # which a misspelt name may also mean


@dataclass(frozen=True)
class Sampling:
    """The settings of sampling, applied in order: penalty, temperature, top-k, top-p, min-p; ``seed`` for the draws."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value, whole = getattr(self, field.name), field.name in ("top_k", "seed")
            if value is None and field.default is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
                kind = "a whole number" if whole else "a number"
                raise ValueError(
                    f"{field.name} must be {kind}, got {value!r}; leave it out for the default, {field.default}"
                )
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be 0 (greedy) or above, got {self.temperature}; try temperature=0.8")
        if self.top_k is not None:
            expect_positive(top_k=self.top_k)
        for name, value in (("top_p", self.top_p), ("min_p", self.min_p)):
            if value is not None:
                expect_probability(**{name: value})
        expect_positive(repetition_penalty=self.repetition_penalty)
        if self.seed is not None and not -(1 << 63) <= self.seed < 1 << 63:
            raise ValueError(f"seed must be from -2⁶³ to below 2⁶³, got {self.seed}; try seed=0")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0 or self.top_k == 1

    def generators(self, batch: int) -> list[torch.Generator]:
        """One for each example, seeded with seed, seed + 1, …: no text depends on what else is in its batch.

        Torch's own random numbers, which training draws from, are left alone.
        """
        first = torch.Generator().seed() % 2**31 if self.seed is None else self.seed
        return [torch.Generator().manual_seed(first + i) for i in range(batch)]


def as_sampling(given: dict[str, Any]) -> Sampling:
    """The keywords of a call that say how to choose; others are a mistake of the caller."""
    known = [field.name for field in fields(Sampling)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *_OTHER_KEYWORDS], n=1)
            way = f"did you mean {near[0]}?" if near and near[0] != name else "leave it out"
            raise ValueError(f"a text is chosen by {', '.join(known)}, got {name!r}; {way}")
    return Sampling(**given)


def log_softmax(logits: Float[Tensor, "*b v"]) -> Float[Tensor, "*b v"]:
    """log p = ℓ − log Σ e^ℓ, in float32 at least: sums of logs over a text lose too much in half precision."""
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def filtered(
    logits: Float[Tensor, "b v"], settings: Sampling, before: Int[Tensor, "b t"] | None = None
) -> Float[Tensor, "b v"]:
    """The logits under these settings, −∞ for tokens that may not be drawn; ``before`` are the tokens so far."""
    if settings.repetition_penalty != 1 and before is not None:
        logits = penalise(logits, before, settings.repetition_penalty)
    if settings.temperature not in (0, 1):
        logits = logits / settings.temperature
    if settings.top_k is not None:
        logits = keep_top_k(logits, settings.top_k)
    if settings.top_p is not None and settings.top_p < 1:  # 1 keeps every token; a rounded sum would cut the rare ones
        logits = keep_top_p(logits, settings.top_p)
    if settings.min_p is not None:
        logits = keep_min_p(logits, settings.min_p)
    return logits


def penalise(logits: Float[Tensor, "b v"], before: Int[Tensor, "b t"], penalty: float) -> Float[Tensor, "b v"]:
    """ℓ_v / r if ℓ_v > 0 else ℓ_v · r, for every token v in ``before``, once however often it is there."""
    old = logits.gather(1, before)
    return logits.scatter(1, before, torch.where(old > 0, old / penalty, old * penalty))


def keep_top_k(logits: Float[Tensor, "b v"], k: int) -> Float[Tensor, "b v"]:
    """The k largest logits (more where they tie); the rest −∞.

    >>> keep_top_k(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[-inf, 3., 2.]])
    """
    least = logits.topk(min(k, logits.shape[-1]), -1).values[:, -1:]
    return logits.masked_fill(logits < least, -torch.inf)


def keep_top_p(logits: Float[Tensor, "b v"], p: float) -> Float[Tensor, "b v"]:
    """The fewest tokens whose probabilities add up to p, at least one; the rest −∞.

    >>> keep_top_p(torch.tensor([[0.5, 0.2, 0.3]]).log(), 0.7).exp()
    tensor([[0.5000, 0.0000, 0.3000]])
    """
    ranked, order = logits.sort(-1, descending=True)
    # In float64: over a large vocabulary the sum of float32 drifts by far more than the rare tokens have.
    probabilities = ranked.double().softmax(-1)
    out = probabilities.cumsum(-1) - probabilities >= p  # what came before is already enough
    out[:, 0] = False
    return logits.masked_fill(out.scatter(1, order, out), -torch.inf)


def keep_min_p(logits: Float[Tensor, "b v"], p: float) -> Float[Tensor, "b v"]:
    """Tokens whose probability is at least p times that of the best; the rest −∞.

    >>> keep_min_p(torch.tensor([[0.5, 0.2, 0.3]]).log(), 0.5).exp()
    tensor([[0.5000, 0.0000, 0.3000]])
    """
    probabilities = logits.softmax(-1)
    return logits.masked_fill(probabilities < p * probabilities.amax(-1, keepdim=True), -torch.inf)


def choose(
    logits: Float[Tensor, "b v"],
    settings: Sampling,
    generators: list[torch.Generator],
    before: Int[Tensor, "b t"] | None = None,
) -> Int[Tensor, "b"]:
    """One token for each example: the argmax if greedy, else a draw from what `filtered` leaves."""
    left = filtered(logits, settings, before)
    if settings.greedy:
        return left.argmax(-1)
    # The inverse of the distribution function at a uniform number, in float64: exact for any vocabulary.
    reached = left.double().softmax(-1).cumsum(-1)
    u = torch.stack([torch.rand((), generator=g, dtype=torch.float64) for g in generators]).to(logits.device)
    places = torch.searchsorted(reached, (u * reached[:, -1])[:, None], right=True).squeeze(-1)
    return places.clamp(max=logits.shape[-1] - 1)


__all__ = ["Sampling", "choose", "filtered", "keep_min_p", "keep_top_k", "keep_top_p", "log_softmax", "penalise"]
