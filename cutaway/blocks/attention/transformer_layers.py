r"""Transformer layers: attention mixes the tokens, an MLP works on each, both add to the residual stream.

    pre-norm     x ← x + attention(norm(x));   x ← x + mlp(norm(x))          Xiong et al. 2020, GPT-2
    post-norm    x ← norm(x + attention(x));   x ← norm(x + mlp(x))          Vaswani et al. 2017, BERT
    parallel     x ← x + attention(norm(x)) + mlp(norm(x))                   Wang & Komatsuzaki 2021

A decoder layer has cross attention between the two: x ← x + cross(norm(x), memory). Notes: N3 §5.6.4, §5.9, N4.
"""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.attention.caches import LayerCache, MemoryCache
from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.checks import expect_choice, expect_probability
from cutaway.inside.quiet import equation_of
from cutaway.inside.taps import Tap
from cutaway.overriding import override

ORDERS = ("pre", "post", "parallel")
Norm = Callable[[], nn.Module]


class EncoderLayer(nn.Module):
    """x ← x + attention(norm(x)), then x ← x + mlp(norm(x)); ``order`` says where the norms stand.

    Taps: ``before``, ``between`` and ``after``: the residual stream as it enters, between the parts, as it leaves
    (parallel order has no between). With ``causal=True`` this is also the layer of a decoder-only model.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        mlp: nn.Module,
        norm: Norm,
        order: str = "pre",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        expect_choice("order", order, ORDERS)
        expect_probability(dropout=dropout)
        self.order, self.dropout = order, dropout
        self.norm_attention = norm()
        self.attention = attention
        self.norm_mlp = None if order == "parallel" else norm()
        self.mlp = mlp
        self.before, self.after = Tap(), Tap()
        self.between = None if order == "parallel" else Tap()

    @override
    def forward(
        self, x: Float[Tensor, "*b t w"], cache: LayerCache | None = None, **options: Any
    ) -> Float[Tensor, "*b t w"]:
        """``options``: mask, causal, window, bias, positions, as for MultiHeadAttention."""
        x = _seen(self.before, x)
        if self.norm_mlp is None or self.between is None:
            normed = self.norm_attention(x)
            attended = self.attention(normed, cache=cache, **options)
            x = x + self._drop(attended + self.mlp(normed))
        elif self.order == "pre":
            x = x + self._drop(self.attention(self.norm_attention(x), cache=cache, **options))
            x = _seen(self.between, x)
            x = x + self._drop(self.mlp(self.norm_mlp(x)))
        else:
            x = self.norm_attention(x + self._drop(self.attention(x, cache=cache, **options)))
            x = _seen(self.between, x)
            x = self.norm_mlp(x + self._drop(self.mlp(x)))
        return _seen(self.after, x)

    def equation(
        self, x: Float[Tensor, "*b w"], cache: LayerCache | None = None, **options: Any
    ) -> Float[Tensor, "*b w"]:
        attention, mlp, norm = equation_of(self.attention), equation_of(self.mlp), equation_of(self.norm_attention)
        if self.norm_mlp is None:
            normed = norm(x)
            return x + (attention(normed, cache=cache, **options) + mlp(normed))
        if self.order == "pre":
            x = x + attention(norm(x), cache=cache, **options)
            return x + mlp(equation_of(self.norm_mlp)(x))
        x = norm(x + attention(x, cache=cache, **options))
        return equation_of(self.norm_mlp)(x + mlp(x))

    def _drop(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.dropout) if self.dropout and self.training else x

    @override
    def extra_repr(self) -> str:
        return f"order={self.order}" + (f", dropout={self.dropout}" if self.dropout else "")


class DecoderLayer(nn.Module):
    """x ← x + attention(norm(x)), x ← x + cross(norm(x), memory), x ← x + mlp(norm(x)), pre- or post-norm.

    Taps: ``before``, ``between`` (after self-attention), ``beyond`` (after cross attention), ``after``.
    """

    # The queries are those of what is written; the keys of cross attention are the tokens that the encoder has read.
    attention_weights = {"attention.weights": ("written", "written"), "cross.weights": ("written", "tokens")}

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross: MultiHeadAttention,
        mlp: nn.Module,
        norm: Norm,
        order: str = "pre",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        expect_choice("order", order, ("pre", "post"))
        expect_probability(dropout=dropout)
        self.order, self.dropout = order, dropout
        self.norm_attention, self.attention = norm(), attention
        self.norm_cross, self.cross = norm(), cross
        self.norm_mlp, self.mlp = norm(), mlp
        self.before, self.between, self.beyond, self.after = Tap(), Tap(), Tap(), Tap()

    @override
    def forward(
        self,
        x: Float[Tensor, "*b t w"],
        memory: Float[Tensor, "*b s w"],
        memory_mask: Any = None,
        cache: LayerCache | None = None,
        memory_cache: MemoryCache | None = None,
        **options: Any,
    ) -> Float[Tensor, "*b t w"]:
        """``options``: mask, bias, positions of the self-attention, which is causal."""
        x = _seen(self.before, x)
        x = self._step(x, self.norm_attention, lambda h: self.attention(h, causal=True, cache=cache, **options))
        x = _seen(self.between, x)
        x = self._step(x, self.norm_cross, lambda h: self.cross(h, memory, mask=memory_mask, cache=memory_cache))
        x = _seen(self.beyond, x)
        x = self._step(x, self.norm_mlp, self.mlp)
        return _seen(self.after, x)

    def _step(self, x: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        y = part(norm(x) if self.order == "pre" else x)
        x = x + (nn.functional.dropout(y, self.dropout) if self.dropout and self.training else y)
        return x if self.order == "pre" else norm(x)

    extra_repr = EncoderLayer.extra_repr


def _seen(tap: Tap, x: Tensor) -> Tensor:
    return tap(x) if tap.live else x
