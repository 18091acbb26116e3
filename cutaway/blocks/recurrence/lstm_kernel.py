r"""The fast path of every LSTM: one loop forward, one loop back, everything else for all steps at once.

Forward, the sums of all gates stand in one tensor that is made once. Backward, what one step does to its gradients
is known in advance: with δz the gradient of z⁽ᵗ⁾ and δc that of c⁽ᵗ⁾,

    δc⁽ᵗ⁾ = δc⁽ᵗ⁺¹⁾ ⊙ K⁽ᵗ⁺¹⁾ + δz⁽ᵗ⁾ ⊙ D⁽ᵗ⁾         D = o (1 − tanh² c) + A_o p_o,   K = f + A_i p_i + A_f p_f
    δs⁽ᵗ⁾ = (δc A_i,  δc A_f,  δc A_g,  δz A_o)       A_i = g i(1−i),  A_f = c⁽ᵗ⁻¹⁾ f(1−f),  A_g = i (1−g²),
    δz⁽ᵗ⁻¹⁾ = δs⁽ᵗ⁾ Uᵀ                                A_o = tanh(c) o(1−o)

so the factors A, D and K are computed for all steps at once, the loop is one product and four multiplications, and
the gradient of U is one product at the end. Coupled gates, i = 1 − f: A_f = (c⁽ᵗ⁻¹⁾ − g) f(1−f), and no A_i.
Where the mask is False a step changes nothing: A = D = 0, K = 1. Werbos 1990 (backpropagation through time).
"""

from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.recurrence.equations import lstm_step
from cutaway.blocks.recurrence.loops import differentiate_again, order, previous, unroll


