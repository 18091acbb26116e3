r"""Weighted sums over the arcs to each vertex, and their adjoint, dot products along arcs.

    y_j = Σ_{i → j} w_a x_i             sum_arcs: a product with a sparse matrix, y = W x
    p_a = g_jᵀ x_i                      dot_arcs: one number per arc a = i → j

They are each other's gradients: δx = Wᵀ δy, with the transpose kept, and δw_a = δy_jᵀ x_i. All are by head: x (heads,
vertices, width), w (heads, arcs) in incoming order. Gilmer et al. 2017; Saad 2003, §3.4. Notes: N3 §7.8.5.
"""

from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.graphs.compressed_rows import sparse_rows

WIDE = 48  # from this width on, torch's reducing product is faster than MKL's


def sum_arcs_open(x: Tensor, weights: Tensor, sources: Tensor, targets: Tensor, vertices: int) -> Tensor:
    """The bare equation: y_j = Σ w_a x_i, every message w_a x_i written out."""
    messages = weights[..., None] * x[:, sources]
    return x.new_zeros(x.shape[0], vertices, x.shape[2]).index_add(1, targets, messages)


def dot_arcs_open(g: Tensor, x: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
    """The bare equation: p_a = g_jᵀ x_i."""
    return (g[:, targets] * x[:, sources]).sum(-1)


def multiply_rows(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """A sparse matrix of compressed rows times x, on the fastest path for its width."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32)).contiguous()
    A = sparse_rows(starts, columns, values.to(wide.dtype), x.shape[0])
    if not A.shape[0] or not len(columns) or not wide.shape[1]:
        return x.new_zeros(A.shape[0], x.shape[1])
    if wide.shape[1] >= WIDE and wide.device.type == "cpu":
        y = torch.sparse.mm(A, wide, "sum")
    else:
        y = torch.empty(A.shape[0], wide.shape[1], dtype=wide.dtype, device=wide.device)
        torch.addmm(y, A, wide, beta=0, out=y)  # beta = 0: what y held before is not read
    return y.to(x.dtype)


def dot_rows(g: Tensor, x: Tensor, starts: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
    """p_a = g_jᵀ x_i of one head, on the fastest path.

    The entries of a product that is sampled at the arcs are at most as many as the product has; of several arcs between
    two vertices there may be more, which are then written out.
    """
    entries = len(sources)
    if x.dtype.itemsize < 4 or not entries or not x.shape[-1] or entries > len(g) * len(x):
        return dot_arcs_open(g[None], x[None], sources, targets)[0]
    pattern = sparse_rows(starts, sources, torch.zeros(entries, dtype=x.dtype, device=x.device), len(x))
    return torch.sparse.sampled_addmm(pattern, g.contiguous(), x.contiguous().mT, beta=0.0).values()


@torch.library.custom_op("cutaway::sum_arcs", mutates_args=())
def sum_arcs(
    x: Tensor,
    weights: Tensor,
    back_weights: Tensor | None,
    starts: Tensor,
    sources: Tensor,
    targets: Tensor,
    back_starts: Tensor,
    back_targets: Tensor,
    crossing: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """y_j = Σ w_a x_i (+ b). ``back_weights`` are the weights by source, where they are constant and known."""
    if len(x) == 1:  # one head needs no copy
        y = multiply_rows(starts, sources, weights[0], x[0])[None]
        return y if bias is None else y.add_(bias)
    assert bias is None
    return torch.stack([multiply_rows(starts, sources, w, part) for w, part in zip(weights, x)])


@sum_arcs.register_fake
def _(x: Tensor, weights: Tensor, back_weights: Tensor | None, starts: Tensor, *others: Any) -> Tensor:
    return x.new_empty(x.shape[0], starts.shape[0] - 1, x.shape[2])


@torch.library.custom_op("cutaway::dot_arcs", mutates_args=())
def dot_arcs(
    g: Tensor,
    x: Tensor,
    starts: Tensor,
    sources: Tensor,
    targets: Tensor,
    back_starts: Tensor,
    back_targets: Tensor,
    crossing: Tensor,
) -> Tensor:
    """p_a = g_jᵀ x_i for every arc, by head."""
    if not len(x):
        return dot_arcs_open(g, x, sources, targets)
    return torch.stack([dot_rows(a, b, starts, sources, targets) for a, b in zip(g, x)])


@dot_arcs.register_fake
def _(g: Tensor, x: Tensor, starts: Tensor, sources: Tensor, *others: Any) -> Tensor:
    return x.new_empty(x.shape[0], sources.shape[0])


def _remember_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weights, back_weights, *way, _ = inputs
    ctx.save_for_backward(x, weights, back_weights, *way)


def _sum_backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    x, w, back_w, *way = ctx.saved_tensors
    _, sources, targets, _, _, crossing = way
    need_x, need_w = ctx.needs_input_grad[:2]
    dx = dw = None
    if torch.is_grad_enabled():  # somebody differentiates again
        dx = sum_arcs_open(g, w, targets, sources, x.shape[1]) if need_x else None
        dw = dot_arcs_open(g, x, sources, targets) if need_w else None
    else:
        if need_x:
            back_w = w.index_select(-1, crossing) if back_w is None else back_w
            dx = sum_arcs(g, back_w, w, *_turned(way))
        dw = dot_arcs(g, x, *way) if need_w else None
    db = g.sum((0, 1)) if ctx.needs_input_grad[-1] else None
    return dx, dw, *[None] * 7, db


def _turned(way: list[Tensor]) -> tuple[Tensor, ...]:
    """The same arcs, each the other way round. The last entry would be the inverse: only gradients of this need it."""
    starts, sources, _, back_starts, back_targets, crossing = way
    return back_starts, back_targets, sources, starts, sources, crossing


def _remember_dots(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _dots_backward(ctx: Any, p: Tensor) -> tuple[Tensor | None, ...]:
    g, x, *way = ctx.saved_tensors
    _, sources, targets, _, _, crossing = way
    need_g, need_x = ctx.needs_input_grad[:2]
    if torch.is_grad_enabled():
        dg = sum_arcs_open(x, p, sources, targets, g.shape[1]) if need_g else None
        dx = sum_arcs_open(g, p, targets, sources, x.shape[1]) if need_x else None
    else:
        dg = sum_arcs(x, p, None, *way) if need_g else None
        dx = sum_arcs(g, p.index_select(-1, crossing), None, *_turned(way)) if need_x else None
    return dg, dx, *[None] * 6


sum_arcs.register_autograd(_sum_backward, setup_context=_remember_sum)
dot_arcs.register_autograd(_dots_backward, setup_context=_remember_dots)
