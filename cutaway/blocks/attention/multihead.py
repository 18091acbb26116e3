r"""Multi-head attention: several attentions side by side, each in its own projection of the input.

    Q, K, V = X W_Q, X W_K, X W_V            per head; one fused matrix [W_Q W_K W_V] holds all
    Y_h = softmax(Q_h K_hᵀ / √d) V_h         head h
    Y = [Y_1 … Y_H] W_O + b                  heads side by side, projected back

With ``memory`` the keys and values are taken from it instead of X (cross attention). With fewer key–value heads than
heads, groups of query heads share theirs. Vaswani et al. 2017, §3.2.2; grouped queries: Ainslie et al. 2023.
Notes: N0 §2.2, N2, N3 §5.6.2–5.6.3. Axis letters: docs/notation.md.
"""

from collections.abc import Callable
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.caches import LayerCache, MemoryCache
from cutaway.blocks.attention.dot_product import (
    Mask,
    attend,
    attend_last,
    attention_scores,
    dot_product_attention,
    mix_values,
)
from cutaway.blocks.attention.weightings import soft_weights
from cutaway.blocks.checks import expect_positive, expect_probability, expect_width, near_divisors
from cutaway.blocks.dense.affine import Linear, linear
from cutaway.blocks.positions.rotary import PassPositions
from cutaway.inside.quiet import equation_of
from cutaway.inside.taps import Part, Tap
from cutaway.overriding import override


def multi_head_attention(x: Tensor, qkv: Tensor, out: Tensor, heads: int) -> Tensor:
    """The bare equation: x (…, t, w), ``qkv`` = [W_Q W_K W_V] and ``out`` = W_O, without masks and biases."""
    q, k, v = rearrange(x @ qkv, "... t (n h d) -> n ... h t d", n=3, h=heads)
    y = dot_product_attention(q, k, v).output
    return rearrange(y, "... h t d -> ... t (h d)") @ out


