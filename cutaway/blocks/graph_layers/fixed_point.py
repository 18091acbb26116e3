r"""The recurrent graph network that runs until nothing changes, with gradients of the state in which it comes to rest.

    h_j = tanh(c_j + Σ_{i → j} ā_ij h_i U)                fixed point; ā_ij = a_ij / Σ_i a_ij, ‖U‖₂ ≤ κ < 1
    c_j = x_j W + b + Σ_{a = i → j} ā_ij f_a W_e          features of the vertex, and f of the edges to it
    v_j = δ_j + Σ_{j → k} ā_jk (v_k ⊙ h′_k) Uᵀ            adjoint fixed point, δ the gradient of h, h′ = 1 − h²
    δc = v ⊙ h′,   δU = (Ā h)ᵀ (v ⊙ h′)                   gradients, as of infinitely many steps written out

A mean over neighbours lengthens no vector, U shortens each by κ at least, and tanh lengthens no difference: the map
contracts, so that there is one fixed point, found from any start. Memory does not grow with the number of iterations,
unless gradients are differentiated again: then every iteration is written out.
Almeida 1987, Pineda 1987; Scarselli et al. 2009. Notes: N3 §7.7, f(x_v, x^e, x_u, h_v), ✎ messages read the neighbour's
state.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graphs.arc_sums import dot_arcs, sum_arcs, sum_arcs_open
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import expect_unsigned, refuse_edge_features
from cutaway.blocks.graphs.messages import sum_messages_open
from cutaway.blocks.graphs.neighbours import ArcWeights, edge_messages, expect_vertices, order_weights
from cutaway.blocks.graphs.sparse_features import map_features
from cutaway.blocks.graphs.wiring import wire
from cutaway.blocks.recurrence.loops import differentiate_again
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class Settled(NamedTuple):
    """How a fixed point was reached: after how many iterations, and how far the last one still moved."""

    iterations: Tensor
    residual: Tensor


def settle_open(
    c: Tensor,
    u: Tensor,
    weights: Tensor,
    graph: Graph,
    tap: Tap | None = None,
    limit: int = 1000,
    tolerance: float = 0,
    edges: Tensor | None = None,
) -> Tensor:
    """The bare equation, iterated: h ← tanh(c + Σ ā_ij h_i U), with every iteration and message written out.

    ``edges`` (arcs, w) are what the features of edges say, where c does not hold them already.
    """
    i, j = graph.arcs
    h = torch.zeros_like(c)
    for _ in range(limit):
        m = weights[:, None] * (h @ u)[i]
        m = m if edges is None else m + edges
        m = m if tap is None else tap(m)
        h, before = torch.tanh(c + sum_messages_open(m, j, graph.vertices)), h
        if _change(h, before) <= tolerance:
            break
    return h


def _change(h: Tensor, before: Tensor) -> float:
    """How far the entry moved that moved most."""
    return float((h - before).detach().abs().max()) if h.numel() else 0.0


def _settle_written(
    c: Tensor, u: Tensor, weights: Tensor, sources: Tensor, targets: Tensor, tolerance: float, limit: int
) -> Tensor:
    """The same for arcs in incoming order: every iteration is part of the graph, so it can be differentiated twice."""
    h = torch.zeros_like(c)
    for _ in range(limit):
        heard = sum_arcs_open((h @ u)[None], weights[None], sources, targets, len(c))[0]
        h, before = torch.tanh(c + heard), h
        if _change(h, before) <= tolerance:
            break
    return h


def _rest(step: Any, start: Tensor, tolerance: float, limit: int) -> tuple[Tensor, int, float]:
    """Repeats h ← step(h) until no entry moves by more than the tolerance."""
    h, change, first = start, 0.0, 0.0
    for t in range(limit):
        h, before = step(h), h
        change = _change(h, before)
        first = first or change
        if change <= tolerance:
            return h, t + 1, change
    raise ValueError(
        f"a fixed point must be reached within {limit} iterations, got entries that still move by {change:.2g} (at "
        f"first by {first:.2g}, the tolerance is {tolerance:.2g}): the map does not contract fast enough; lower "
        "contraction=, or raise limit="
    )


def _sum(h: Tensor, weights: Tensor, back: Tensor | None, way: list[Tensor]) -> Tensor:
    return sum_arcs(h[None], weights[None], None if back is None else back[None], *way)[0]


@torch.library.custom_op("cutaway::settle", mutates_args=())
def settle(
    c: Tensor,
    u: Tensor,
    weights: Tensor,
    starts: Tensor,
    sources: Tensor,
    targets: Tensor,
    back_starts: Tensor,
    back_targets: Tensor,
    crossing: Tensor,
    tolerance: float,
    limit: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The fixed point of h = tanh(c + Ā h U) from 0, how many iterations it took, and how far the last one moved."""
    way = [starts, sources, targets, back_starts, back_targets, crossing]
    h, steps, change = _rest(
        lambda h: torch.tanh(c + _sum(h @ u, weights, None, way)), torch.zeros_like(c), tolerance, limit
    )
    return h, torch.tensor(steps), torch.tensor(change)


