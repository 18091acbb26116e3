r"""Opens an operator that is made of others, one level deep: attention, recurrent layers, functions in Python.

The pass itself is not changed. The inner operators are computed beside it, on the operator's own inputs, and must give
the operator's own output.
"""

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cutaway.look.graph_recording.elements import Node

# Functions of torch.nn.functional call these first, so that a mode sees each of them as a whole.
_QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def written_out(node: Node) -> Callable[..., Any] | None:
    """A function that does what the operator did, by operators of its own; None if we know none."""
    if node.called is None or node.is_function or node.implicit:
        return None
    function = node.called.function
    if node.name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        return recurrence(node.name)
    if function is functional.scaled_dot_product_attention:
        return attention
    if not isinstance(function, types.FunctionType) or not set(_QUESTIONS) & set(function.__code__.co_names):
        return None
    names = function.__globals__ | {name: lambda *_: False for name in _QUESTIONS}
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """E = Q Kᵀ / √d, A = softmax(E), Y = A V, in the order of `scaled_dot_product_attention`'s arguments."""
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    elif attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = scores.softmax(-1)
    return (functional.dropout(weights, dropout_p) if dropout_p else weights) @ value


def recurrence(name: str) -> Callable[..., Any]:
    """Layers, directions and steps of a recurrent network, one cell after the other."""
    cell: Callable[..., Any] = getattr(torch, f"{name}_cell")

    def run(
        x: Tensor,
        state: Any,
        weights: Sequence[Tensor],
        has_biases: bool,
        layers: int,
        dropout: float,
        training: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        if batch_first:
            x = x.transpose(0, 1)
        states = [state] if isinstance(state, Tensor) else list(state)
        directions, size = 2 if bidirectional else 1, len(weights) // (layers * (2 if bidirectional else 1))
        last: list[list[Tensor]] = [[] for _ in states]
        for layer in range(layers):
            sides = []
            for side in range(directions):
                i = layer * directions + side
                now: Any = tuple(s[i] for s in states)
                steps = []
                for t in range(x.shape[0])[:: -1 if side else 1]:
                    now = cell(x[t], now if len(states) > 1 else now[0], *weights[i * size : (i + 1) * size])
                    now = now if isinstance(now, tuple) else (now,)
                    steps.append(now[0])
                sides.append(torch.stack(steps[:: -1 if side else 1]))
                for kept, part in zip(last, now):
                    kept.append(part)
            x = torch.cat(sides, -1) if bidirectional else sides[0]
            if dropout and training and layer < layers - 1:
                x = functional.dropout(x, dropout)
        return (x.transpose(0, 1) if batch_first else x, *(torch.stack(parts) for parts in last))

    return run


__all__ = ["attention", "recurrence", "written_out"]