class MultiHeadAttention(nn.Module):
    """Y = [Y_1 … Y_H] W_O + b with Y_h = softmax(Q_h K_hᵀ / √d) V_h.

    ``bias`` may be "qkv": for these three projections only. ``scale`` replaces 1/√d. ``dropout`` drops weights, in
    training. ``prepare`` is a module that queries and keys go through before they meet, for rotary positions or norms
    of their own: ``q, k = prepare(q, k, positions)``, both (batch, heads, time, head width).

    Taps: ``queries`` and ``keys`` (prepared), ``values``, ``scores`` (−∞ where masked), ``weights`` (before dropout),
    ``head_outputs`` (the Y_h) and ``output``. Reading scores or weights keeps the fused output and computes them beside
    it; editing one, or asking for its gradient, takes the written-out equation.
    """

    attention_weights = {"weights": ("tokens", "tokens")}  # the tap, and whose tokens its queries and keys are
    residual_writers = ("out",)  # the child whose output is added to the residual stream
    kernel: Callable[..., Tensor] = staticmethod(attend)  # computes the output; see also `attend_twice`
    part_names = {"qkv": ("queries", "keys", "values")}  # of `fused_parts`, for what changes one of them alone

    def __init__(
        self,
        width: int,
        heads: int,
        kv_heads: int | None = None,
        head_width: int | None = None,
        bias: bool | str = True,
        scale: float | None = None,
        dropout: float = 0.0,
        prepare: nn.Module | None = None,
    ) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        expect_positive(width=width, heads=heads, kv_heads=kv_heads)
        expect_probability(dropout=dropout)
        if head_width is None:
            _expect_multiple(width, heads)
            head_width = width // heads
        expect_positive(head_width=head_width)
        if heads % kv_heads:
            raise ValueError(
                f"heads must be a multiple of kv_heads, got heads={heads}, kv_heads={kv_heads}; "
                f"try kv_heads={near_divisors(heads, kv_heads, 1)[0]}"
            )
        if bias not in (True, False, "qkv"):
            raise ValueError(f"bias must be True, False or 'qkv', got {bias!r}; 'qkv' leaves it out of the last map")
        self.width, self.heads, self.kv_heads, self.head_width = width, heads, kv_heads, head_width
        self.scale, self.dropout = scale, dropout
        self.sizes = [n * head_width for n in (heads, kv_heads, kv_heads)]  # of W_Q, W_K and W_V
        self.qkv = Linear(width, sum(self.sizes), bias=bool(bias))
        self.out = Linear(self.sizes[0], width, bias=bias is True)
        self.prepare = prepare
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.weights = Tap(), Tap()
        self.head_outputs, self.output = Tap(), Tap()

    @override
    def forward(
        self,
        x: Float[Tensor, "*b q w"],
        memory: Float[Tensor, "*#b k w"] | None = None,
        mask: Mask | None = None,
        causal: bool = False,
        window: int | None = None,
        bias: Float[Tensor, "*n #q #k"] | None = None,
        cache: LayerCache | MemoryCache | None = None,
        positions: Int[Tensor, "*p q"] | PassPositions | None = None,
    ) -> Float[Tensor, "*b q w"]:
        """``cache``: a LayerCache of earlier keys and values, or a MemoryCache of those of the memory.

        ``positions`` are for ``prepare``; by default they count on from the cache. The rest is as in `attend`.
        """
        if x.ndim < 2:
            raise ValueError(f"x must have shape (..., time, width), got {tuple(x.shape)}; for one vector use x[None]")
        if memory is None:
            q, k, v = self._from_itself(x, cache, positions)
        else:
            q, k, v = self._from_memory(x, memory, cache, positions)
        if self.queries.live:
            q = self.queries(q)
        if self.keys.live:
            k = self.keys(k)
        if self.values.live:
            v = self.values(v)
        if isinstance(cache, LayerCache):
            k, v = cache.extend(k, v)
        y = self._attend(q, k, v, {"mask": mask, "causal": causal, "window": window, "bias": bias, "scale": self.scale})
        if self.head_outputs.live:
            y = self.head_outputs(y)
        y = self.out(y.transpose(-3, -2).flatten(-2))  # ... h q d -> ... q (h d)
        if self.output.live:
            y = self.output(y)
        return y

    def equation(
        self,
        x: Float[Tensor, "*b w"],
        memory: Float[Tensor, "*#b k w"] | None = None,
        mask: Mask | None = None,
        causal: bool = False,
        window: int | None = None,
        bias: Float[Tensor, "*n #q #k"] | None = None,
        cache: LayerCache | MemoryCache | None = None,
        positions: Int[Tensor, "*p q"] | PassPositions | None = None,
    ) -> Float[Tensor, "*b w"]:
        """As ``forward``; a single token may come as a vector (w)."""
        one = x.ndim == 1
        if memory is not None or not isinstance(cache, LayerCache):
            y = self.forward(x[None, None] if one else x, memory, mask, causal, window, bias, cache, positions)
            return y[0, 0] if one else y
        qkv = equation_of(self.qkv)(x)
        heads = qkv.view(1, -1, 1, self.head_width) if one else self._by_head(qkv)
        q, k, v = heads.split_with_sizes((self.heads, self.kv_heads, self.kv_heads), -3)
        if self.prepare is not None:
            q, k = equation_of(self.prepare)(q, k, self._positions(x, cache, positions))
        k, v = cache.extend(k, v)
        if q.shape[-2] == 1 and causal and mask is None and bias is None:
            y = attend_last(q, k, v, window, self.scale)
        else:
            y = attend(q, k, v, mask, causal, window, bias=bias, scale=self.scale)
        return equation_of(self.out)(y.view(-1) if one else y.transpose(-3, -2).flatten(-2))

    def _from_itself(
        self, x: Tensor, cache: LayerCache | MemoryCache | None, positions: Tensor | PassPositions | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        if isinstance(cache, MemoryCache):
            raise ValueError(
                "a MemoryCache is for cross attention, got it without a memory; pass memory= or a LayerCache"
            )
        q, k, v = self._by_head(self.qkv(x)).split_with_sizes((self.heads, self.kv_heads, self.kv_heads), -3)
        if self.prepare is not None:
            q, k = self.prepare(q, k, self._positions(x, cache, positions))
        return q, k, v

    def _positions(
        self, x: Tensor, cache: LayerCache | None, positions: Tensor | PassPositions | None
    ) -> Tensor | PassPositions | None:
        """The positions given, or those that follow the cached tokens."""
        if positions is not None or cache is None or not cache.length:
            return positions
        return torch.arange(cache.length, cache.length + (x.shape[-2] if x.ndim > 1 else 1), device=x.device)

    def _from_memory(
        self,
        x: Tensor,
        memory: Tensor,
        cache: LayerCache | MemoryCache | None,
        positions: Tensor | PassPositions | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        if isinstance(cache, LayerCache):
            raise ValueError("a LayerCache is for self-attention, got it with a memory; pass a MemoryCache")
        expect_width("memory", memory, self.width)
        first, last = self.sizes[0], sum(self.sizes)
        q = self._by_head(self._map(x, 0, first))
        if cache is None or cache.keys is None or cache.values is None:
            k, v = self._by_head(self._map(memory, first, last)).chunk(2, -3)
            if cache is not None:
                cache.keys, cache.values = k, v
        else:
            k, v = cache.keys, cache.values
            if k.shape[-2] != memory.shape[-2]:
                raise ValueError(
                    f"a MemoryCache belongs to one memory, got {k.shape[-2]} keys in it and a memory of "
                    f"{memory.shape[-2]}; begin with a new one"
                )
        if self.prepare is not None:
            q, k = self.prepare(q, k, positions)
        return q, k, v

    def _map(self, x: Tensor, first: int, last: int) -> Tensor:
        """Some columns of X [W_Q W_K W_V]; another module in place of the Linear (LoRA) computes all of them first."""
        if type(self.qkv) is not Linear:
            return self.qkv(x)[..., first:last]
        b = self.qkv.bias
        return linear(x, self.qkv.weight[:, first:last], None if b is None else b[first:last])

    def _by_head(self, x: Tensor) -> Tensor:
        d = self.head_width
        return x.view(*x.shape[:-1], x.shape[-1] // d, d).transpose(-3, -2)  # ... t (h d) -> ... h t d

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, options: dict[str, Any]) -> Tensor:
        rate = self.dropout if self.training else 0.0
        if not (self.scores.live or self.weights.live):
            return self.kernel(q, k, v, dropout=rate, **options)
        if not (self.scores.edited or self.weights.edited):
            self._read_scores(q, k, options)
            return self.kernel(q, k, v, dropout=rate, **options)
        e = attention_scores(q, k, **options)
        if self.scores.live:
            e = self.scores(e)
        a = soft_weights(e)
        if self.weights.live:
            a = self.weights(a)
        return mix_values(nn.functional.dropout(a, rate) if rate else a, v)

    def _read_scores(self, q: Tensor, k: Tensor, options: dict[str, Any]) -> None:
        """Computes scores and weights for the taps, beside the fused output: only the examples and heads asked for."""
        parts = [tap.wanted for tap in (self.scores, self.weights) if tap.live]
        part = parts[0] if parts[0] == parts[-1] and len(parts[0]) <= q.ndim - 2 else ()
        try:
            e = attention_scores(q, k, only=part, **options)
        except IndexError:  # there is no such part; given the whole, the trace raises an error that says so
            e, part = attention_scores(q, k, **options), ()
        shown = Part if part else lambda value: value
        if self.scores.live:
            self.scores(shown(e))
        if self.weights.live:
            self.weights(shown(soft_weights(e)))

    @property
    def fused_parts(self) -> dict[str, tuple[int, ...]]:
        """W_Q, W_K and W_V side by side in one matrix, for optimizers that treat each by itself."""
        return {"qkv": tuple(self.sizes)}

    @override
    def extra_repr(self) -> str:
        shared = "" if self.kv_heads == self.heads else f", kv_heads={self.kv_heads}"
        return f"width={self.width}, heads={self.heads}{shared}, head_width={self.head_width}"


def _expect_multiple(width: int, heads: int) -> None:
    if width % heads:
        tries = " or ".join(f"heads={n}" for n in near_divisors(width, heads))
        raise ValueError(f"width must be a multiple of heads, got width={width}, heads={heads}; try {tries}")