@torch.library.custom_op("cutaway::lstm", mutates_args=())
def lstm_forward(
    a: Tensor,
    u: Tensor,
    peepholes: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    mask: Tensor | None,
    coupled: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Hidden states Z and cell states C (t, b, w), the last of both, and the gates (t, b, g, w).

    ``a`` (t, b, g·w) are the inputs' sums, ``mask`` (t, b, 1) is True for real steps.
    """
    steps, batch, _ = a.shape
    width = u.shape[0]
    gates = a.new_empty(steps, batch, u.shape[1] // width, width)
    z, c = hidden, cell
    Z, C = (a.new_empty(steps, batch, width) for _ in range(2))
    sums, zs, cs, inputs = gates.flatten(2).unbind(0), Z.unbind(0), C.unbind(0), a.unbind(0)
    early = gates[:, :, : 1 if coupled else 2].unbind(0)  # i and f, which see the old cell state
    i, f, g, o = (gates[:, :, n].unbind(0) for n in ((0, 0, 1, 2) if coupled else (0, 1, 2, 3)))
    real = None if mask is None else mask.unbind(0)
    for t in order(steps, reverse):
        torch.addmm(inputs[t], z, u, out=sums[t])
        if peepholes is not None:
            early[t].addcmul_(c.unsqueeze(1), peepholes[:-1])
        early[t].sigmoid_()
        g[t].tanh_()
        if coupled:
            torch.lerp(g[t], c, f[t], out=cs[t])
        else:
            torch.mul(f[t], c, out=cs[t]).addcmul_(i[t], g[t])
        if peepholes is not None:
            o[t].addcmul_(cs[t], peepholes[-1])
        o[t].sigmoid_()
        torch.tanh(cs[t], out=zs[t]).mul_(o[t])
        if real is not None:
            zs[t].copy_(torch.where(real[t], zs[t], z))
            cs[t].copy_(torch.where(real[t], cs[t], c))
        z, c = zs[t], cs[t]
    return Z, C, z.clone(), c.clone(), gates


@lstm_forward.register_fake
def _(
    a: Tensor,
    u: Tensor,
    peepholes: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    mask: Tensor | None,
    coupled: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    steps, batch, _ = a.shape
    width = u.shape[0]
    Z, C = (a.new_empty(steps, batch, width) for _ in range(2))
    gates = a.new_empty(steps, batch, u.shape[1] // width, width)
    return Z, C, a.new_empty(batch, width), a.new_empty(batch, width), gates


@torch.library.custom_op("cutaway::lstm_backward", mutates_args=())
def lstm_backward(
    dZ: Tensor,
    dz: Tensor,
    dc: Tensor,
    u: Tensor,
    peepholes: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    mask: Tensor | None,
    Z: Tensor,
    C: Tensor,
    gates: Tensor,
    coupled: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of a, u, the peepholes, and the first hidden and cell state."""
    steps, batch, count, width = gates.shape
    old = previous(C, cell, reverse)
    A, D, K = _factors(gates, C, old, peepholes, mask, coupled)
    sums = A  # the factors become the gradients of the sums, in place
    flat, inner, last = sums.flatten(2).unbind(0), sums[:, :, :-1].unbind(0), sums[:, :, -1].unbind(0)
    Ds, Ks, dZs = D.unbind(0), K.unbind(0), dZ.unbind(0)
    padded = None if mask is None else mask.logical_not().unbind(0)
    ut, dc, carried = u.t().contiguous(), dc.clone(), dz
    for t in order(steps, not reverse):
        δ = dZs[t] + carried
        dc.addcmul_(δ, Ds[t])
        inner[t].mul_(dc.unsqueeze(1))
        last[t].mul_(δ)
        dc.mul_(Ks[t])
        carried = flat[t] @ ut if padded is None else torch.addmm(δ * padded[t], flat[t], ut)
    rows = sums.view(steps * batch, count * width)
    du = previous(Z, hidden, reverse).reshape(-1, width).t() @ rows
    if peepholes is None:
        dp = u.new_empty(0)
    else:
        seen = (old,) * (count - 2) + (C,)
        ones = rows.new_ones(steps * batch)  # a product with ones adds up faster than a sum does
        places = zip([*range(count - 2), -1], seen, strict=True)
        dp = torch.stack([(sums[:, :, n] * c).view(-1, width).t() @ ones for n, c in places])
    return sums.flatten(2), du, dp, carried, dc


def _factors(
    gates: Tensor, C: Tensor, old: Tensor, peepholes: Tensor | None, mask: Tensor | None, coupled: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """A (t, b, g, w), D and K (t, b, w)."""
    A = gates * gates
    torch.sub(gates, A, out=A)  # s(1 − s) for the gates
    *i, f, g, o = gates.unbind(2)
    *A_i, A_f, A_g, A_o = A.unbind(2)
    if coupled:
        A_f.mul_(old - g)
        torch.addcmul(1 - f, 1 - f, g * g, value=-1, out=A_g)
    else:
        A_f.mul_(old)
        A_i[0].mul_(g)
        torch.addcmul(i[0], i[0], g * g, value=-1, out=A_g)
    y = torch.tanh(C)
    A_o.mul_(y)
    D = y.square_().neg_().add_(1).mul_(o)
    K = f
    if peepholes is not None:
        D.addcmul_(A_o, peepholes[-1])
        K = torch.addcmul(f, A_f, peepholes[-2])
        if not coupled:
            K.addcmul_(A_i[0], peepholes[0])
    if mask is not None:
        A.mul_(mask.unsqueeze(-1))
        D.mul_(mask)
        K = torch.where(mask, K, 1.0)
    return A, D, K


@lstm_backward.register_fake
def _(
    dZ: Tensor,
    dz: Tensor,
    dc: Tensor,
    u: Tensor,
    peepholes: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    mask: Tensor | None,
    Z: Tensor,
    C: Tensor,
    gates: Tensor,
    coupled: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    dp = u.new_empty(0) if peepholes is None else torch.empty_like(peepholes)
    da = gates.new_empty(*gates.shape[:2], u.shape[1])
    return da, u.new_empty(u.shape), dp, dz.new_empty(dz.shape), dc.new_empty(dc.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    a, u, peepholes, hidden, cell, mask, ctx.coupled, ctx.reverse = inputs
    Z, C, _, _, gates = output
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(a, u, peepholes, hidden, cell, mask, Z, C, gates)


def _backward(
    ctx: Any, dZ: Tensor | None, dC: None, dz: Tensor | None, dc: Tensor | None, dgates: None
) -> tuple[Tensor | None, ...]:
    a, u, peepholes, hidden, cell, mask, Z, C, gates = ctx.saved_tensors
    if torch.is_grad_enabled():

        def written_out(*inputs: Any) -> tuple[Tensor, ...]:
            a, u, peepholes, hidden, cell = inputs
            seen, end = unroll(
                lambda a, state, t: lstm_step(a + state[0] @ u, state[1], peepholes, ctx.coupled),
                *(("hidden", "cell"), a, (hidden, cell), mask, ctx.reverse),
            )
            return torch.stack(seen["hidden"]), *end

        found = differentiate_again(written_out, (a, u, peepholes, hidden, cell), (dZ, dz, dc))
        return *found, None, None, None
    dZ = torch.zeros_like(Z) if dZ is None else dZ
    dz, dc = (torch.zeros_like(hidden) if d is None else d for d in (dz, dc))
    da, du, dp, dz, dc = lstm_backward(
        dZ, dz, dc, u, peepholes, hidden, cell, mask, Z, C, gates, ctx.coupled, ctx.reverse
    )
    return da, du, None if peepholes is None else dp, dz, dc, None, None, None


lstm_forward.register_autograd(_backward, setup_context=_remember)
