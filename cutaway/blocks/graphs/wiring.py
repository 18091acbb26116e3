r"""The arcs of a graph in the order that its kernels read them: by target, and by source for the way back.

    sources[k] → targets[k]                    arc k of the *incoming order*
    starts[j] ≤ k < starts[j + 1]              the arcs to vertex j

A sum over the arcs to a vertex is then a product with a sparse matrix, and its gradient one with the transpose, which
is kept as well. The public order of arcs is that of `Graph.arcs`. Notes: N3 §7.1.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph


class Wiring(NamedTuple):
    """Arcs in incoming order, and the same arcs by source; int32 but for the numbers of arcs, where they fit."""

    starts: Tensor  # (n + 1,)
    sources: Tensor  # (a,)
    targets: Tensor  # (a,) rising
    back_starts: Tensor  # (n + 1,) the same by source
    back_targets: Tensor  # (a,)
    crossing: Tensor  # (a,) the place in incoming order of each arc by source
    arcs: Tensor  # (a,) the number that an arc in incoming order has in Graph.arcs

    @property
    def way(self) -> tuple[Tensor, ...]:
        """What the kernels read."""
        return self[:6]


def wire(graph: Graph) -> Wiring:
    """The wiring of a graph, worked out once."""
    return graph.keep("wiring", lambda: _wire(graph))


def _wire(graph: Graph) -> Wiring:
    into, out = graph.incoming, graph.outgoing
    place = torch.empty_like(into.arcs).index_put((into.arcs,), torch.arange(len(into.arcs), device=into.arcs.device))
    by_target, by_source = compact(into.starts, into.ends, into.rows()), compact(out.starts, out.ends, place[out.arcs])
    return Wiring(*by_target, *by_source, into.arcs)


def compact(starts: Tensor, ends: Tensor, others: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Compressed rows in half the memory, int32, where they fit: kernels are bound by what they read."""
    if max(len(starts), len(ends)) >= 2**31:  # rows and entries, which is what is counted
        return starts, ends, others
    return starts.int(), ends.int(), others.int()


def to_arc_order(values: Tensor, graph: Graph) -> Tensor:
    """Values (…, arcs) in incoming order, put into the order of `Graph.arcs`."""
    return torch.empty_like(values).index_copy(-1, wire(graph).arcs, values)


def to_incoming_order(values: Tensor, graph: Graph) -> Tensor:
    """Values (…, arcs) in the order of `Graph.arcs`, put into incoming order."""
    return values.index_select(-1, wire(graph).arcs)
