r"""The plain LSTM by oneDNN, the library whose kernel torch.nn.LSTM calls on CPUs: all steps in one call.

    (x⁽¹⁾ … x⁽ᵀ⁾), z⁽⁰⁾, c⁽⁰⁾ ↦ (z⁽¹⁾ … z⁽ᵀ⁾), z⁽ᵀ⁾, c⁽ᵀ⁾           the equation of lstm.py

It knows float32, the plain gates, and sequences of one length. PyTorch's compiler cannot trace it (its workspace has a
size that only the library knows), so compiled code takes lstm_kernel.py. oneDNN Developer Guide, "RNN" (2024).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.recurrence.equations import lstm_step
from cutaway.blocks.recurrence.loops import differentiate_again, unroll
from cutaway.overriding import override


def suits_onednn(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN has a kernel for these tensors on this machine."""
    return (
        x.dtype is torch.float32
        and weight.dtype is torch.float32
        and x.device.type == "cpu"
        and x.numel() > 0
        and not torch.compiler.is_compiling()
        and not torch._C._len_torch_dispatch_stack()  # something records or replaces every operation
        and torch.backends.mkldnn.is_available()
        and bool(torch.backends.mkldnn.enabled)
    )


def onednn_lstm(
    x: Tensor, w: Tensor, u: Tensor, b: Tensor, hidden: Tensor, cell: Tensor, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states (t, b, w), and the last hidden and cell state; x (t, b, i), W (i, 4·w), U (w, 4·w)."""
    # It reads memory row by row, whatever the strides say.
    inputs = (x.contiguous(), w, u, b, hidden.contiguous(), cell.contiguous())
    if torch.is_grad_enabled() and any(part.requires_grad for part in inputs):
        return _OneDNN.apply(*inputs, reverse)
    return _forward(inputs, _transposed(w, u), reverse, False)[:3]


def _transposed(w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """The weights as oneDNN takes them; copied, once for both passes, as it is slow on views."""
    return w.detach().t().contiguous(), u.detach().t().contiguous()


def _forward(
    inputs: Sequence[Tensor], weights: Sequence[Tensor], reverse: bool, train: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    x, _, u, b, hidden, cell = inputs
    lstm, width = 2, u.shape[0]  # 2 is its number for an LSTM
    return torch.ops.aten.mkldnn_rnn_layer(
        *(x, *weights, b, torch.zeros_like(b), hidden, cell, reverse, [], lstm, width, 1, True, False, False, train)
    )


class _OneDNN(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        *tensors, ctx.reverse = inputs
        weights = _transposed(tensors[1], tensors[2])
        with torch.enable_grad():  # else it makes no workspace; of detached tensors nothing is recorded
            Z, z, c, workspace = _forward([part.detach() for part in tensors], weights, ctx.reverse, True)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *weights, Z, z, c, workspace)
        return Z, z, c

    @override
    @staticmethod
    def backward(ctx: Any, dZ: Tensor | None, dz: Tensor | None, dc: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, wt, ut, Z, z, c, workspace = ctx.saved_tensors
        x, _, u, b, hidden, cell = inputs
        if torch.is_grad_enabled():
            found = differentiate_again(lambda *given: _written_out(given, ctx.reverse), inputs, (dZ, dz, dc))
            return *found, None
        dZ = torch.zeros_like(Z) if dZ is None else dZ.contiguous()
        dz, dc = (torch.zeros_like(z) if d is None else d.contiguous() for d in (dz, dc))
        lstm, width = 2, u.shape[0]
        dx, dw, du, db, _, dz, dc = torch.ops.aten.mkldnn_rnn_layer_backward(
            *(x, wt, ut, b, torch.zeros_like(b), hidden, cell, Z, z, c, dZ, dz, dc),
            *(ctx.reverse, lstm, width, 1, True, True, False, [], False, workspace),
        )
        return dx, dw.t(), du.t(), db, dz, dc, None


def _written_out(inputs: Sequence[Tensor], reverse: bool) -> tuple[Tensor, ...]:
    x, w, u, b, hidden, cell = inputs
    seen, end = unroll(
        lambda a, state, t: lstm_step(a + state[0] @ u, state[1]),
        *(("hidden", "cell"), x @ w + b, (hidden, cell), None, reverse),
    )
    return torch.stack(seen["hidden"]), *end
