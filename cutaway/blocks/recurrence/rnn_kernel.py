r"""The fast path of the simple recurrent net: one loop forward, one loop back, the rest for all steps at once.

    δs⁽ᵗ⁾ = δz⁽ᵗ⁾ ⊙ φ′⁽ᵗ⁾,   δz⁽ᵗ⁻¹⁾ = δs⁽ᵗ⁾ Uᵀ          φ′ = 1 − z² for tanh, [z > 0] for relu

The gradient of U is one product at the end. Where the mask is False a step changes nothing.
Werbos 1990 (backpropagation through time).
"""

from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.recurrence.loops import differentiate_again, order, previous, unroll


@torch.library.custom_op("cutaway::rnn", mutates_args=())
def rnn_forward(
    a: Tensor, u: Tensor, hidden: Tensor, mask: Tensor | None, relu: bool, reverse: bool
) -> tuple[Tensor, Tensor]:
    """Hidden states Z (t, b, w) and the last of them, from the inputs' sums ``a`` (t, b, w)."""
    Z = torch.empty(a.shape, dtype=a.dtype, device=a.device)
    z, inputs, zs = hidden, a.unbind(0), Z.unbind(0)
    real = None if mask is None else mask.unbind(0)
    for t in order(a.shape[0], reverse):
        torch.addmm(inputs[t], z, u, out=zs[t])
        zs[t].relu_() if relu else zs[t].tanh_()
        if real is not None:
            zs[t].copy_(torch.where(real[t], zs[t], z))
        z = zs[t]
    return Z, z.clone()


@rnn_forward.register_fake
def _(a: Tensor, u: Tensor, hidden: Tensor, mask: Tensor | None, relu: bool, reverse: bool) -> tuple[Tensor, Tensor]:
    return a.new_empty(a.shape), hidden.new_empty(hidden.shape)


@torch.library.custom_op("cutaway::rnn_backward", mutates_args=())
def rnn_backward(
    dZ: Tensor, dz: Tensor, u: Tensor, hidden: Tensor, mask: Tensor | None, Z: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of a, u and the first hidden state."""
    steps, _, width = Z.shape
    A = (Z > 0).to(Z.dtype) if relu else 1 - Z * Z
    if mask is not None:
        A.mul_(mask)
    sums = torch.empty_like(A)
    rows, factors, dZs, ut = sums.unbind(0), A.unbind(0), dZ.unbind(0), u.t()
    padded = None if mask is None else mask.logical_not().unbind(0)
    carried = dz
    for t in order(steps, not reverse):
        δ = dZs[t] + carried
        torch.mul(δ, factors[t], out=rows[t])
        carried = rows[t] @ ut if padded is None else torch.addmm(δ * padded[t], rows[t], ut)
    du = previous(Z, hidden, reverse).view(-1, width).t() @ sums.view(-1, width)
    return sums, du, carried


@rnn_backward.register_fake
def _(
    dZ: Tensor, dz: Tensor, u: Tensor, hidden: Tensor, mask: Tensor | None, Z: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return Z.new_empty(Z.shape), u.new_empty(u.shape), dz.new_empty(dz.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    a, u, hidden, mask, ctx.relu, ctx.reverse = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(a, u, hidden, mask, output[0])


def _backward(ctx: Any, dZ: Tensor | None, dz: Tensor | None) -> tuple[Tensor | None, ...]:
    a, u, hidden, mask, Z = ctx.saved_tensors
    if torch.is_grad_enabled():

        def written_out(*inputs: Any) -> tuple[Tensor, ...]:
            a, u, hidden = inputs
            φ = torch.relu if ctx.relu else torch.tanh
            seen, end = unroll(
                lambda a, state, t: {"hidden": φ(a + state[0] @ u)}, ("hidden",), a, (hidden,), mask, ctx.reverse
            )
            return torch.stack(seen["hidden"]), *end

        return *differentiate_again(written_out, (a, u, hidden), (dZ, dz)), None, None, None
    dZ = torch.zeros_like(Z) if dZ is None else dZ
    dz = torch.zeros_like(hidden) if dz is None else dz
    return *rnn_backward(dZ, dz, u, hidden, mask, Z, ctx.relu, ctx.reverse), None, None, None


rnn_forward.register_autograd(_backward, setup_context=_remember)
