r"""Block-sparse attention: the scores of the blocks that a pattern occupies, and no others.

    S = Q Kᵀ · scale + log M                    scores; −∞ where a query may not look
    L = log Σ_j exp S[:, j]                     one number per query
    Y = exp(S − L) V                            output
    δ_V = Pᵀ δ_Y,  with P = exp(S − L)          backwards: P is computed again, from L
    δ_S = P ⊙ (δ_Y Vᵀ − rowsum(δ_Y ⊙ Y)),  δ_Q = δ_S K · scale,  δ_K = δ_Sᵀ Q · scale

Why it is fast: tiles.py cuts the occupied blocks into tiles of a few hundred queries and the keys they see. For a
window the keys of a tile are overlapping views that nothing copies; a tile is small enough for the cache; PyTorch's own
flash kernels compute it. Only L and the inputs are kept for the way back: time and memory grow with the occupied
blocks, forwards and backwards.

Tiles: Dao et al. 2022 (FlashAttention, with its block-sparse form); patterns: Child et al. 2019, Beltagy et al. 2020.
Notes: N3 §5.9.1, and table 1 for the cost O(r · n · d). Axis letters: docs/notation.md.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from cutaway.blocks.attention_masks.algebra import BLOCK, Pattern
from cutaway.blocks.attention_masks.tiles import TileLayout, find_layout
from cutaway.blocks.checks import expect_float, expect_positive, expect_width

FIRST_ORDER = "block-sparse attention has first derivatives by backward passes only"
WAY_OUT = "use cutaway.blocks.attend_open with the pattern as its mask"

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def attend_sparse(
    q: Float[Tensor, "*b q d"],
    k: Float[Tensor, "*#b k d"],
    v: Float[Tensor, "*#b k e"],
    pattern: Pattern,
    scale: float | None = None,
    block: int = BLOCK,
) -> Float[Tensor, "*b q e"]:
    """Y = softmax(Q Kᵀ · scale + log M) V for the blocks that a pattern M occupies; ``scale`` is 1/√d unless given.

    The last query stands at the last key. A query without keys gets zeros. Patterns that differ by example want inputs
    of shape (examples, heads, n, d). It has first derivatives, backwards; `attend_open` has all.

    >>> from cutaway.blocks.attention_masks.patterns import window
    >>> v = torch.tensor([[0.0], [2.0], [4.0]])
    >>> attend_sparse(torch.zeros(3, 1), torch.zeros(3, 1), v, window(2))
    tensor([[0.],
            [1.],
            [3.]])
    """
    _expect_fit(q, k, v)
    expect_positive(block=block)
    # An operator of one's own would drop forward-mode tangents silently.
    if not torch.compiler.is_compiling() and any(unpack_dual(x).tangent is not None for x in (q, k, v)):
        raise RuntimeError(f"{FIRST_ORDER}, got forward-mode tangents; {WAY_OUT}")
    lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    # Two leading axes, (groups, heads): the heads of a group share their tiles.
    if pattern.lead in ((), (1, 1)):
        fold = (1, math.prod(lead))
    else:
        _expect_examples(pattern, lead)
        fold = (math.prod(lead[:-1]), lead[-1]) if pattern.lead[1] == 1 else (math.prod(lead), 1)
    q, k, v = (x.expand(*lead, *x.shape[-2:]).reshape(*fold, *x.shape[-2:]) for x in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    y, _ = _attend(q, k, v, list(pattern.tensors), pattern.spelling, scale, block)
    return y.reshape(*lead, *y.shape[-2:])


# ---------------------------------------------------------------------------------------------------------------------
# Operators of their own: a compiler takes them whole, and compiles the layout when they run, not when it traces.


def _forward(
    q: Tensor, k: Tensor, v: Tensor, tensors: list[Tensor], spelling: str, scale: float, block: int
) -> tuple[Tensor, Tensor]:
    y, l = _outputs(q, v)
    q, k, v = map(_unit_stride, (q, k, v))
    for part in _layout(q, k, tensors, spelling, block).walk(q):
        part_y, part_l = _tile(part.queries(q), part.keys(k), part.keys(v), part.bias, scale)
        part.queries(y).copy_(part_y)
        part.queries(l).copy_(part_l)
    return y, l


def _backward(
    dy: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    l: Tensor,
    tensors: list[Tensor],
    spelling: str,
    scale: float,
    block: int,
) -> tuple[Tensor, Tensor, Tensor]:
    dq, dk, dv = _gradients(q, k, v)
    dy, q, k, v = map(_unit_stride, (dy, q, k, v))
    for part in _layout(q, k, tensors, spelling, block).walk(q):
        part_dq, part_dk, part_dv = _tile_backward(
            part.queries(dy),
            part.queries(q),
            part.keys(k),
            part.keys(v),
            part.queries(y),
            part.queries(l),
            part.bias,
            scale,
        )
        part.queries(dq).copy_(part_dq)
        part.add_to_keys(dk, part_dk)
        part.add_to_keys(dv, part_dv)
    return dq, dk, dv


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, tensors, *ctx.rest = inputs
    ctx.save_for_backward(q, k, v, *output, *tensors)


def _differentiate(ctx: Any, dy: Tensor, _: Tensor) -> tuple[Any, ...]:
    q, k, v, y, l, *tensors = ctx.saved_tensors
    dq, dk, dv = _attend_backward(dy, q, k, v, y, l, tensors, *ctx.rest)
    return dq, dk, dv, [None] * len(tensors), None, None, None


def _refuse(ctx: Any, *_: Tensor) -> None:
    raise RuntimeError(f"{FIRST_ORDER}, got a backward pass through its backward pass; {WAY_OUT}")


def _layout(q: Tensor, k: Tensor, tensors: list[Tensor], spelling: str, block: int) -> TileLayout:
    queries, keys = q.shape[-2], k.shape[-2]
    return find_layout(spelling, tensors, queries, keys, keys - queries, block, q.device)


def _outputs(q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return q.new_zeros(*q.shape[:-1], v.shape[-1]), q.new_zeros(q.shape[:-1], dtype=_wide(q))


def _gradients(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    # Heads last but one in memory, as the kernel makes the gradients of keys and values: adding is then one sweep.
    dk, dv = (x.new_zeros(x.shape[0], x.shape[2], x.shape[1], x.shape[3]).transpose(1, 2) for x in (k, v))
    return q.new_zeros(q.shape), dk, dv


_library = torch.library.Library("cutaway", "FRAGMENT")  # custom_op would import the compiler, which takes seconds
_inputs = "Tensor[] tensors, str spelling, float scale, int block"
_library.define(f"attend_sparse(Tensor q, Tensor k, Tensor v, {_inputs}) -> (Tensor, Tensor)")
_library.define(
    "attend_sparse_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor y, Tensor l, "
    f"{_inputs}) -> (Tensor, Tensor, Tensor)"
)
_attend = torch.ops.cutaway.attend_sparse.default
_attend_backward = torch.ops.cutaway.attend_sparse_backward.default
_library.impl(_attend, _forward, "CompositeExplicitAutograd")
_library.impl(_attend_backward, _backward, "CompositeExplicitAutograd")
torch.library.register_fake(_attend, lambda q, k, v, *_: _outputs(q, v), lib=_library)
torch.library.register_fake(_attend_backward, lambda dy, q, k, v, *_: _gradients(q, k, v), lib=_library)
torch.library.register_autograd(_attend, _differentiate, setup_context=_remember, lib=_library)
torch.library.register_autograd(_attend_backward, _refuse, lib=_library)


def _unit_stride(x: Tensor) -> Tensor:
    """The kernels want the numbers of a vector side by side."""
    return x if x.stride(-1) == 1 else x.contiguous()


# ---------------------------------------------------------------------------------------------------------------------
# One tile: the equations above, by a fused kernel where there is one.


def _tile(
    q: Float[Tensor, "c h n d"],
    k: Float[Tensor, "c h m d"],
    v: Float[Tensor, "c h m e"],
    bias: Float[Tensor, "#c 1 n m"] | None,
    scale: float,
) -> tuple[Float[Tensor, "c h n e"], Float[Tensor, "c h n"]]:
    """Y = exp(S − L) V, and L."""
    if _has_kernel(q, v):
        return _flash(q, k, v, attn_mask=bias, scale=scale)
    q, k, v = (x.to(_wide(x)) for x in (q, k, v))
    S = _scores(q, k, bias, scale)
    L = S.logsumexp(-1)
    L = L.masked_fill(L.isneginf(), 0)  # a row without keys: exp(−∞ − 0) = 0
    return (S - L[..., None]).exp() @ v, L


def _tile_backward(
    dy: Float[Tensor, "c h n e"],
    q: Float[Tensor, "c h n d"],
    k: Float[Tensor, "c h m d"],
    v: Float[Tensor, "c h m e"],
    y: Float[Tensor, "c h n e"],
    l: Float[Tensor, "c h n"],
    bias: Float[Tensor, "#c 1 n m"] | None,
    scale: float,
) -> tuple[Float[Tensor, "c h n d"], Float[Tensor, "c h m d"], Float[Tensor, "c h m e"]]:
    """δ_Q, δ_K, δ_V from δ_Y."""
    if _has_kernel(q, v):
        return _flash_backward(dy, q, k, v, y, l, 0.0, False, attn_mask=bias, scale=scale)
    dy, q, k, v, y = (x.to(_wide(x)) for x in (dy, q, k, v, y))
    P = (_scores(q, k, bias, scale) - l[..., None]).exp()
    dS = P * (dy @ v.mT - (dy * y).sum(-1, keepdim=True)) * scale
    return dS @ k, dS.mT @ q, P.mT @ dy


def _has_kernel(q: Tensor, v: Tensor) -> bool:
    return q.device.type == "cpu" and q.shape[-1] == v.shape[-1]


def _scores(q: Tensor, k: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    S = q @ k.mT * scale
    return S if bias is None else S + bias


def _wide(x: Tensor) -> torch.dtype:
    """The softmax of half precision runs in float32, and so does what is written out."""
    return torch.promote_types(x.dtype, torch.float32)


# ---------------------------------------------------------------------------------------------------------------------


def _expect_fit(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, x in (("q", q), ("k", k), ("v", v)):
        expect_float(name, x)
        if x.ndim < 2:
            raise ValueError(
                f"{name} must have shape (..., tokens, width), got shape {tuple(x.shape)}; for one vector {name}[None]"
            )
    expect_width("k", k, q.shape[-1])
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"there must be a value for every key, got {k.shape[-2]} keys and {v.shape[-2]} values; "
            "k and v have shape (..., keys, width)"
        )
    if not q.dtype == k.dtype == v.dtype:
        raise ValueError(f"q, k and v must have one dtype, got {q.dtype}, {k.dtype} and {v.dtype}; convert with .to()")


def _expect_examples(pattern: Pattern, lead: tuple[int, ...]) -> None:
    fits = len(lead) >= 2 and all(a in (1, b) for a, b in zip(pattern.lead, lead[-2:]))
    if not fits:
        raise ValueError(
            f"a pattern for (examples, heads) = {pattern.lead} needs q of shape (..., examples, heads, n, d), got "
            f"leading axes {tuple(lead)}; q[:, None] for one head, and a pattern made from this batch"
        )