@settle.register_fake
def _(c: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return c.new_empty(c.shape), torch.empty((), dtype=torch.int64), torch.empty(())


@torch.library.custom_op("cutaway::settle_backward", mutates_args=())
def settle_backward(
    g: Tensor,
    h: Tensor,
    u: Tensor,
    weights: Tensor,
    starts: Tensor,
    sources: Tensor,
    targets: Tensor,
    back_starts: Tensor,
    back_targets: Tensor,
    crossing: Tensor,
    tolerance: float,
    limit: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of c, U and the weights, by the adjoint fixed point v = δ + Āᵀ (v ⊙ h′) Uᵀ."""
    way = [starts, sources, targets, back_starts, back_targets, crossing]
    back_way = [back_starts, back_targets, sources, starts, sources, crossing]
    slope, back = 1 - h * h, weights.index_select(0, crossing)
    scale = float(g.abs().max()) if g.numel() else 0.0
    v, _, _ = _rest(lambda v: g + _sum((v * slope) @ u.T, back, None, back_way), g, tolerance * scale, limit)
    δ = v * slope
    into = δ @ u.T
    return δ, _sum(h, weights, None, way).T @ δ, dot_arcs(into[None], h[None], *way)[0]


@settle_backward.register_fake
def _(g: Tensor, h: Tensor, u: Tensor, weights: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return g.new_empty(g.shape), u.new_empty(u.shape), weights.new_empty(weights.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    c, u, weights, *way, ctx.tolerance, ctx.limit = inputs
    ctx.save_for_backward(output[0], c, u, weights, *way)
    ctx.mark_non_differentiable(*output[1:])


def _backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    h, c, u, weights, *way = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody differentiates again
        _, sources, targets, *_ = way

        def written_out(c: Tensor, u: Tensor, weights: Tensor) -> tuple[Tensor]:
            return (_settle_written(c, u, weights, sources, targets, ctx.tolerance, ctx.limit),)

        return *differentiate_again(written_out, (c, u, weights), (g,)), *[None] * 8
    return *settle_backward(g, h, u, weights, *way, ctx.tolerance, ctx.limit), *[None] * 8


settle.register_autograd(_backward, setup_context=_remember)


class FixedPointLayer(nn.Module):
    """h = tanh(x W + b + Ā h U) at rest, ‖U‖₂ ≤ κ; ``layer(x, graph)``. Scarselli et al. 2009.

    ``contraction``: κ; U is scaled down to it where it is larger. ``tolerance``: how far an entry may still move, by
    default 1e-6, in float64 1e-12. ``layer.settled`` says how the last pass came to rest; where it did not within
    ``limit`` iterations, it says so as an error. With ``edge_inputs`` messages read the features of edges. Taps:
    ``messages`` (arcs, width), at rest, in the order of ``graph.arcs``; an edit acts in every iteration. ``output``.
    """

    bare_matrices = ("recurrent",)  # the child whose matrix is read without calling it

    def __init__(
        self,
        inputs: int,
        width: int,
        contraction: float = 0.9,
        tolerance: float | None = None,
        limit: int = 1000,
        edge_inputs: int | None = None,
    ) -> None:
        super().__init__()
        expect_positive(inputs=inputs, width=width, limit=limit)
        if not 0 < contraction < 1:
            raise ValueError(
                f"contraction must be between 0 and 1, got {contraction}; with 1 or more there may be no fixed point, "
                "or many; try 0.9"
            )
        self.inputs, self.width, self.contraction = inputs, width, contraction
        self.tolerance, self.limit = tolerance, limit
        self.map = Linear(inputs, width)
        self.recurrent = Linear(width, width, bias=False)
        self.map_edges = Linear(edge_inputs, width, bias=False) if edge_inputs else None  # W_e
        self.messages, self.output = Tap(), Tap()
        self.settled: Settled | None = None

    def bounded(self) -> Float[Tensor, "w w"]:
        """U, scaled down where its norm is larger than κ."""
        u = self.recurrent.weight
        wide = u.float() if u.dtype in (torch.bfloat16, torch.float16) else u  # LAPACK knows no half precision
        return u * (self.contraction / torch.linalg.matrix_norm(wide, 2).clamp(min=self.contraction)).to(u.dtype)

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n w"]:
        expect_vertices(x, graph, self.inputs)
        if self.map_edges is None:
            refuse_edge_features(graph, "this layer", can=True)
        c, u = map_features(self.map, x), self.bounded()
        a, tolerance = mean_weights(graph, c.dtype), self.tolerance
        if tolerance is None:
            tolerance = 1e-12 if c.dtype == torch.float64 else max(1e-6, 2 * torch.finfo(c.dtype).eps)
        f = None if self.map_edges is None else edge_messages(self.map_edges, graph, a)
        if self.messages.edited:
            told = None if f is None else f.arcs
            h = settle_open(c, u, a.arcs, graph, self.messages, self.limit, tolerance, told)
        else:
            c = c if f is None else c + f.heard
            h, iterations, residual = settle(c, u, a.incoming, *wire(graph).way, tolerance, self.limit)
            self.settled = Settled(iterations, residual)
            if self.messages.live:
                m = a.arcs[:, None] * (h @ u)[graph.arcs[0]]
                self.messages(m if f is None else m + f.arcs)
        if self.output.live:
            h = self.output(h)
        return h

    @override
    def extra_repr(self) -> str:
        return f"contraction={self.contraction}"


def mean_weights(graph: Graph, dtype: torch.dtype) -> ArcWeights:
    """ā_ij = a_ij / Σ_i a_ij: the weights of the arcs to a vertex add up to 1. Worked out once."""
    expect_unsigned(graph, "they are divided by their sum")
    if graph.weights is not None and graph.weights.requires_grad:
        return _mean_weights(graph, dtype)
    return graph.keep(("mean_weights", dtype), lambda: _mean_weights(graph, dtype))


def _mean_weights(graph: Graph, dtype: torch.dtype) -> ArcWeights:
    d = graph.degrees("in", dtype)
    share = torch.where(d > 0, d, 1.0).reciprocal()[graph.arcs[1]]
    a = graph.arc_weights
    return order_weights(share if a is None else share * a.to(dtype), graph, dtype)
