r"""How one of our tensors is made of theirs, and back. Ours are (inputs, outputs); most of theirs (outputs, inputs).

    W = [W_qᵀ, W_kᵀ, W_vᵀ] = [W_q; W_k; W_v]ᵀ

So ours is the transpose of theirs under one another: a view, for which nothing is copied.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from torch import Tensor


@dataclass(frozen=True)
class Rule:
    """Our tensor is theirs under one another, turned if ``turned``: side by side along our last axis.

    ``sizes`` are the widths of the parts; ``shape`` is the shape of theirs where it is more than a matrix. ``copies``
    are names under which theirs stands once more.
    """

    theirs: tuple[str, ...]
    turned: bool = False
    sizes: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    copies: tuple[str, ...] = ()

    def load(self, take: Callable[[tuple[str, ...]], Tensor]) -> Tensor:
        """Our tensor; ``take`` gives theirs, several under one another."""
        x = take(self.theirs)
        if self.shape:
            x = x.reshape(self.shape[0], -1) if self.turned else x.squeeze(0)
        return x.T if self.turned else x

    def save(self, ours: Tensor) -> dict[str, Tensor]:
        parts: Sequence[Tensor] = ours.split(self.sizes, -1) if self.sizes else [ours]
        if self.turned:
            parts = [part.T for part in parts]
        if self.shape:
            assert prod(self.shape) == parts[0].numel()
            parts = [part.reshape(self.shape) for part in parts]
        named = {name: part.contiguous() for name, part in zip(self.theirs, parts, strict=True)}
        return named | {name: parts[0].clone() for name in self.copies}


def same(name: str) -> Rule:
    """Stored alike."""
    return Rule((name,))


def turned(name: str) -> Rule:
    """Stored as its transpose."""
    return Rule((name,), turned=True)


def joined(names: Sequence[str], sizes: Sequence[int], turn: bool = True) -> Rule:
    """Several of theirs in one of ours: queries, keys and values, or gates and values."""
    return Rule(tuple(names), turn, tuple(sizes))


Rules = dict[str, Rule]


def linear(ours: str, theirs: str, bias: bool = True) -> Rules:
    """A linear map and its bias."""
    rules = {f"{ours}.weight": turned(f"{theirs}.weight")}
    if bias:
        rules[f"{ours}.bias"] = same(f"{theirs}.bias")
    return rules


def norm(ours: str, theirs: str, bias: bool = True) -> Rules:
    """A norm's gain and bias."""
    rules = {f"{ours}.weight": same(f"{theirs}.weight")}
    if bias:
        rules[f"{ours}.bias"] = same(f"{theirs}.bias")
    return rules


def qkv(ours: str, theirs: Sequence[str], sizes: Sequence[int], bias: bool = True) -> Rules:
    """Three projections that we keep in one matrix."""
    rules = {f"{ours}.weight": joined([f"{name}.weight" for name in theirs], sizes)}
    if bias:
        rules[f"{ours}.bias"] = joined([f"{name}.bias" for name in theirs], sizes, turn=False)
    return rules
