r"""Dropout: in training each value is kept with probability 1 − rate, so that no unit relies on one other.

    y = x ⊙ m / (1 − rate),  m ~ Bernoulli(1 − rate)

Dividing by 1 − rate in training (inverted dropout) keeps E[y] = x, so that nothing is left to do at test. A rate of 1
would leave nothing to scale up, and is refused. Srivastava et al. 2014. Dropout kept on at test, many times, samples
from an approximate posterior: `monte_carlo` (Gal, Ghahramani 2016). Notes: N0 §1.6, N3 §8.3, where inputs and hidden
layers have rates of their own: two modules.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def dropout(x: Float[Tensor, "*s"], rate: float, generator: torch.Generator | None = None) -> Float[Tensor, "*s"]:
    """y = x ⊙ m / (1 − rate), m ~ Bernoulli(1 − rate): what a layer does in training.

    >>> sorted(set(dropout(torch.ones(100), 0.75).tolist()))
    [0.0, 4.0]
    """
    expect_float("x", x)
    _expect_rate(rate)
    m = torch.empty_like(x).bernoulli_(1 - rate, generator=generator)
    return x * m / (1 - rate)


def fast_dropout(x: Float[Tensor, "*s"], rate: float) -> Float[Tensor, "*s"]:
    """The same, where it is part of a long computation: on a CPU m takes 16 random bits a value, a fifth of the time.

    The rate is then the nearest multiple of 2⁻¹⁶, and E[y] = x holds for that one. Elsewhere it is torch's own.
    """
    plain = x.device.type == "cpu" and not (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack()  # something records or replaces every operation
        or torch._C._functorch.maybe_current_level() is not None
    )
    dropped = round(rate * 2**16)
    if not plain or dropped == 2**16:
        return nn.functional.dropout(x, rate)
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    m = words.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - 2**15
    return x * m.to(x.dtype).mul_(2**16 / (2**16 - dropped))


class Dropout(nn.Module):
    """Inverted dropout: y = x ⊙ m / (1 − rate) with m ~ Bernoulli(1 − rate) in training, y = x in evaluation.

    Tap: ``kept`` (m, ones and zeros), in training only.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        _expect_rate(rate)
        self.rate = rate
        self.kept = Tap()

    @override
    def forward(self, x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        expect_float("x", x)
        if not self.training:
            return x
        if not self.kept.live:
            return nn.functional.dropout(x, self.rate)
        y, m = torch.native_dropout(x, self.rate, True)  # draws the same numbers, and shows them
        kept = self.kept(m.to(x.dtype))
        return x * kept / (1 - self.rate) if self.kept.edited else y

    @override
    def extra_repr(self) -> str:
        return f"rate={self.rate}"


@contextmanager
def dropping(model: nn.Module) -> Iterator[None]:
    """Keeps dropout on at test: y = x ⊙ m / (1 − rate) in every dropout module, evaluation mode in all others.

    Batch norm, for example, uses its running averages. Dropout modules are ours, torch's, and those with a number
    ``dropout`` above 0. The modes are restored on exit, also after an error.
    """
    droppers = [module for module in model.modules() if _rate_of(module) > 0]
    if not droppers:
        raise ValueError(
            f"dropout can be kept on only where a rate is above 0, got a {type(model).__name__} without one; "
            "build the model with dropout"
        )
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        for module in droppers:
            module.training = True  # not .train(): that would switch its parts as well
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _rate_of(module: nn.Module) -> float:
    if isinstance(module, Dropout):
        return module.rate
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p
    rate = getattr(module, "dropout", 0)
    return rate if isinstance(rate, (int, float)) else 0


class MonteCarlo(NamedTuple):
    """Mean and standard deviation, entry by entry, of a model's sampled outputs."""

    mean: Tensor
    std: Tensor


def monte_carlo(model: nn.Module, x: Tensor, samples: int = 100, seed: int | None = None) -> MonteCarlo:
    """Predicts with dropout on: mean = Σ yₛ / S and std = √(Σ (yₛ − mean)² / (S − 1)) over S passes.

    With a ``seed`` the passes draw from a stream of their own and leave torch's where it was. No gradients.
    """
    if samples < 2:
        raise ValueError(f"a standard deviation needs samples of 2 or more, got {samples}; try samples=100")
    devices = {p.device for p in model.parameters() if p.device.type == "cuda"}
    with dropping(model), torch.no_grad(), torch.random.fork_rng(list(devices), enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        mean = model(x)
        squares = torch.zeros_like(mean)
        for s in range(2, samples + 1):  # Welford 1962: one pass, no difference of large sums, no stored samples
            y = model(x)
            change = y - mean
            mean = mean + change / s
            squares = squares + change * (y - mean)
    return MonteCarlo(mean, torch.sqrt(squares / (samples - 1)))


def _expect_rate(rate: float) -> None:
    if not 0 <= rate < 1:
        raise ValueError(f"rate must be from 0 to below 1, got {rate}; a rate of 1 would drop everything, try rate=0.5")
