r"""Attention: each query takes a weighted mean of the values.

    E = a(Q, K)                 scores, by default Q Kᵀ / √d
    A = softmax(E)              weights, one row per query
    Y = A V                     output

`dot_product_attention` is these three lines. `attend_open` adds masks, other scores and weightings, and returns all
three; `attend` computes Y alone, by fused kernels. Both agree. Vaswani et al. 2017, eq. 1; grouped queries: Ainslie et
al. 2023. Notes: N0 §2.2, N2, N3 §5.5; N2 writes columns, H = V A. ✎ N0's scores (QW)ᵀ(KW) are (QW)(KW)ᵀ/√d here.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import dropout as drop
from torch.nn.functional import scaled_dot_product_attention

from cutaway.blocks.attention.scores import Score, cosine_scores, dot_scores, find_score, scaled_dot_scores, unit
from cutaway.blocks.attention.shapes import expect_addable, expect_fit, expect_mask, expect_one_width
from cutaway.blocks.attention.weightings import Weighting, find_weighting, soft_weights
from cutaway.blocks.attention_masks.patterns import Pattern
from cutaway.blocks.attention_masks.patterns import causal as causal_pattern
from cutaway.blocks.attention_masks.patterns import window as window_pattern
from cutaway.blocks.attention_masks.sparse import attend_sparse
from cutaway.blocks.checks import expect_positive, expect_probability
from cutaway.blocks.recurrence.loops import differentiate_again
from cutaway.overriding import override


class Attended(NamedTuple):
    """Attention written out: output Y = A V, scores E (−∞ where a query may not look), weights A."""

    output: Tensor
    scores: Tensor
    weights: Tensor


def dot_product_attention(q: Tensor, k: Tensor, v: Tensor) -> Attended:
    """The bare equation: queries (…, q, d), keys (…, k, d) and values (…, k, f), every query sees every key."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.softmax(-1)
    return Attended(weights @ v, scores, weights)


Mask = Bool[Tensor, "*m #q #k"] | Pattern
PRODUCTS = (scaled_dot_scores, dot_scores, cosine_scores)  # scores that the fused kernels know


