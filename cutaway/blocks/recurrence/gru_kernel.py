r"""The fast path of the GRU: one loop forward, one loop back, everything else for all steps at once.

With δ the gradient of z⁽ᵗ⁾ and h = z⁽ᵗ⁻¹⁾ U + b′ the candidate's recurrent sum, everything that a step does backward
is δ times factors that are computed for all steps at once:

    δs_r = δ A_r,  δs_u = δ A_u,  δh = δ A_h           A_u = (z⁽ᵗ⁻¹⁾ − g) u(1−u),   A_g = (1 − u)(1 − g²)
    δz⁽ᵗ⁻¹⁾ = δ ⊙ u + (δs_r, δs_u, δh) Uᵀ              A_h = A_g r,                 A_r = A_g h r(1−r)

The gradient of U is one product at the end. Where the mask is False a step changes nothing: A = 0, u = 1.
Werbos 1990 (backpropagation through time).
"""

from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.recurrence.equations import gru_step
from cutaway.blocks.recurrence.loops import differentiate_again, order, previous, unroll


@torch.library.custom_op("cutaway::gru", mutates_args=())
def gru_forward(
    a: Tensor, u: Tensor, bias: Tensor, hidden: Tensor, mask: Tensor | None, reverse: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden states Z (t, b, w), the last of them, the gates r, u, g (t, b, 3, w), and h (t, b, w).

    ``a`` (t, b, 3·w) are the inputs' sums, ``bias`` is b′, ``mask`` (t, b, 1) is True for real steps.
    """
    steps, batch, _ = a.shape
    width = u.shape[0]
    gates = a.new_empty(steps, batch, 3, width)
    Z, H = (a.new_empty(steps, batch, width) for _ in range(2))
    z, zs, hs = hidden, Z.unbind(0), H.unbind(0)
    a_ru, a_g = a[..., : 2 * width].unbind(0), a[..., 2 * width :].unbind(0)
    ru = gates.flatten(2)[..., : 2 * width].unbind(0)
    r, keep, g = (gates[:, :, n].unbind(0) for n in range(3))
    real = None if mask is None else mask.unbind(0)
    sums = a.new_empty(batch, 3 * width)
    b = torch.cat([bias.new_zeros(2 * width), bias])
    s_ru, s_g = sums[:, : 2 * width], sums[:, 2 * width :]
    for t in order(steps, reverse):
        torch.addmm(b, z, u, out=sums)
        torch.add(a_ru[t], s_ru, out=ru[t]).sigmoid_()
        torch.addcmul(a_g[t], r[t], hs[t].copy_(s_g), out=g[t]).tanh_()
        torch.lerp(g[t], z, keep[t], out=zs[t])
        if real is not None:
            zs[t].copy_(torch.where(real[t], zs[t], z))
        z = zs[t]
    return Z, z.clone(), gates, H


@gru_forward.register_fake
def _(
    a: Tensor, u: Tensor, bias: Tensor, hidden: Tensor, mask: Tensor | None, reverse: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    steps, batch, _ = a.shape
    width = u.shape[0]
    Z, H = (a.new_empty(steps, batch, width) for _ in range(2))
    return Z, a.new_empty(batch, width), a.new_empty(steps, batch, 3, width), H


@torch.library.custom_op("cutaway::gru_backward", mutates_args=())
def gru_backward(
    dZ: Tensor,
    dz: Tensor,
    u: Tensor,
    hidden: Tensor,
    mask: Tensor | None,
    Z: Tensor,
    gates: Tensor,
    H: Tensor,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of a, u, b′ and the first hidden state."""
    steps, batch, _, width = gates.shape
    old = previous(Z, hidden, reverse)
    r, keep, g = gates.unbind(2)
    A = torch.empty_like(gates)
    A_r, A_u, A_h = A.unbind(2)
    A_g = (1 - keep).addcmul_(1 - keep, g * g, value=-1)
    torch.mul(A_g, r, out=A_h)
    torch.mul(A_h, H, out=A_r).mul_(1 - r)
    torch.sub(old, g, out=A_u).mul_(keep).mul_(1 - keep)
    if mask is not None:
        A.mul_(mask.unsqueeze(-1))
        A_g.mul_(mask)
        keep = torch.where(mask, keep, 1.0)
    sums = A  # the factors become the gradients of the sums, in place
    rows, flat, keeps = sums.unbind(0), sums.flatten(2).unbind(0), keep.unbind(0)
    deltas = torch.empty_like(Z)  # the whole gradient of each z
    δs, dZs, ut = deltas.unbind(0), dZ.unbind(0), u.t().contiguous()
    carried = dz
    for t in order(steps, not reverse):
        δ = torch.add(dZs[t], carried, out=δs[t])
        rows[t].mul_(δ.unsqueeze(1))
        carried = torch.mul(δ, keeps[t]).addmm_(flat[t], ut)
    every = sums.view(steps * batch, 3 * width)
    du = old.view(-1, width).t() @ every
    da = sums.clone()
    torch.mul(deltas, A_g, out=da[:, :, 2])
    return da.flatten(2), du, sums[:, :, 2].sum((0, 1)), carried


@gru_backward.register_fake
def _(
    dZ: Tensor,
    dz: Tensor,
    u: Tensor,
    hidden: Tensor,
    mask: Tensor | None,
    Z: Tensor,
    gates: Tensor,
    H: Tensor,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    da = gates.new_empty(*gates.shape[:2], u.shape[1])
    return da, u.new_empty(u.shape), u.new_empty(u.shape[0]), dz.new_empty(dz.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    a, u, bias, hidden, mask, ctx.reverse = inputs
    Z, _, gates, H = output
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(a, u, bias, hidden, mask, Z, gates, H)


def _backward(ctx: Any, dZ: Tensor | None, dz: Tensor | None, dgates: None, dH: None) -> tuple[Tensor | None, ...]:
    a, u, bias, hidden, mask, Z, gates, H = ctx.saved_tensors
    if torch.is_grad_enabled():

        def written_out(*inputs: Any) -> tuple[Tensor, ...]:
            a, u, bias, hidden = inputs
            b = torch.cat([torch.zeros_like(bias), torch.zeros_like(bias), bias])
            seen, end = unroll(
                lambda a, state, t: gru_step(a, state[0] @ u + b, state[0]),
                *(("hidden",), a, (hidden,), mask, ctx.reverse),
            )
            return torch.stack(seen["hidden"]), *end

        return *differentiate_again(written_out, (a, u, bias, hidden), (dZ, dz)), None, None
    dZ = torch.zeros_like(Z) if dZ is None else dZ
    dz = torch.zeros_like(hidden) if dz is None else dz
    return *gru_backward(dZ, dz, u, hidden, mask, Z, gates, H, ctx.reverse), None, None


gru_forward.register_autograd(_backward, setup_context=_remember)
