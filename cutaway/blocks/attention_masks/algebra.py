r"""A pattern is a rule for which keys a query may look at; patterns combine by and, or and not.

    (A & B)[i, j] = A[i, j] · B[i, j]
    (A | B)[i, j] = max(A[i, j], B[i, j])
    (~A)[i, j] = 1 − A[i, j]

Beside its entries a pattern knows bounds for whole blocks: whether some and whether all pairs of a block are visible.
They combine as the entries do (a complement swaps them), so that no combination ever has to be looked at pair by pair.
The patterns themselves are in patterns.py. Beltagy et al. 2020 and Zaheer et al. 2020 combine them so.
Notes: N3 §5.9.1.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from cutaway.overriding import override

BLOCK = 64  # queries and keys per block: the fastest of 32, 64, 96 and 128 in benchmarks/window_attention.py

DENSE = 0.75  # the share of blocks from which on one dense call is faster than tiles


class Where(NamedTuple):
    """Positions in the attention that a pattern is evaluated for: query i is at position i + offset, key j at j."""

    queries: int
    keys: int
    offset: int
    example: Tensor  # indices into the leading axes, for patterns that differ there
    head: Tensor


class Spans(NamedTuple):
    """The positions start..stop−1 cut into blocks of ``size``, of which the last may be shorter."""

    start: int
    stop: int
    size: int

    @property
    def first(self) -> Int[Tensor, "blocks"]:
        return torch.arange(self.start, self.stop, self.size)

    @property
    def last(self) -> Int[Tensor, "blocks"]:
        return (self.first + self.size).clamp(max=self.stop) - 1

    @property
    def positions(self) -> Int[Tensor, "blocks size"]:
        """The positions of every block; where it is shorter, its last one again."""
        return (self.first[:, None] + torch.arange(self.size)).minimum(self.last[:, None])


class Cost(NamedTuple):
    """Scores computed for each head: ``entries`` with the pattern, ``dense`` without."""

    entries: int
    dense: int

    @property
    def share(self) -> float:
        return self.entries / self.dense if self.dense else 0.0


Visible = Callable[[Tensor, Tensor, Where], Tensor]
Bounds = Callable[[Spans, Spans], tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """Which pairs are visible: M[i, j] = 1 where query i may look at key j. Combine with ``&``, ``|`` and ``~``.

    ``spelling`` is the expression that makes it, with ``{}`` for each of its ``tensors``. ``visible(i, j, where)`` is M
    at tensors of positions. ``bounds(rows, columns)`` says of every block whether some and whether all of its pairs
    are visible; in doubt, some are and not all. ``lead`` is (examples, heads or 1) where M differs by example.
    """

    spelling: str
    visible: Visible
    bounds: Bounds
    tensors: tuple[Tensor, ...] = ()
    lead: tuple[int, ...] = ()

    def __and__(self, other: "Pattern") -> "Pattern":
        return _combine(self, other, "&", operator.and_)

    def __or__(self, other: "Pattern") -> "Pattern":
        return _combine(self, other, "|", operator.or_)

    def __invert__(self) -> "Pattern":
        def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
            some, every = self.bounds(rows, columns)
            return ~every, ~some

        visible = lambda i, j, at: ~self.visible(i, j, at)
        return Pattern(f"~{self.spelling}", visible, bounds, self.tensors, self.lead)

    def dense(
        self, queries: int, keys: int, offset: int = 0, device: torch.device | str | None = None
    ) -> Bool[Tensor, "*b q k"]:
        """The matrix M, with leading axes (examples, heads or 1) where it differs by example."""
        if device is None and self.tensors:
            device = self.tensors[0].device
        examples, heads = self.lead or (1, 1)
        i, j = torch.arange(queries, device=device)[:, None] + offset, torch.arange(keys, device=device)
        example = torch.arange(examples, device=device)[:, None, None, None]
        head = torch.arange(heads, device=device)[:, None, None]
        return self.visible(i, j, Where(queries, keys, offset, example, head)).expand(*self.lead, queries, keys)

    def cost(self, n: int, block: int = BLOCK, keys: int | None = None) -> Cost:
        """Scores computed for n queries and ``keys`` (n unless given), over all examples: occupied blocks · block².

        The last query stands at the last key.
        """
        from cutaway.blocks.attention_masks.tiles import find_layout  # it compiles patterns, so it imports this file

        keys = n if keys is None else keys
        layout = find_layout(self.spelling, self.tensors, n, keys, keys - n, block)
        return Cost(layout.entries, n * keys * len(layout.tiles))

    def is_dense(self, n: int, block: int = BLOCK, keys: int | None = None) -> bool:
        """Whether it occupies nearly all blocks for n tokens, so that dense attention under its mask is as fast.

        While a model is being compiled the answer is False: the values of the tensors are not known then, and the
        block-sparse engine is right for every pattern.
        """
        return not torch.compiler.is_compiling() and self.cost(n, block, keys).share > DENSE

    def to_svg(self, n: int | None = None) -> str:
        """The picture of M for n tokens: queries downwards, keys to the right, dark where visible."""
        from cutaway.blocks.attention_masks.picture import draw

        return draw(self, n)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    @override
    def __repr__(self) -> str:
        text = self.spelling.format(*(f"<{'×'.join(map(str, t.shape))}>" for t in self.tensors))
        return text[1:-1] if text.startswith("(") else text

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pattern)
            and self.spelling == other.spelling
            and all(torch.equal(s, t) for s, t in zip(self.tensors, other.tensors, strict=True))
        )

    @override
    def __hash__(self) -> int:
        return hash(self.spelling)

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        from cutaway.blocks.attention_masks.patterns import (
            read_pattern,
        )  # pickled by its expression: rules are functions

        return read_pattern, (self.spelling, self.tensors)


def _combine(left: Pattern, right: Pattern, symbol: str, both: Callable[[Any, Any], Any]) -> Pattern:
    if not isinstance(right, Pattern):
        raise ValueError(
            f"a pattern combines with patterns, got {type(right).__name__}; wrap a mask in dense_mask(mask)"
        )

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        (some, every), (some_too, every_too) = left.bounds(rows, columns), right.bounds(rows, columns)
        return both(some, some_too), both(every, every_too)

    lead = left.lead or right.lead
    if left.lead and right.lead:
        if any(a != b and 1 not in (a, b) for a, b in zip(left.lead, right.lead)):
            raise ValueError(
                f"patterns combined must be for the same examples and heads, got {left.lead} in {left} and "
                f"{right.lead} in {right}; make both from one batch"
            )
        lead = (max(left.lead[0], right.lead[0]), max(left.lead[1], right.lead[1]))
    visible = lambda i, j, at: both(left.visible(i, j, at), right.visible(i, j, at))
    tensors = left.tensors + right.tensors
    return Pattern(f"({left.spelling} {symbol} {right.spelling})", visible, bounds, tensors, lead)


def spell(name: str, *numbers: int, causal: bool = True, **options: int) -> str:
    """The expression that makes a pattern; the causal kind is the default.

    >>> spell("window", 3, causal=False)
    'window(3, causal=False)'
    """
    words = [f"{word}={number}" for word, number in options.items()] + ([] if causal else ["causal=False"])
    return f"{name}({', '.join([*map(str, numbers), *words])})"
