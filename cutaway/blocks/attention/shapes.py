r"""Checks that queries, keys, values, masks and biases fit together, with errors that say what does not.

lead(E) = lead(Q) ∨ lead(K)         leading axes broadcast; the last of them, heads, may be grouped
"""

import torch
from torch import Tensor

from cutaway.blocks.checks import expect_float


def expect_fit(q: Tensor, k: Tensor, v: Tensor | None = None) -> tuple[int, ...]:
    """Queries, keys and values must belong together; returns the leading axes of the scores (with v: of the output)."""
    if v is None:
        v = k
    if (
        q.ndim == k.ndim > 2
        and k.shape[:-1] == v.shape[:-1]
        and q.shape[:-3] == k.shape[:-3]
        and k.shape[-3] > 0
        and q.shape[-3] % k.shape[-3] == 0
        and q.dtype == k.dtype == v.dtype
        and q.is_floating_point()
    ):
        return q.shape[:-2]  # the usual case: one batch, heads perhaps grouped
    return _fit({"q": q, "k": k, "v": v})


def _fit(parts: dict[str, Tensor]) -> tuple[int, ...]:
    q, k, v = parts.values()
    for name, x in parts.items():
        expect_float(name, x)
        if x.ndim < 2:
            raise ValueError(
                f"{name} must have shape (..., length, width), got {tuple(x.shape)}; for one vector use {name}[None]"
            )
        if x.dtype != q.dtype and not torch.is_autocast_enabled(q.device.type):
            raise ValueError(f"q, k and v must have one dtype, got {q.dtype} for q and {x.dtype} for {name}; use .to()")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"every key needs its value, got {k.shape[-2]} keys and {v.shape[-2]} values; give k and v one length"
        )
    if q.ndim == k.ndim == v.ndim == 2:
        return ()
    heads = _heads(parts)
    try:
        return (*torch.broadcast_shapes(*(x.shape[:-3] for x in parts.values())), heads)
    except RuntimeError:
        shapes = ", ".join(f"{name} of shape {tuple(x.shape)}" for name, x in parts.items())
        raise ValueError(
            f"leading axes must broadcast, got {shapes}; give all one batch, or ones in its place"
        ) from None


def _heads(parts: dict[str, Tensor]) -> int:
    """The heads of the output: those of q, of which each key head serves a group; if q has one, those of k and v."""
    counts = {name: x.shape[-3] if x.ndim > 2 else 1 for name, x in parts.items()}
    h = counts["q"] if counts["q"] != 1 else max(counts.values())
    for name, g in counts.items():
        if (counts["q"] == 1 and g not in (1, h)) or g == 0 or h % g:
            raise ValueError(
                f"query heads must be a multiple of those of {name}, got {h} and {g}; try {g} or {2 * g} query heads"
            )
    return h


def expect_one_width(q: Tensor, k: Tensor) -> None:
    """A product of q and k needs as many entries in both."""
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"queries and keys must have one width, got {q.shape[-1]} and {k.shape[-1]}; map them to one, "
            f"or pass score=BilinearScores({q.shape[-1]}, {k.shape[-1]})"
        )


def expect_mask(mask: object, lead: tuple[int, ...], queries: int, keys: int) -> None:
    """A mask is boolean and broadcasts to the scores."""
    if not isinstance(mask, Tensor):
        raise ValueError(
            f"a mask must be a boolean tensor or a pattern, got {type(mask).__name__}; use torch.as_tensor"
        )
    if mask.dtype != torch.bool:
        raise ValueError(
            f"a mask must be boolean, True where a query may look, got {mask.dtype}; "
            "use mask.bool(), or bias= for numbers to add to the scores"
        )
    _expect_broadcast("a mask", mask, (*lead, queries, keys), "for padding of keys use mask[:, None, None, :]")


def expect_addable(bias: Tensor, lead: tuple[int, ...], queries: int, keys: int) -> None:
    """A bias is added to the scores."""
    if not bias.is_floating_point():
        raise ValueError(f"a bias must be a float tensor, got {bias.dtype}; for what a query may see use mask=")
    _expect_broadcast("a bias", bias, (*lead, queries, keys), "for one number a head use bias[:, None, None]")


def _expect_broadcast(name: str, x: Tensor, scores: tuple[int, ...], way_out: str) -> None:
    fits = 2 <= x.ndim <= len(scores) and all(a in (1, b) for a, b in zip(reversed(x.shape), reversed(scores)))
    if not fits:
        raise ValueError(
            f"{name} must broadcast to the scores, (..., queries, keys) = {scores}, got shape {tuple(x.shape)}; "
            f"{way_out}"
        )


__all__ = ["expect_addable", "expect_fit", "expect_mask", "expect_one_width"]
