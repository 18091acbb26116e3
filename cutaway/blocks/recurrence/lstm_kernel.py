r"""The fast path of every LSTM: one loop forward, one loop back, everything else for all steps at once.

Forward, x⁽ᵗ⁾ W + b of all steps is one product, and the loop adds z⁽ᵗ⁻¹⁾ U to it in place. As tanh(x) = 2σ(2x) − 1, the
candidate is computed as s = σ(2x), g = 2s − 1, by one call with the gates (and σ takes a tenth of tanh's time in torch
where MKL computes the latter). Backward, what one step does to its gradients is known in advance: with δz the gradient
of z⁽ᵗ⁾ and δc that of c⁽ᵗ⁾,

    δc⁽ᵗ⁾ = δc⁽ᵗ⁺¹⁾ ⊙ K⁽ᵗ⁺¹⁾ + δz⁽ᵗ⁾ ⊙ D⁽ᵗ⁾         D = o (1 − tanh² c) + A_o p_o,   K = f + A_i p_i + A_f p_f
    δs⁽ᵗ⁾ = (δc A_i,  δc A_f,  δc A_g,  δz A_o)       A_i = g i(1−i),  A_f = c⁽ᵗ⁻¹⁾ f(1−f),  A_g = i (1−g²),
    δz⁽ᵗ⁻¹⁾ = δs⁽ᵗ⁾ Uᵀ                                A_o = tanh(c) o(1−o)

so the factors A, D and K are computed for all steps at once, the loop is one product and four multiplications, and
the gradients of W, U and b are one product of all steps at the end, [x⁽ᵗ⁾ z⁽ᵗ⁻¹⁾ 1]ᵀ δs⁽ᵗ⁾. Coupled gates, i = 1 − f:
A_f = (c⁽ᵗ⁻¹⁾ − g) f(1−f), and no A_i. Where the mask is False a step changes nothing: A = D = 0, K = 1. Werbos 1990
(backpropagation through time).
"""

from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.recurrence.equations import lstm_step
from cutaway.blocks.recurrence.loops import differentiate_again, order, previous, unroll


