r"""A softmax over the arcs to each vertex: the weights with which it hears its neighbours.

    α_a = exp(e_a) / Σ_{b to the same vertex} exp(e_b)
    δe_a = α_a (δα_a − Σ_b α_b δα_b)

and the scores e_a = s_i + t_j of an arc a = i → j, a part from each end. All by head, (heads, arcs) in incoming order.
Veličković et al. 2018, eq. 2–3. Notes: N3 §5.5.3, §7.8.5.
"""

from typing import Any

import torch
from torch import Tensor


def softmax_arcs_open(scores: Tensor, targets: Tensor, vertices: int) -> Tensor:
    """The bare equation; the largest score of each vertex is taken off first, which changes nothing but the range."""
    at = targets.long().expand_as(scores)
    zeros = scores.new_zeros(scores.shape[0], vertices)
    top = zeros.scatter_reduce(1, at, scores.detach(), "amax", include_self=False)
    p = (scores - top[:, targets]).exp()
    return p / zeros.scatter_add(1, at, p)[:, targets]


def add_ends_open(s: Tensor, t: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
    """The bare equation: e_a = s_i + t_j."""
    return s[:, sources] + t[:, targets]


def sum_rows(values: Tensor, starts: Tensor) -> Tensor:
    """Σ over each row of compressed rows; values (heads, entries)."""
    return torch.stack([torch.segment_reduce(row, "sum", offsets=starts, initial=0) for row in values])


@torch.library.custom_op("cutaway::softmax_arcs", mutates_args=())
def softmax_arcs(scores: Tensor, starts: Tensor, targets: Tensor) -> Tensor:
    """α_a = exp(e_a) / Σ_b exp(e_b), head by head; float32 at least."""
    α = torch.empty(scores.shape, dtype=torch.promote_types(scores.dtype, torch.float32), device=scores.device)
    for e, a in zip(scores.to(α.dtype), α):
        if not len(e):
            continue
        top = torch.segment_reduce(e, "max", offsets=starts)
        torch.sub(e, top.index_select(0, targets), out=a).exp_()
        a.div_(torch.segment_reduce(a, "sum", offsets=starts).index_select(0, targets))
    return α.to(scores.dtype)


@softmax_arcs.register_fake
def _(scores: Tensor, starts: Tensor, targets: Tensor) -> Tensor:
    return scores.new_empty(scores.shape)


@torch.library.custom_op("cutaway::softmax_arcs_backward", mutates_args=())
def softmax_arcs_backward(g: Tensor, weights: Tensor, starts: Tensor, targets: Tensor) -> Tensor:
    """δe_a = α_a (δα_a − Σ_b α_b δα_b)."""
    p = weights * g
    return p - weights * sum_rows(p, starts).index_select(-1, targets)


@softmax_arcs_backward.register_fake
def _(g: Tensor, weights: Tensor, starts: Tensor, targets: Tensor) -> Tensor:
    return g.new_empty(g.shape)


def _remember_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output, *inputs)


def _softmax_backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    α, scores, starts, targets = ctx.saved_tensors
    if not torch.is_grad_enabled():
        return softmax_arcs_backward(g, α, starts, targets), None, None
    α = softmax_arcs_open(scores, targets, len(starts) - 1)  # once more, so that it can be differentiated
    p = α * g
    total = p.new_zeros(p.shape[0], len(starts) - 1).index_add(1, targets, p)
    return p - α * total[:, targets], None, None


softmax_arcs.register_autograd(_softmax_backward, setup_context=_remember_softmax)


@torch.library.custom_op("cutaway::add_ends", mutates_args=())
def add_ends(
    s: Tensor, t: Tensor, starts: Tensor, sources: Tensor, targets: Tensor, back_starts: Tensor, crossing: Tensor
) -> Tensor:
    """e_a = s_i + t_j, head by head."""
    return torch.stack([a.index_select(0, sources).add_(b.index_select(0, targets)) for a, b in zip(s, t)])


@add_ends.register_fake
def _(s: Tensor, t: Tensor, starts: Tensor, sources: Tensor, *others: Any) -> Tensor:
    return s.new_empty(s.shape[0], sources.shape[0])


@torch.library.custom_op("cutaway::add_ends_backward", mutates_args=())
def add_ends_backward(g: Tensor, starts: Tensor, back_starts: Tensor, crossing: Tensor) -> tuple[Tensor, Tensor]:
    """δs_i and δt_j: the sums over the arcs from i, and to j."""
    g = g.contiguous()
    return sum_rows(torch.stack([row.index_select(0, crossing) for row in g]), back_starts), sum_rows(g, starts)


@add_ends_backward.register_fake
def _(g: Tensor, starts: Tensor, back_starts: Tensor, crossing: Tensor) -> tuple[Tensor, Tensor]:
    shape = (g.shape[0], starts.shape[0] - 1)
    return g.new_empty(shape), g.new_empty(shape)


def _remember_ends(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[2:])


def _ends_backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    starts, sources, targets, back_starts, crossing = ctx.saved_tensors
    if torch.is_grad_enabled():
        zeros = g.new_zeros(g.shape[0], len(starts) - 1)
        return zeros.index_add(1, sources, g), zeros.index_add(1, targets, g), *[None] * 5
    return *add_ends_backward(g, starts, back_starts, crossing), *[None] * 5


add_ends.register_autograd(_ends_backward, setup_context=_remember_ends)
