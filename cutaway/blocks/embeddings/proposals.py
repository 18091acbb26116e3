r"""Proposals: the distribution q that negative classes are drawn from.

    uniform         q_c = 1/C
    log-uniform     q_c = log((c + 2)/(c + 1)) / log(C + 1)      Zipf's law, for classes sorted by falling frequency
    unigram         q_c ∝ n_c^¾                                  n_c: how often class c occurs
    adaptive        q_c ∝ any positive numbers, set anew at any time

A draw takes a random number from 0 to 1 to the class at which the cumulative sum of q passes it, by bisection: log₂ C
steps for a draw, and one cumulative sum whenever q changes.

Bengio and Senécal 2008 (adaptive proposals); Mikolov et al. 2013, §2.2 (the power ¾). Notes: N3 §4.4.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Integer, Shaped
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.overriding import override

NAMES = ("uniform", "log_uniform", "unigram")
_WHOLE = 2**62  # the whole of the cumulative sum


class Proposal(nn.Module):
    r"""A distribution over classes to draw from, q_c ∝ ``weights``; made by name with `as_proposal`.

    >>> Proposal(torch.tensor([1.0, 3.0])).log_q.exp()
    tensor([0.2500, 0.7500])
    """

    log_q: Tensor
    cumulative: Tensor

    def __init__(self, weights: Shaped[Tensor, "c"]) -> None:
        super().__init__()
        self.classes = len(weights)
        self.register_buffer("log_q", torch.empty(self.classes))
        # whole numbers out of 2⁶²: a change of the module's dtype leaves them as they are
        self.register_buffer("cumulative", torch.empty(self.classes, dtype=torch.long))
        self.set_weights(weights)

    @torch.no_grad()
    def set_weights(self, weights: Shaped[Tensor, "c"] | Sequence[float]) -> None:
        """Draws from q_c ∝ ``weights`` from now on: for proposals that adapt while a model is trained."""
        w = torch.as_tensor(weights, device="cpu").detach().double()  # its values are read, also for an empty model
        if w.shape != (self.classes,) or not w.isfinite().all() or not (w > 0).all():
            bad = f"{int((~(w > 0) | ~w.isfinite()).sum())} that are not" if w.shape == (self.classes,) else "others"
            raise ValueError(
                f"weights of a proposal must be {self.classes} finite numbers above 0, got shape {tuple(w.shape)} with "
                f"{bad}; a class that is never drawn is never pushed down, so add 1 to counts"
            )
        q = w / w.sum()
        self.log_q.copy_(q.log())
        total = q.cumsum(0)
        self.cumulative.copy_((total / total[-1] * _WHOLE).long())

    def draw(self, *shape: int, generator: torch.Generator | None = None) -> Int[Tensor, "..."]:
        """Classes drawn from q, independent of each other."""
        u = torch.randint(_WHOLE, shape, generator=generator, device=self.cumulative.device)
        return torch.searchsorted(self.cumulative, u, right=True)

    def log_probability(self, classes: Integer[Tensor, "*b"]) -> Float[Tensor, "*b"]:
        """log q of the classes."""
        return self.log_q.index_select(0, classes.flatten()).view(classes.shape)

    @override
    def extra_repr(self) -> str:
        return f"{self.classes:,} classes"


def as_proposal(
    proposal: str | Proposal | Shaped[Tensor, "c"],
    classes: int,
    counts: Sequence[float] | Shaped[Tensor, "c"] | None = None,
) -> Proposal:
    """A proposal by name, "uniform", "log_uniform" or "unigram" (which needs ``counts``), or by its weights."""
    expect_positive(classes=classes)
    if isinstance(proposal, Proposal | Tensor):
        found = proposal if isinstance(proposal, Proposal) else Proposal(proposal)
        if found.classes != classes:
            raise ValueError(
                f"a proposal must be for the {classes} classes of the layer, got {found.classes}; build both alike"
            )
        return found
    expect_choice("proposal", proposal, NAMES)
    if proposal == "uniform":
        return Proposal(torch.ones(classes, dtype=torch.float64, device="cpu"))
    if proposal == "log_uniform":
        rank = torch.arange(1, classes + 1, dtype=torch.float64, device="cpu")
        return Proposal(torch.log1p(1 / rank))
    if counts is None:
        raise ValueError("a unigram proposal needs counts, got none; pass counts=, how often each class occurs")
    return Proposal(unigram_weights(counts))


def unigram_weights(counts: Sequence[float] | Shaped[Tensor, "c"], power: float = 0.75) -> Float[Tensor, "c"]:
    """n_c^¾: counts, flattened so that rare classes are drawn more often than they occur.

    >>> unigram_weights([16, 1])
    tensor([8., 1.], dtype=torch.float64)
    """
    return torch.as_tensor(counts, device="cpu").double() ** power


__all__ = ["Proposal", "as_proposal", "unigram_weights"]
