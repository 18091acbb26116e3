r"""A graph: vertices, edges between them, and features of vertices, edges and the whole.

    a_ij = Σ of the weights of the edges i → j        adjacency; symmetric if undirected
    d_i  = Σ_j a_ij                                   degree

A message flows along an *arc*, from its source to its target. An edge of a directed graph is one arc; an undirected
edge {i, j} is given once and is two arcs, i → j and j → i (a self-loop is one). Edges keep the order in which they are
given, and so do the features that belong to them. Notes: N3 §7.1.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.graphs.compressed_rows import Neighbours, list_neighbours, row_starts, sparse_rows, take_rows
from cutaway.blocks.graphs.graph_checks import (
    expect_edges,
    expect_known_vertices,
    expect_membership,
    expect_rows,
    expect_weights,
)

T = TypeVar("T")


class Graph:
    """A graph of tensors: a_ij is the edge i → j, messages flow from source to target. Notes: N3 §7.1.

    ``edges`` (2, m) are sources, then targets. ``vertices`` is their number, by default as many as ``x`` has rows, or
    the highest number plus 1. ``weights`` (m,) default to 1. ``x`` (n, features) may be dense or sparse (CSR). With
    ``membership`` (n,), the graph of each vertex, it holds several ``graphs`` side by side. Edges that are given twice
    are kept, and their weights add in the adjacency.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
    >>> path.adjacency().to_dense()
    tensor([[0., 1., 0.],
            [1., 0., 1.],
            [0., 1., 0.]])
    >>> path.arcs
    tensor([[0, 1, 1, 2],
            [1, 2, 0, 1]])
    """

    def __init__(
        self,
        edges: Tensor,
        vertices: int | None = None,
        weights: Tensor | None = None,
        x: Tensor | None = None,
        edge_features: Tensor | None = None,
        graph_features: Tensor | None = None,
        membership: Tensor | None = None,
        directed: bool = False,
        graphs: int | None = None,
    ) -> None:
        expect_edges(edges)
        edges = edges.long()
        if vertices is None:
            described = x if x is not None else membership
            vertices = described.shape[0] if described is not None else int(edges.max()) + 1 if edges.numel() else 0
        if graphs is None:
            named = int(membership.max()) + 1 if membership is not None and membership.numel() else 1
            graphs = graph_features.shape[0] if graph_features is not None else named
        m = edges.shape[1]
        expect_known_vertices(edges, vertices)
        if weights is not None:
            expect_weights(weights, m)
        for name, features, rows, what in (
            ("x", x, vertices, "vertex"),
            ("edge_features", edge_features, m, "edge"),
            ("graph_features", graph_features, graphs, "graph"),
        ):
            if features is not None:
                expect_rows(name, features, rows, what)
        if membership is not None:
            expect_membership(membership, edges, vertices, graphs)

        self.edges, self.vertices, self.weights, self.directed = edges, vertices, weights, directed
        self.x, self.edge_features, self.graph_features = x, edge_features, graph_features
        self.membership, self.graphs = membership, graphs
        loops = edges[0][edges[0] == edges[1]]
        self.loops, self.looped = len(loops), len(loops.unique())  # self-loops, and vertices that have one
        sizes = None if membership is None else torch.bincount(membership, minlength=1)
        self.largest = vertices if sizes is None else int(sizes.max())  # vertices of the largest graph
        self.signed = weights is not None and bool((weights.detach() < 0).any())  # whether a weight is below 0
        self._kept: dict[Any, Any] = {}

    # ---- arcs and neighbours

    @property
    def arcs(self) -> Int[Tensor, "2 a"]:
        """The ways of messages: the edges as given, then, if undirected, their reverses without self-loops."""
        return self.keep("arcs", self._make_arcs)[0]

    @property
    def arc_edges(self) -> Int[Tensor, " a"]:
        """The edge that each arc belongs to: ``edge_features[arc_edges]`` are the features of arcs."""
        return self.keep("arcs", self._make_arcs)[1]

    def _make_arcs(self) -> tuple[Tensor, Tensor]:
        edges, number = self.edges, torch.arange(self.edges.shape[1], device=self.edges.device)
        if self.directed:
            return edges, number
        back = self._other_edges() if self.loops else number
        return torch.cat([edges, edges[:, back].flip(0)], 1), torch.cat([number, back])

    @property
    def arc_weights(self) -> Float[Tensor, " a"] | None:
        """The weight of each arc; None: all 1."""
        return None if self.weights is None else self.weights[self.arc_edges]

    @property
    def incoming(self) -> Neighbours:
        """The arcs listed by target: row j holds the sources of the messages to j."""
        return self.keep("incoming", lambda: list_neighbours(self.arcs[1], self.arcs[0], self.vertices))

    @property
    def outgoing(self) -> Neighbours:
        """The arcs listed by source: row i holds the targets of the messages from i."""
        return self.keep("outgoing", self._make_outgoing)

    def _make_outgoing(self) -> Neighbours:
        if self.directed:
            return list_neighbours(self.arcs[0], self.arcs[1], self.vertices)
        m, (starts, ends, arcs) = self.edges.shape[1], self.incoming
        back = torch.arange(
            self.arcs.shape[1], device=arcs.device
        )  # the arc that goes the other way; a loop's is itself
        there, again = self.arc_edges[m:], back[m:]
        back = torch.cat([back[:m].index_copy(0, there, again), there])
        return Neighbours(starts, ends, back[arcs])

    def keep(self, name: Any, make: Callable[[], T]) -> T:
        """What ``make()`` gives, made once: for what follows from edges and fixed weights alone."""
        if name not in self._kept:
            # what is kept may be needed in training later; a compiler cannot ask for the mode
            if not torch.compiler.is_compiling() and torch.is_inference_mode_enabled():
                with torch.inference_mode(False):
                    self._kept[name] = make()
            else:
                self._kept[name] = make()
        return self._kept[name]

    @property
    def learns(self) -> bool:
        """Whether gradients reach its weights or edge features: what is made of them is not kept."""
        return any(part is not None and part.requires_grad for part in (self.weights, self.edge_features))

    # ---- matrices

    def adjacency(self, dtype: torch.dtype | None = None) -> Tensor:
        """The adjacency a_ij, sparse (CSR); weights of equal edges add up."""
        if self.weights is not None and self.weights.requires_grad:
            return self._make_adjacency(dtype)
        return self.keep(("adjacency", dtype), lambda: self._make_adjacency(dtype))

    def _make_adjacency(self, dtype: torch.dtype | None) -> Tensor:
        n, (starts, columns, arcs) = self.vertices, self.outgoing
        rows, values = self.outgoing.rows(), self._arc_values(dtype)[arcs]
        first = torch.ones_like(rows, dtype=torch.bool)
        first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        if not first.all():  # some edge is there twice
            values = values.new_zeros(int(first.sum())).index_add(0, first.cumsum(0) - 1, values)
            columns, starts = columns[first], row_starts(rows[first], n)
        return sparse_rows(starts, columns, values, n)

    def _arc_values(self, dtype: torch.dtype | None) -> Tensor:
        if self.weights is None:
            count = self.arcs.shape[1]
            return torch.ones(count, dtype=dtype or torch.get_default_dtype(), device=self.edges.device)
        return self.weights[self.arc_edges].to(dtype or self.weights.dtype)

    def degrees(self, kind: str = "out", dtype: torch.dtype | None = None) -> Float[Tensor, " n"]:
        """d_i = Σ_j a_ij ("out") or Σ_j a_ji ("in"); the same if undirected. A self-loop counts once."""
        expect_choice("kind", kind, ("out", "in"))
        values = self._arc_values(dtype)
        return values.new_zeros(self.vertices).index_add(0, self.arcs[0 if kind == "out" else 1], values)

    # ---- graphs made from this one

    def with_x(self, x: Tensor | None) -> "Graph":
        """The same graph with other vertex features."""
        if x is not None:
            expect_rows("x", x, self.vertices, "vertex")
        other = copy(self)  # shares what it has worked out about its edges
        other.x = x
        return other

    def to(self, *args: Any, **kwargs: Any) -> "Graph":
        """On another device, or with floats of another dtype: as Tensor.to."""

        def moved(x: Tensor | None) -> Tensor | None:
            if x is None:
                return None
            device = torch.empty(0, device=x.device).to(*args, **kwargs).device
            return x.to(*args, **kwargs) if x.is_floating_point() else x.to(device)

        other = copy(self)
        other._kept = {}
        for name in ("edges", "weights", "x", "edge_features", "graph_features", "membership"):
            setattr(other, name, moved(getattr(self, name)))
        return other

    def without_edges(self, chosen: Tensor | Sequence[tuple[int, int]]) -> "Graph":
        """Without the edges where a mask (m,) is True, or without given pairs: (2, k), or a list of (source, target).

        An undirected edge is found whichever way round it is named.
        """
        return self._with_edges(~(self._find_edges(chosen)))

    def _find_edges(self, chosen: Tensor | Sequence[tuple[int, int]]) -> Bool[Tensor, " m"]:
        m, n = self.edges.shape[1], self.vertices
        if not isinstance(chosen, Tensor):
            chosen = torch.tensor(chosen, dtype=torch.int64, device=self.edges.device).reshape(-1, 2).T
        if chosen.dtype == torch.bool:
            if chosen.shape != (m,):
                raise ValueError(
                    f"a mask of edges must have shape ({m},), one entry per edge, got {tuple(chosen.shape)}"
                )
            return chosen
        expect_edges(chosen)
        expect_known_vertices(chosen, n)
        keys, wanted = self._keys(self.edges), self._keys(chosen.long())
        absent = (~torch.isin(wanted, keys)).nonzero()
        if len(absent):
            i, j = chosen[:, int(absent[0])].tolist()
            raise ValueError(f"an edge to leave out must be there, got {i} → {j}, which is no edge of this graph")
        return torch.isin(keys, wanted)

    def _keys(self, pairs: Tensor) -> Tensor:
        i, j = pairs if self.directed else pairs.sort(0).values
        return i * self.vertices + j

    def with_loops(self, replace: bool = False) -> "Graph":
        """With a self-loop at every vertex that has none, after the other edges; of weight 1.

        Its features are the mean of those of the arcs to the vertex. With ``replace`` loops that are there make way.
        """
        if self.learns:
            return self._add_loops(replace)
        return self.keep(("with_loops", replace), lambda: self._add_loops(replace))

    def _add_loops(self, replace: bool) -> "Graph":
        if replace and self.loops:
            return self.without_loops().with_loops()
        n, (i, j) = self.vertices, self.edges
        bare = torch.arange(n, device=i.device)
        if self.loops:
            has = torch.zeros(n, dtype=torch.int64, device=i.device).index_put((i,), (i == j).long(), accumulate=True)
            bare = torch.argsort(has.clamp(max=1), stable=True)[: n - self.looped]
        other = copy(self)
        other._kept = {}
        other.edges = torch.cat([self.edges, bare.expand(2, -1)], 1)
        other.loops, other.looped = self.loops + len(bare), n
        if self.weights is not None:
            other.weights = torch.cat([self.weights, self.weights.new_ones(len(bare))])
        if self.edge_features is not None:
            features, targets = self.edge_features[self.arc_edges], self.arcs[1]
            sums = features.new_zeros(n, features.shape[1]).index_add(0, targets, features)
            counts = features.new_zeros(n).index_add(0, targets, torch.ones_like(features[:, 0]))
            other.edge_features = torch.cat([self.edge_features, (sums / counts.clamp(min=1)[:, None])[bare]])
        return other

    def without_loops(self) -> "Graph":
        """Without self-loops."""
        if not self.loops:
            return self
        return self._drop_loops() if self.learns else self.keep("without_loops", self._drop_loops)

    def _drop_loops(self) -> "Graph":
        others = self._other_edges()
        other = copy(self)
        other._kept = {}
        other.edges = self.edges[:, others]
        other.weights = None if self.weights is None else self.weights[others]
        other.edge_features = None if self.edge_features is None else self.edge_features[others]
        other.loops = other.looped = 0
        return other

    def _other_edges(self) -> Tensor:
        """The numbers of the edges that are no self-loops; how many is known, as compilers want it."""
        is_loop = self.edges[0] == self.edges[1]
        return torch.argsort(is_loop.int(), stable=True)[: self.edges.shape[1] - self.loops]

    def subgraph(self, vertices: Tensor) -> "Graph":
        """The chosen vertices (numbers, in this order, or a mask) and the edges between them."""
        chosen = vertices.nonzero()[:, 0] if vertices.dtype == torch.bool else vertices
        number = torch.full((self.vertices,), -1, device=chosen.device).index_put(
            (chosen,), torch.arange(len(chosen), device=chosen.device)
        )
        if int((number >= 0).sum()) < len(chosen):
            raise ValueError("the vertices of a subgraph must differ, got one twice; use unique numbers")
        ends = number[self.edges]
        inside = (ends >= 0).all(0)
        return self._with_edges(
            inside,
            edges=ends[:, inside],
            vertices=len(chosen),
            x=None if self.x is None else take_rows(self.x, chosen),
            membership=None if self.membership is None else self.membership[chosen],
        )

    def permuted(self, order: Int[Tensor, " n"]) -> "Graph":
        """The same graph with its vertices renumbered: vertex k is what was vertex order[k]."""
        if not torch.equal(order.sort().values, torch.arange(self.vertices, device=order.device)):
            raise ValueError(
                f"order must hold each of the numbers 0 to {self.vertices - 1} once, got {tuple(order.shape)} numbers "
                "with others; use torch.randperm(graph.vertices), or subgraph for a part"
            )
        return self.subgraph(order)

    def _with_edges(self, kept: Tensor, **changes: Any) -> "Graph":
        own = {"edges": self.edges, "weights": self.weights, "edge_features": self.edge_features}
        taken = {name: None if v is None else v[:, kept] if name == "edges" else v[kept] for name, v in own.items()}
        return self._rebuilt(**(taken | changes))

    def _rebuilt(self, **changes: Any) -> "Graph":
        names = ("vertices", "weights", "x", "edge_features", "graph_features", "membership", "directed", "graphs")
        fields = {"edges": self.edges} | {name: getattr(self, name) for name in names}
        return Graph(**(fields | changes))

    # ---- several graphs as one

    @staticmethod
    def batch(graphs: Sequence["Graph"]) -> "Graph":
        """Several graphs side by side as one, whose adjacency is block-diagonal; `split` undoes it."""
        from cutaway.blocks.graphs.batches import batch_graphs

        return batch_graphs(graphs)

    def split(self) -> list["Graph"]:
        """The graphs that this one holds, each with vertices numbered from 0."""
        from cutaway.blocks.graphs.batches import split_graph

        return split_graph(self)

    def __repr__(self) -> str:
        parts = [f"vertices={self.vertices}", f"edges={self.edges.shape[1]}", f"directed={self.directed}"]
        parts += [f"graphs={self.graphs}"] * (self.membership is not None)
        for name in ("weights", "x", "edge_features", "graph_features"):
            value = getattr(self, name)
            parts += [] if value is None else [f"{name}={tuple(value.shape)}"]
        return f"Graph({', '.join(parts)})"
