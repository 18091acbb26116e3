r"""Messages on arcs: what each vertex sends, and what arrives.

    m_a = x_i for a = i → j        take_sources: M = S x, S (arcs, n) has a 1 at the source of each arc
    m_a = x_j                      take_targets: M = T x
    y_j = Σ_{a to j} m_a           sum_messages: y = Tᵀ M
    y_j = max_{a to j} m_a         max_messages: each feature by itself; 0 where none arrives

S and T are the incidence matrices of sources and targets. Messages have the order of `Graph.arcs`. Gilmer et al. 2017.
Notes: N3 §7.8.5.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.graphs.arc_sums import multiply_rows
from cutaway.blocks.graphs.compressed_rows import sparse_rows
from cutaway.blocks.graphs.graph import Graph


def sum_messages_open(
    messages: Float[Tensor, "a w"], targets: Int[Tensor, " a"], vertices: int
) -> Float[Tensor, "n w"]:
    """The bare equation: y_j = Σ m_a."""
    return messages.new_zeros(vertices, messages.shape[1]).index_add(0, targets, messages)


def max_messages_open(
    messages: Float[Tensor, "a w"], targets: Int[Tensor, " a"], vertices: int
) -> Float[Tensor, "n w"]:
    """The bare equation: y_j = max m_a."""
    zeros = messages.new_zeros(vertices, messages.shape[1])
    return zeros.scatter_reduce(0, targets[:, None].expand_as(messages), messages, "amax", include_self=False)


def take_sources(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "a w"]:
    """x_i for every arc i → j."""
    return _take(x, graph.arcs[0], graph.outgoing.starts, graph.outgoing.arcs)


def take_targets(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "a w"]:
    """x_j for every arc i → j."""
    return _take(x, graph.arcs[1], graph.incoming.starts, graph.incoming.arcs)


def sum_messages(messages: Float[Tensor, "a w"], graph: Graph) -> Float[Tensor, "n w"]:
    """y_j = Σ m_a over the arcs to j; messages in the order of `Graph.arcs`."""
    return _sum(messages, graph.arcs[1], graph.incoming.starts, graph.incoming.arcs)


# Each is the other's gradient: T x and Tᵀ m. ``arcs``, from ``starts`` on, are the numbers of the arcs of each vertex.
@torch.library.custom_op("cutaway::take_ends", mutates_args=())
def _take(x: Tensor, ends: Tensor, starts: Tensor, arcs: Tensor) -> Tensor:
    return x.index_select(0, ends)


@torch.library.custom_op("cutaway::sum_messages", mutates_args=())
def _sum(messages: Tensor, ends: Tensor, starts: Tensor, arcs: Tensor) -> Tensor:
    return multiply_rows(starts, arcs, messages.new_ones(len(arcs)), messages)


@_take.register_fake
def _(x: Tensor, ends: Tensor, starts: Tensor, arcs: Tensor) -> Tensor:
    return x.new_empty(ends.shape[0], x.shape[1])


@_sum.register_fake
def _(messages: Tensor, ends: Tensor, starts: Tensor, arcs: Tensor) -> Tensor:
    return messages.new_empty(starts.shape[0] - 1, messages.shape[1])


def _remember_way(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


_take.register_autograd(lambda ctx, g: (_sum(g, *ctx.saved_tensors), None, None, None), setup_context=_remember_way)
_sum.register_autograd(lambda ctx, g: (_take(g, *ctx.saved_tensors), None, None, None), setup_context=_remember_way)


def max_messages(messages: Float[Tensor, "a w"], graph: Graph) -> Float[Tensor, "n w"]:
    """y_j = max m_a over the arcs to j, each feature by itself; 0 where none arrives. Equal ones share the gradient."""
    return _max(messages, graph.incoming.starts, graph.incoming.arcs, graph.arcs[1])


@torch.library.custom_op("cutaway::max_messages", mutates_args=())
def _max(messages: Tensor, starts: Tensor, arcs: Tensor, targets: Tensor) -> Tensor:
    n, a = len(starts) - 1, len(messages)
    if not messages.numel() or messages.device.type != "cpu" or messages.dtype.itemsize < 4:
        return max_messages_open(messages, targets, n)
    ones = torch.ones(a, dtype=messages.dtype)
    return torch.sparse.mm(sparse_rows(starts, arcs, ones, a), messages.contiguous(), "amax")


@_max.register_fake
def _(messages: Tensor, starts: Tensor, arcs: Tensor, targets: Tensor) -> Tensor:
    return messages.new_empty(starts.shape[0] - 1, messages.shape[1])


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    messages, starts, _, targets = inputs
    ctx.save_for_backward(messages, output, starts, targets)


def _backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    messages, y, starts, targets = ctx.saved_tensors
    hit = (messages == y.index_select(0, targets)).to(g.dtype)
    share = g / sum_messages_open(hit, targets, len(starts) - 1).clamp(min=1)
    return hit * share.index_select(0, targets), None, None, None


_max.register_autograd(_backward, setup_context=_remember)