@torch.library.custom_op("cutaway::lstm", mutates_args=())
def lstm_forward(
    x: Tensor,
    w: Tensor,
    b: Tensor,
    u: Tensor,
    peepholes: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    mask: Tensor | None,
    coupled: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Hidden states Z and cell states C (t, b, w), the last of both, and i, f, s, o (t, b, g, w).

    ``x`` (t, b, i); W (i, g·w), U (w, g·w); ``mask`` (t, b, 1) is True for real steps.
    """
    steps, batch, inputs = x.shape
    width, count = u.shape[0], u.shape[1] // u.shape[0]
    twice = u.new_ones(count, width)
    twice[-2] = 2  # σ(2x) for the candidate
    twice = twice.view(-1)
    u = u * twice
    sums = torch.addmm(b * twice, x.reshape(-1, inputs), w * twice).view(steps, batch, count * width)
    gates = sums.view(steps, batch, count, width)
    z, c = hidden, cell
    Z, C = (x.new_empty(steps, batch, width) for _ in range(2))
    rows, zs, cs = sums.unbind(0), Z.unbind(0), C.unbind(0)
    early, seeing = gates[:, :, :-1].unbind(0), gates[:, :, :-2].unbind(0)  # i, f, s; i and f see the old cell state
    *i, f, s, o = (gates[:, :, n].unbind(0) for n in range(count))
    real = None if mask is None else mask.unbind(0)
    for t in order(steps, reverse):
        rows[t].addmm_(z, u)
        if peepholes is None:
            rows[t].sigmoid_()
        else:
            seeing[t].addcmul_(c.unsqueeze(1), peepholes[:-1])
            early[t].sigmoid_()
        if coupled:
            torch.lerp(s[t].mul(2).sub_(1), c, f[t], out=cs[t])
        else:
            torch.mul(f[t], c, out=cs[t]).sub_(i[0][t]).addcmul_(i[0][t], s[t], value=2)
        if peepholes is not None:
            o[t].addcmul_(cs[t], peepholes[-1]).sigmoid_()
        torch.mul(cs[t], -2, out=zs[t]).sigmoid_()  # tanh(c) = 1 − 2σ(−2c)
        torch.addcmul(o[t], o[t], zs[t], value=-2, out=zs[t])
        if real is not None:
            zs[t].copy_(torch.where(real[t], zs[t], z))
            cs[t].copy_(torch.where(real[t], cs[t], c))
        z, c = zs[t], cs[t]
    return Z, C, z.clone(), c.clone(), gates


@lstm_forward.register_fake
def _(
    x: Tensor,
    w: Tensor,
    b: Tensor,
    u: Tensor,
    peepholes: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    mask: Tensor | None,
    coupled: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    steps, batch, _ = x.shape
    width = u.shape[0]
    Z, C = (x.new_empty(steps, batch, width) for _ in range(2))
    gates = x.new_empty(steps, batch, u.shape[1] // width, width)
    return Z, C, x.new_empty(batch, width), x.new_empty(batch, width), gates


@torch.library.custom_op("cutaway::lstm_backward", mutates_args=())
def lstm_backward(
    dZ: Tensor,
    dz: Tensor,
    dc: Tensor,
    x: Tensor,
    w: Tensor,
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
    inputs_too: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of x (if wanted), W, b, U, the peepholes, and the first hidden and cell state."""
    steps, batch, count, width = gates.shape
    old = previous(C, cell, reverse)
    A, D, K = _factors(gates, C, old, peepholes, mask, coupled)
    sums = A  # the factors become the gradients of the sums, in place
    flat, inner, last = sums.flatten(2).unbind(0), sums[:, :, :-1].unbind(0), sums[:, :, -1].unbind(0)
    Ds, Ks = D.unbind(0), K.unbind(0)
    padded = None if mask is None else mask.logical_not().to(dZ.dtype).unbind(0)
    ut, dc = u.t().contiguous(), dc.clone()
    δs = list(dZ.clone(memory_format=torch.contiguous_format).unbind(0))
    turns = list(order(steps, not reverse))
    δs[turns[0]] += dz
    before = dict(zip(turns, [*(δs[t] for t in turns[1:]), torch.zeros_like(dz)], strict=True))
    for t in turns:
        δ, carried = δs[t], before[t]
        dc.addcmul_(δ, Ds[t])
        inner[t].mul_(dc.unsqueeze(1))
        last[t].mul_(δ)
        dc.mul_(Ks[t])
        carried.addmm_(flat[t], ut)
        if padded is not None:
            carried.addcmul_(δ, padded[t])
    rows = sums.view(steps * batch, count * width)
    read = torch.cat([x, previous(Z, hidden, reverse), x.new_ones(steps, batch, 1)], -1).flatten(0, 1)
    dw, du, db = (read.t() @ rows).split([x.shape[-1], width, 1])
    if peepholes is None:
        dp = u.new_empty(0)
    else:
        seen = (old,) * (count - 2) + (C,)
        ones = rows.new_ones(steps * batch)  # a product with ones adds up faster than a sum does
        places = zip([*range(count - 2), -1], seen, strict=True)
        dp = torch.stack([(sums[:, :, n] * c).view(-1, width).t() @ ones for n, c in places])
    dx = (rows @ w.t()).view(x.shape) if inputs_too else x.new_empty(0)
    return dx, dw.clone(), db[0].clone(), du.clone(), dp, before[turns[-1]], dc


def _factors(
    gates: Tensor, C: Tensor, old: Tensor, peepholes: Tensor | None, mask: Tensor | None, coupled: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """A (t, b, g, w), D and K (t, b, w)."""
    A = torch.addcmul(gates, gates, gates, value=-1)  # i(1 − i), f(1 − f), s(1 − s) = (1 − g²) / 4, o(1 − o)
    *i, f, s, o = gates.unbind(2)
    *A_i, A_f, A_g, A_o = A.unbind(2)
    g = s.mul(2).sub_(1)
    if coupled:
        A_f.mul_(old - g)
        A_g.mul_(f.mul(-4).add_(4))
    else:
        A_f.mul_(old)
        A_i[0].mul_(g)
        A_g.mul_(i[0].mul(4))
    y = C.mul(2).sigmoid_().mul_(2).sub_(1)  # tanh(c)
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
    x: Tensor,
    w: Tensor,
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
    inputs_too: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    dp = u.new_empty(0) if peepholes is None else torch.empty_like(peepholes)
    dx = x.new_empty(x.shape if inputs_too else (0,))
    dw, du, db = w.new_empty(w.shape), u.new_empty(u.shape), w.new_empty(w.shape[1])
    return dx, dw, db, du, dp, dz.new_empty(dz.shape), dc.new_empty(dc.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, b, u, peepholes, hidden, cell, mask, ctx.coupled, ctx.reverse = inputs
    Z, C, _, _, gates = output
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, w, b, u, peepholes, hidden, cell, mask, Z, C, gates)


def _backward(
    ctx: Any, dZ: Tensor | None, dC: None, dz: Tensor | None, dc: Tensor | None, dgates: None
) -> tuple[Tensor | None, ...]:
    x, w, b, u, peepholes, hidden, cell, mask, Z, C, gates = ctx.saved_tensors
    if torch.is_grad_enabled():

        def written_out(*inputs: Any) -> tuple[Tensor, ...]:
            x, w, b, u, peepholes, hidden, cell = inputs
            seen, end = unroll(
                lambda a, state, t: lstm_step(a + state[0] @ u, state[1], peepholes, ctx.coupled),
                *(("hidden", "cell"), x @ w + b, (hidden, cell), mask, ctx.reverse),
            )
            return torch.stack(seen["hidden"]), *end

        found = differentiate_again(written_out, (x, w, b, u, peepholes, hidden, cell), (dZ, dz, dc))
        return *found, None, None, None
    dZ = torch.zeros_like(Z) if dZ is None else dZ
    dz, dc = (torch.zeros_like(hidden) if d is None else d for d in (dz, dc))
    inputs_too = ctx.needs_input_grad[0]
    dx, dw, db, du, dp, dz, dc = lstm_backward(
        *(dZ, dz, dc, x, w, u, peepholes, hidden, cell, mask, Z, C, gates, ctx.coupled, ctx.reverse, inputs_too)
    )
    return dx if inputs_too else None, dw, db, du, None if peepholes is None else dp, dz, dc, None, None, None


lstm_forward.register_autograd(_backward, setup_context=_remember)