def attend_open(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*c k e"],
    v: Float[Tensor, "*g k f"],
    mask: Mask | None = None,
    causal: bool = False,
    window: int | None = None,
    score: str | Score = "scaled_dot",
    weight: str | Weighting = "soft",
    bias: Float[Tensor, "*n #q #k"] | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Attended:
    """E = a(Q, K) + bias, A = softmax(E), Y = A V, with all three returned.

    Leading axes broadcast. With h heads of queries and g heads of keys and values, h a multiple of g, each key head
    serves h/g query heads (grouped queries; g = 1: multi-query).

    ``mask`` is True where a query may look, or a pattern. ``causal``: query i stands at position i + (keys − queries)
    and sees the keys up to there. ``window``: only keys less than so many places away, before it and, unless causal,
    after it. ``scale`` replaces 1/√d. ``dropout`` is the share of weights that is dropped on the way to Y, in training.

    >>> q, k = torch.zeros(1, 4), torch.randn(3, 4)
    >>> attend_open(q, k, torch.eye(3)).weights  # no preference
    tensor([[0.3333, 0.3333, 0.3333]])
    """
    expect_fit(q, k, v)
    expect_probability(dropout=dropout)
    plain = mask is None and not causal and window is None and bias is None and scale is None and not dropout
    if plain and score == "scaled_dot" and weight == "soft" and _fit_bare(q, k, v):
        return dot_product_attention(q, k, v)
    e = attention_scores(q, k, mask, causal, window, score, bias, scale)
    a = find_weighting(weight)(e)
    return Attended(mix_values(drop(a, dropout) if dropout else a, v), e, a)


def _fit_bare(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether no axis must be broadcast, no head shared and no precision widened for the bare equation."""
    return (
        q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
        and q.shape[-1] == k.shape[-1]
        and q.dtype.itemsize > 2
        and not torch.is_autocast_enabled(q.device.type)
    )


def attention_scores(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*c k e"],
    mask: Mask | None = None,
    causal: bool = False,
    window: int | None = None,
    score: str | Score = "scaled_dot",
    bias: Float[Tensor, "*n #q #k"] | None = None,
    scale: float | None = None,
    only: tuple[Any, ...] = (),
) -> Float[Tensor, "*o q k"]:
    """E = a(Q, K) + bias, and −∞ where a query may not look; for half precision in float32.

    ``only`` indexes the leading axes: E[only], the others not computed. For the rest see `attend_open`.

    >>> attention_scores(torch.ones(2, 1), torch.tensor([[3.0], [5.0]]), causal=True)
    tensor([[3., -inf],
            [3., 5.]])
    """
    lead, a = expect_fit(q, k), find_score(score)
    if a in PRODUCTS:
        expect_one_width(q, k)
    seen = _visible(q, k, mask, causal, window, lead)
    if bias is not None:
        expect_addable(bias, lead, q.shape[-2], k.shape[-2])
    k = _share_heads(q, k)
    if only:
        cut = lambda x: x.expand(*lead, *x.shape[-2:])[only]
        q, k = cut(q), cut(k)
        seen = cut(seen) if seen is not None and seen.ndim > 2 else seen
        bias = cut(bias) if bias is not None and bias.ndim > 2 else bias
    e = _raw_scores(q, k, a, scale)
    if bias is not None:
        e = e + bias
    return e if seen is None else e.masked_fill(~seen, -torch.inf)


def _raw_scores(q: Tensor, k: Tensor, a: Score, scale: float | None) -> Tensor:
    if a is scaled_dot_scores and scale is not None:
        a = dot_scores  # the scale stands in place of 1/√d
    wide = torch.promote_types(q.dtype, torch.float32)
    if a in PRODUCTS:
        # In one layout and with a batch, so that the kernel makes the same bits of a part as of the whole.
        q, k = (x.to(wide).contiguous() for x in (q, k))
        e = a(q[None], k[None])[0]
    else:
        e = a(q, k).to(wide)  # it may have weights in half precision, so it gets what came
    return e if scale is None else e * scale


def mix_values(weights: Float[Tensor, "*b q k"], v: Float[Tensor, "*c k f"]) -> Float[Tensor, "*o q f"]:
    """Y = A V, rounded to the precision of V; each value head serves its group of query heads.

    >>> mix_values(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([[2.0], [4.0]]))
    tensor([[3.],
            [4.]])
    """
    return (weights @ _share_heads(weights, v).to(weights.dtype)).to(v.dtype)


def attend(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*c k e"],
    v: Float[Tensor, "*g k f"],
    mask: Mask | None = None,
    causal: bool = False,
    window: int | None = None,
    score: str | Score = "scaled_dot",
    weight: str | Weighting = "soft",
    bias: Float[Tensor, "*n #q #k"] | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*o q f"]:
    """Y = softmax(a(Q, K) + bias) V by fused kernels: the output of `attend_open`, without its scores and weights.

    A window or a sparse pattern costs time and memory for the blocks it occupies, not for all pairs.
    """
    a = find_score(score)
    if a not in PRODUCTS or find_weighting(weight) is not soft_weights:
        return attend_open(q, k, v, mask, causal, window, score, weight, bias, scale, dropout).output
    lead = expect_fit(q, k, v)
    expect_one_width(q, k)
    if dropout:
        expect_probability(dropout=dropout)
    n = q.shape[-2]
    if n == 1 and causal:
        # The last token of a sequence: nothing lies ahead of it, and a window is the end of the keys.
        if window is not None and mask is None and bias is None:
            expect_positive(window=window)
            k, v, window = k[..., -window:, :], v[..., -window:, :], None
        causal = window is not None
    if a is cosine_scores:
        q, k = unit(q), unit(k)
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1]) if a is scaled_dot_scores else 1.0
    pattern = _pattern(mask, causal, window)
    if pattern is not None and bias is None and not dropout and n > 1 and not pattern.is_dense(n, keys=k.shape[-2]):
        q, k, v = (_share_heads(q, x).expand(*lead, *x.shape[-2:]) for x in (q, k, v))
        return attend_sparse(q, k, v, pattern, scale)
    square = causal and mask is None and window is None and bias is None and n == k.shape[-2]
    seen: Tensor | None = None if square else _visible(q, k, mask, causal, window, lead)
    if bias is not None:
        expect_addable(bias, lead, n, k.shape[-2])
        bias = bias.to(q.dtype)
        seen = bias if seen is None else torch.where(seen, bias, -torch.inf)
    return _fused(q, k, v, lead, seen, square, scale, dropout)


class _WrittenOutAgain(torch.autograd.Function):
    """`attend` by its fused kernel; its gradients, if they are differentiated again, by the written-out equation."""

    @override
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, options: dict[str, Any]) -> Tensor:
        with torch.enable_grad():
            own = [x.detach().requires_grad_(x.requires_grad) for x in (q, k, v)]
            y = attend(own[0], own[1], own[2], mask, **options)
        ctx.own, ctx.y, ctx.options = [x for x in own if x.requires_grad], y, options
        ctx.save_for_backward(q, k, v, mask)
        return y.detach()

    @override
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, mask = ctx.saved_tensors
        if torch.is_grad_enabled():
            written_out = lambda q, k, v: (attend_open(q, k, v, mask, **ctx.options).output,)
            return *differentiate_again(written_out, inputs, (g,)), None, None
        found = iter(torch.autograd.grad(ctx.y, ctx.own, g, retain_graph=True))
        return *(next(found) if needed else None for needed in ctx.needs_input_grad[:3]), None, None


def attend_twice(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*c k e"],
    v: Float[Tensor, "*g k f"],
    mask: Bool[Tensor, "*m #q #k"] | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> Float[Tensor, "*o q f"]:
    """`attend` whose gradients can be differentiated again, which those of PyTorch's fused kernel for the CPU cannot.

    Compilers, recorders and forward derivatives see `attend` itself, and so do a bias, which may learn, and dropout,
    which has no fused kernel.
    """
    learns = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
    seen_through = (
        torch.compiler.is_compiling()
        or torch._C._len_torch_function_stack()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )
    if dropout or seen_through or not learns or options.get("bias") is not None:
        return attend(q, k, v, mask, dropout=dropout, **options)
    return _WrittenOutAgain.apply(q, k, v, mask, options)


def attend_last(
    q: Float[Tensor, "b h 1 d"],
    k: Float[Tensor, "b g k d"],
    v: Float[Tensor, "b g k f"],
    window: int | None = None,
    scale: float | None = None,
) -> Float[Tensor, "b h 1 f"]:
    """`attend` with ``causal=True`` for one query, that of the last key, as when a text is written token by token.

    Nothing lies ahead of it, and a window is the end of the keys. The query heads that share a key head are queries of
    that head, so that no key is read twice.
    """
    if window is not None:
        k, v = k[..., -window:, :], v[..., -window:, :]
    b, h, _, d = q.shape
    g = k.shape[1]
    if g == h:
        return scaled_dot_product_attention(q, k, v, scale=scale)
    return scaled_dot_product_attention(q.reshape(b, g, h // g, d), k, v, scale=scale).reshape(b, h, 1, v.shape[-1])


def _fused(
    q: Tensor, k: Tensor, v: Tensor, lead: tuple[int, ...], mask: Tensor | None, causal: bool, scale: float, rate: float
) -> Tensor:
    """PyTorch's fused kernel, which wants (batch, heads, length, width), and a mask of two or four axes."""
    if scale <= 0:  # the kernel would multiply the −∞ of what is hidden by it
        q, scale = q * scale, 1.0
    plain = len(lead) == 2 and q.shape[:2] == lead and k.ndim == v.ndim == 4 and k.shape[:2] == v.shape[:2]
    if plain and k.shape[0] == lead[0]:
        grouped = k.shape[1] != lead[1]
        mask = mask[None] if mask is not None and mask.ndim == 3 else mask
        return scaled_dot_product_attention(q, k, v, mask, rate, causal, scale=scale, enable_gqa=grouped)
    # All axes but the heads fold into the batch, so that masks with few axes stay small.
    fold = lambda x: x.expand(*lead, *x.shape[-2:]).reshape(math.prod(lead[:-1]), *(lead[-1:] or (1,)), *x.shape[-2:])
    if mask is not None and mask.ndim > 2:
        mask = fold(mask)
    q, k, v = (fold(_share_heads(q, x)) for x in (q, k, v))
    y = scaled_dot_product_attention(q, k, v, mask, rate, causal, scale=scale)
    return y.reshape(*lead, *y.shape[-2:])


def _visible(
    q: Tensor, k: Tensor, mask: Mask | None, causal: bool, window: int | None, lead: tuple[int, ...]
) -> Bool[Tensor, "*m #q #k"] | None:
    """The one boolean mask that ``mask``, ``causal`` and ``window`` make together; None if every query sees all."""
    n, m = q.shape[-2], k.shape[-2]
    seen = None
    if window is not None:
        expect_positive(window=window)
        seen = window_pattern(window, causal=causal).dense(n, m, offset=m - n, device=q.device)
    elif causal and n > 1:
        seen = torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n)
    if mask is not None:
        if isinstance(mask, Pattern):
            mask = mask.dense(n, m, offset=m - n, device=q.device)
        expect_mask(mask, lead, n, m)
        seen = mask if seen is None else seen & mask
    return seen


def _pattern(mask: Mask | None, causal: bool, window: int | None) -> Pattern | None:
    """The pattern to run block by block: whatever was asked for, if any of it is sparse by itself."""
    if window is not None:
        expect_positive(window=window)
    if isinstance(mask, Pattern):
        if window is not None:
            return mask & window_pattern(window, causal=causal)
        return mask & causal_pattern() if causal else mask
    return window_pattern(window, causal=causal) if mask is None and window is not None else None


def _share_heads(q: Tensor, x: Tensor) -> Tensor:
    """Repeats key or value heads for the groups of query heads that share them."""
    if q.ndim < 3 or x.ndim < 3 or x.shape[-3] in (1, q.shape[-3]) or q.shape[-3] == 1:
        return x
    return x.repeat_interleave(q.shape[-3] // x.shape[-3], -3)
