r"""Additive attention along arcs in one pass, head by head, with its gradients by hand.

    e_a = LeakyReLU(s_i + t_j + u_a),  s = z·a_s,  t = z·a_t          score of an arc a = i → j
    α_a = softmax over the arcs to j of e_a
    y_j = Σ_a α_a m_a z_i + b                                         m: what dropout keeps

    δα_a = m_a δy_jᵀ z_i,   δe_a = α_a (δα_a − Σ_b α_b δα_b) LeakyReLU′
    δs_i, δt_j = sums of δe_a over the arcs from i, to j
    δz_i = Σ_{a from i} α_a m_a δy_j + δs_i a_s + δt_i a_t

What a head needs is small enough to stay near the processor. Veličković et al. 2018, eq. 1–4. Notes: N3 §5.5, §7.8.5.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from cutaway.blocks.graphs.arc_softmax import add_ends_open, softmax_arcs_open
from cutaway.blocks.graphs.arc_sums import dot_rows, multiply_rows, sum_arcs_open
from cutaway.blocks.recurrence.loops import differentiate_again


def attend_arcs_open(
    z: Tensor,
    source: Tensor,
    target: Tensor,
    u: Tensor | None,
    bias: Tensor | None,
    kept: Tensor | None,
    slope: float,
    sources: Tensor,
    targets: Tensor,
) -> Tensor:
    """The bare equation: z and y (n, heads · d), a_s and a_t (heads, d), u and kept (heads, arcs), b (heads · d)."""
    heads, d = source.shape
    by_head = z.view(-1, heads, d).transpose(0, 1)
    e = add_ends_open((by_head @ source[..., None])[..., 0], (by_head @ target[..., None])[..., 0], sources, targets)
    α = softmax_arcs_open(leaky_relu(e if u is None else e + u, slope), targets, len(z))
    y = sum_arcs_open(by_head, α if kept is None else α * kept, sources, targets, len(z))
    y = y.transpose(0, 1).flatten(1)
    return y if bias is None else y + bias


@torch.library.custom_op("cutaway::attend_arcs", mutates_args=())
def attend_arcs(
    z: Tensor,
    source: Tensor,
    target: Tensor,
    u: Tensor | None,
    bias: Tensor | None,
    kept: Tensor | None,
    slope: float,
    starts: Tensor,
    sources: Tensor,
    targets: Tensor,
    back_starts: Tensor,
    back_targets: Tensor,
    crossing: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """y (n, heads · d), α (heads, arcs) in incoming order, and where scores are below 0."""
    heads, d = source.shape
    y = torch.empty_like(z)
    parts, sums = z.view(-1, heads, d), y.view(-1, heads, d)
    α = torch.empty(heads, len(sources), dtype=z.dtype, device=z.device)
    below = torch.empty(heads, len(sources), dtype=torch.bool, device=z.device)
    for h in range(heads):
        zh, a = parts[:, h].contiguous(), α[h]
        e = (zh @ source[h]).index_select(0, sources).add_((zh @ target[h]).index_select(0, targets))
        e = e if u is None else e.add_(u[h])
        torch.lt(e, 0, out=below[h])
        if len(e):
            leaky_relu(e, slope, inplace=True)
            top = torch.segment_reduce(e, "max", offsets=starts)
            torch.sub(e, top.index_select(0, targets), out=a).exp_()
            a.div_(torch.segment_reduce(a, "sum", offsets=starts).index_select(0, targets))
        heard = multiply_rows(starts, sources, a if kept is None else a * kept[h], zh)
        sums[:, h] = heard if bias is None else heard.add_(bias.view(heads, d)[h])
    return y, α, below


@attend_arcs.register_fake
def _(z: Tensor, source: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    shape = source.shape[0], others[6].shape[0]  # heads, sources
    return z.new_empty(z.shape), z.new_empty(shape), z.new_empty(shape, dtype=torch.bool)


@torch.library.custom_op("cutaway::attend_arcs_backward", mutates_args=())
def attend_arcs_backward(
    g: Tensor,
    weights: Tensor,
    below: Tensor,
    z: Tensor,
    source: Tensor,
    target: Tensor,
    kept: Tensor | None,
    slope: float,
    edges: bool,
    starts: Tensor,
    sources: Tensor,
    targets: Tensor,
    back_starts: Tensor,
    back_targets: Tensor,
    crossing: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of z, a_s, a_t, and of u (empty without features of ``edges``)."""
    heads, d = source.shape
    dz, dsource, dtarget = torch.empty_like(z), torch.empty_like(source), torch.empty_like(target)
    du = torch.empty_like(weights if edges else weights[:, :0])
    gs, zs, dzs = (x.view(-1, heads, d) for x in (g, z, dz))
    for h in range(heads):
        gh, zh, α = gs[:, h].contiguous(), zs[:, h].contiguous(), weights[h]
        δα = dot_rows(gh, zh, starts, sources, targets)
        p = α * δα if kept is None else (α * δα).mul_(kept[h])
        total = torch.segment_reduce(p, "sum", offsets=starts, initial=0).index_select(0, targets)
        δ = p.sub_(total.mul_(α))
        δ = torch.where(below[h], slope * δ, δ)
        dt = torch.segment_reduce(δ, "sum", offsets=starts, initial=0)
        ds = torch.segment_reduce(δ.index_select(0, crossing), "sum", offsets=back_starts, initial=0)
        if edges:
            du[h] = δ
        back = (α if kept is None else α * kept[h]).index_select(0, crossing)
        heard = multiply_rows(back_starts, back_targets, back, gh)
        ends, vectors = torch.stack([ds, dt], 1), torch.stack([source[h], target[h]])
        dzs[:, h] = heard.addmm_(ends, vectors)
        dsource[h], dtarget[h] = ends.T @ zh
    return dz, dsource, dtarget, du


@attend_arcs_backward.register_fake
def _(
    g: Tensor,
    weights: Tensor,
    below: Tensor,
    z: Tensor,
    source: Tensor,
    target: Tensor,
    kept: Tensor | None,
    slope: float,
    edges: bool,
    *way: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    du = weights.new_empty(weights.shape[0], weights.shape[1] if edges else 0)
    return z.new_empty(z.shape), source.new_empty(source.shape), target.new_empty(target.shape), du


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    z, source, target, u, bias, kept, ctx.slope, *way = inputs
    ctx.save_for_backward(*output[1:], z, source, target, u, bias, kept, *way)
    ctx.mark_non_differentiable(*output[1:])


def _backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    α, below, z, source, target, u, bias, kept, *way = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody differentiates again
        _, sources, targets, *_ = way

        def written_out(z: Tensor, source: Tensor, target: Tensor, u: Any, bias: Any, kept: Any) -> tuple[Tensor]:
            return (attend_arcs_open(z, source, target, u, bias, kept, ctx.slope, sources, targets),)

        return *differentiate_again(written_out, (z, source, target, u, bias, kept), (g,)), *[None] * 7
    found = attend_arcs_backward(g.contiguous(), α, below, z, source, target, kept, ctx.slope, u is not None, *way)
    dz, dsource, dtarget, du = found
    db = None if bias is None else g.sum(0)
    return dz, dsource, dtarget, None if u is None else du, db, *[None] * 8


attend_arcs.register_autograd(_backward, setup_context=_remember)
