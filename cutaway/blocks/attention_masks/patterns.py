r"""Patterns: which keys a query may look at.

    M[i, j] = 1 if query i may look at key j, else 0
    A = softmax(E + log M)      weights of masked attention; a row without keys is all zero

A pattern is a rule and holds no n × n matrix: `window(256) | global_tokens(4)` costs nothing before it is used. Query i
and key j are counted by position: with a cache of earlier keys, the first query stands behind them.

Vaswani et al. 2017 (causal); Liu et al. 2018 (prefix); Child et al. 2019 (dilated, block); Beltagy et al. 2020 (window,
global); Zaheer et al. 2020 (random); Krell et al. 2021 (packed documents). Notes: N3 §5.9.1 and table 1.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.attention_masks.algebra import Cost, Pattern, Spans, Where, spell
from cutaway.blocks.attention_masks.by_example import dense_mask, padding, segments
from cutaway.blocks.attention_masks.random_blocks import random
from cutaway.blocks.checks import expect_positive

# ---------------------------------------------------------------------------------------------------------------------
# Rules on the distance i − j.


def causal() -> Pattern:
    """The past and the present: M[i, j] = [j ≤ i].

    >>> causal().dense(2, 3, offset=1).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return _band("causal()", 0, None)


def window(size: int, causal: bool = True) -> Pattern:
    """The nearest keys: M[i, j] = [0 ≤ i − j < size], or [|i − j| < size] if not causal.

    >>> window(2).dense(3, 3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """
    expect_positive(size=size)
    return _band(spell("window", size, causal=causal), 0 if causal else 1 - size, size - 1)


def dilated(size: int, step: int, causal: bool = True) -> Pattern:
    """Every step-th key, ``size`` of them: M[i, j] = [i − j ∈ {0, step, …, (size − 1) step}], or |i − j| if not causal.

    >>> dilated(2, 3).dense(4, 4).int()[-1]
    tensor([1, 0, 0, 1], dtype=torch.int32)
    """
    expect_positive(size=size, step=step)
    reach = (size - 1) * step
    return _band(spell("dilated", size, step, causal=causal), 0 if causal else -reach, reach, step)


def _band(spelling: str, low: int, high: int | None, step: int = 1) -> Pattern:
    """low ≤ i − j ≤ high and i − j a multiple of step, as low and high are."""

    def visible(i: Tensor, j: Tensor, at: Where) -> Tensor:
        seen = j <= i - low
        if high is not None:
            seen = seen & (j >= i - high)
        return seen & (i % step == j % step) if step > 1 else seen

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        # A block holds every distance from `least` to `most`.
        least, most = rows.first[:, None] - columns.last, rows.last[:, None] - columns.first
        some, every = most >= low, least >= low
        if high is not None:
            some, every = some & (least <= high), every & (most <= high)
            least, most = least.clamp(min=low), most.clamp(max=high)
        if step > 1:
            some, every = some & (most.div(step, rounding_mode="floor") * step >= least), torch.zeros_like(every)
        return some, every

    return Pattern(spelling, visible, bounds)


# ---------------------------------------------------------------------------------------------------------------------
# Rules on the positions themselves.


def prefix(length: int) -> Pattern:
    """A prompt that all see, then the past: M[i, j] = [j < length or j ≤ i].

    >>> prefix(2).dense(3, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    expect_positive(length=length)
    rule = _first_keys(length) | causal()
    return Pattern(spell("prefix", length), rule.visible, rule.bounds)


def global_tokens(count: int) -> Pattern:
    """The first tokens see all and are seen by all: M[i, j] = [i < count or j < count].

    >>> global_tokens(1).dense(3, 3).int()
    tensor([[1, 1, 1],
            [1, 0, 0],
            [1, 0, 0]], dtype=torch.int32)
    """
    expect_positive(count=count)
    first_queries = Pattern(
        "", lambda i, j, at: i < count, lambda rows, _: (rows.first[:, None] < count, rows.last[:, None] < count)
    )
    rule = _first_keys(count) | first_queries
    return Pattern(spell("global_tokens", count), rule.visible, rule.bounds)


def _first_keys(count: int) -> Pattern:
    return Pattern("", lambda i, j, at: j < count, lambda _, columns: (columns.first < count, columns.last < count))


def blocks(size: int) -> Pattern:
    """Chunks that see themselves alone: M[i, j] = [⌊i / size⌋ = ⌊j / size⌋].

    >>> blocks(2).dense(3, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    expect_positive(size=size)

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        a, b = rows.first[:, None] // size, rows.last[:, None] // size
        c, d = columns.first // size, columns.last // size
        return (a <= d) & (c <= b), (a == b) & (c == d) & (a == c)

    return Pattern(spell("blocks", size), lambda i, j, at: i // size == j // size, bounds)


# ---------------------------------------------------------------------------------------------------------------------
# Expressions: a pattern goes through pickles and compiled graphs as text and tensors.

_FACTORIES: dict[str, Callable[..., Pattern]] = {
    factory.__name__: factory
    for factory in (
        blocks, causal, dense_mask, dilated, global_tokens, padding, prefix, random, segments, window
    )
}  # fmt: skip


def read_pattern(spelling: str, tensors: Sequence[Tensor] = ()) -> Pattern:
    """The pattern that an expression spells, ``{}`` standing for the tensors in turn: read(p.spelling, p.tensors) = p.

    >>> read_pattern("(causal() & segments({}))", [torch.tensor([[0, 0, 1]])])
    causal() & segments(<1×3>)
    """

    def build(node: ast.AST) -> Any:
        match node:
            case ast.BinOp(left, ast.BitAnd(), right):
                return build(left) & build(right)
            case ast.BinOp(left, ast.BitOr(), right):
                return build(left) | build(right)
            case ast.UnaryOp(ast.Invert(), operand):
                return ~build(operand)
            case ast.UnaryOp(ast.USub(), ast.Constant(int(number))):
                return -number
            case ast.Constant(int(number)):
                return number
            case ast.Call(ast.Name("tensor"), [ast.Constant(int(number))]):
                return tensors[number]
            case ast.Call(ast.Name(name), positional, named) if name in _FACTORIES:
                return _FACTORIES[name](*map(build, positional), **{str(word.arg): build(word.value) for word in named})
        raise ValueError(
            f"an expression combines {', '.join(_FACTORIES)} with &, | and ~, got {spelling!r}; "
            "take the spelling of a pattern"
        )

    text = spelling.format(*(f"tensor({number})" for number in range(len(tensors))))
    return build(ast.parse(text, mode="eval").body)


__all__ = ["Cost", "Pattern", "read_pattern", *_FACTORIES]
