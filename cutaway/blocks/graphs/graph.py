r"""A graph: vertices, edges between them, and features of vertices, edges and the whole.

    a_ij = Σ of the weights of the edges i → j        adjacency; symmetric if undirected
    d_i  = Σ_j a_ij                                   degree

A message flows along an *arc*, from its source to its target. An edge of a directed graph is one arc; an undirected
edge {i, j} is given once and is two arcs, i → j and j → i (a self-loop is one). Edges keep the order in which they are
given, and so do the features that belong to them.

a_ij = 0 says that there is no edge: an edge of weight 0 joins nothing. It has no arc, no message runs along it, no walk
takes it, and it connects no components. The one exception are weights that are learned (``requires_grad``): there 0 is
a value on the way to another, and the arc stays, so that a gradient reaches it. Notes: N3 §7.1.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

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
from cutaway.overriding import override

T = TypeVar("T")
_FIELDS = (
    "edges",
    "vertices",
    "weights",
    "x",
    "edge_features",
    "graph_features",
    "membership",
    "directed",
    "graphs",
)
_WATCHED = ("edges", "weights", "edge_features", "membership")  # tensors that something is worked out from


class _Facts(NamedTuple):
    """Numbers that layers need as Python's own, which a compiler could not ask a tensor for."""

    loops: int  # edges that are self-loops
    looped: int  # vertices that have an arc to themselves
    silent: int  # edges without an arc: those of weight 0
    silent_loops: int  # self-loops among them
    largest: int  # vertices of the largest graph
    signed: bool  # whether a weight is below 0


class Graph:
    """A graph of tensors: a_ij is the edge i → j, messages flow from source to target. Notes: N3 §7.1.

    ``edges`` (2, m) are sources, then targets. ``vertices`` is their number, by default as many as ``x`` has rows, or
    the highest number plus 1. ``weights`` (m,) default to 1. ``x`` (n, features) may be dense or sparse (CSR). With
    ``membership`` (n,), the graph of each vertex, it holds several ``graphs`` side by side. Edges that are given twice
    are kept, and their weights add in the adjacency. An edge of weight 0 is no edge.

    A graph does not change: ``graph.weights = …`` is an error, `but` gives another graph. Whoever changes a tensor of
    it in place (``graph.weights[0] = 5``) is noticed by the tensor's version, and all that was worked out is worked out
    anew. Changes through ``.data`` or a NumPy array that shares the memory have no version, and compiled code asks for
    none: build a new graph there.

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
        for name, features, rows, what in (
            ("x", x, vertices, "vertex"),
            ("edge_features", edge_features, m, "edge"),
            ("graph_features", graph_features, graphs, "graph"),
        ):
            if features is not None:
                expect_rows(name, features, rows, what)
        values = (edges, vertices, weights, x, edge_features, graph_features, membership, directed, graphs)
        for name, value in zip(_FIELDS, values, strict=True):
            object.__setattr__(self, name, _watchable(value) if name in _WATCHED else value)
        object.__setattr__(self, "_kept", {})
        self.keep("facts", self._make_facts)  # from the start: compiled code cannot ask tensors

    edges: Int[Tensor, "2 m"]
    vertices: int
    weights: Float[Tensor, " m"] | None
    x: Tensor | None
    edge_features: Tensor | None
    graph_features: Tensor | None
    membership: Int[Tensor, " n"] | None
    directed: bool
    graphs: int
    _kept: dict[Any, Any]

    @override
    def __setattr__(self, name: str, value: Any) -> NoReturn:
        if name not in _FIELDS:
            raise AttributeError(f"a graph has no {name!r} to set; it has {', '.join(_FIELDS)}")
        raise AttributeError(
            f"a graph does not change once it is built, since layers keep what they work out from it, got graph.{name} "
            f"= …; build another: graph = graph.but({name}=…)"
        )

    @override
    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a graph does not change once it is built, got del graph.{name}; use graph.but(…)")

    @override
    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": {}}  # a copy works out its own

    def but(self, **changes: Any) -> "Graph":
        """The same graph with other parts, checked as new: ``graph.but(weights=w, edge_features=None)``.

        >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
        >>> path.but(weights=torch.tensor([1.0, 5.0])).degrees()
        tensor([1., 6., 5.])
        """
        unknown = [name for name in changes if name not in _FIELDS]
        if unknown:
            raise ValueError(f"a graph has {', '.join(_FIELDS)}, got {unknown[0]!r}; name one of these")
        return Graph(**({name: getattr(self, name) for name in _FIELDS} | changes))

    def _with(self, kept: dict[Any, Any], **changes: Any) -> "Graph":
        """The same with parts that need no check, and what is known of it already."""
        other = object.__new__(Graph)
        for name in _FIELDS:
            object.__setattr__(other, name, changes[name] if name in changes else getattr(self, name))
        object.__setattr__(other, "_kept", kept)
        return other

    # ---- what is worked out once

    def keep(self, name: Any, make: Callable[[], T]) -> T:
        """What ``make()`` gives, made once: for what follows from edges and fixed weights alone.

        Where one of the tensors was changed in place since, the graph is checked and all is made anew.
        """
        if torch.compiler.is_compiling():
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]
        now = self._versions()
        if self._kept.get("versions") != now:
            self._kept.clear()
            self._kept["versions"] = now
        if name not in self._kept:
            if torch.is_inference_mode_enabled():
                with torch.inference_mode(False):  # what is kept may be needed in training later
                    self._kept[name] = make()
            else:
                self._kept[name] = make()
        return self._kept[name]

    def _versions(self) -> tuple[Any, ...]:
        """How often each tensor was changed in place, and whether it is learned."""
        parts = (getattr(self, name) for name in _WATCHED)
        return tuple(None if x is None else (-1 if x.is_inference() else x._version, x.requires_grad) for x in parts)

    def _known(self, facts: _Facts, **changes: Any) -> "Graph":
        """The same with other parts, of which the facts are known: no tensor is asked."""
        other = self._with({"facts": facts}, **changes)
        if not torch.compiler.is_compiling():
            other._kept["versions"] = other._versions()
        return other

    @property
    def _facts(self) -> _Facts:
        return self.keep("facts", self._make_facts)

    def _make_facts(self) -> _Facts:
        edges, weights, membership = self.edges, self.weights, self.membership
        expect_known_vertices(edges, self.vertices)
        if weights is not None:
            expect_weights(weights, edges.shape[1])
        if membership is not None:
            expect_membership(membership, edges, self.vertices, self.graphs)
        is_loop = edges[0] == edges[1]
        is_silent = torch.zeros_like(is_loop) if weights is None or weights.requires_grad else weights.detach() == 0
        sizes = None if membership is None else torch.bincount(membership, minlength=1)
        return _Facts(
            int(is_loop.sum()),
            len(edges[0][is_loop & ~is_silent].unique()),
            int(is_silent.sum()),
            int((is_loop & is_silent).sum()),
            self.vertices if sizes is None else int(sizes.max()),
            weights is not None and bool((weights.detach() < 0).any()),
        )

    @property
    def loops(self) -> int:
        """How many edges are self-loops."""
        return self._facts.loops

    @property
    def largest(self) -> int:
        """The vertices of the largest graph."""
        return self._facts.largest

    @property
    def signed(self) -> bool:
        """Whether a weight is below 0."""
        return self._facts.signed

    @property
    def present(self) -> Bool[Tensor, " m"]:
        """(m,) which edges are there: those whose weight is not 0."""
        if self.weights is None:
            return torch.ones(self.edges.shape[1], dtype=torch.bool, device=self.edges.device)
        return self.weights.detach() != 0

    def without_absent(self) -> "Graph":
        """Without the edges of weight 0, which are none."""
        if self.weights is None:
            return self
        present = self.present
        return self if bool(present.all()) else self._with_edges(present)

    # ---- arcs and neighbours

    @property
    def arcs(self) -> Int[Tensor, "2 a"]:
        """The ways of messages: the edges as given, then, if undirected, their reverses without self-loops.

        Edges of weight 0 have none.
        """
        return self.keep("arcs", self._make_arcs)[0]

    @property
    def arc_edges(self) -> Int[Tensor, " a"]:
        """The edge that each arc belongs to: ``edge_features[arc_edges]`` are the features of arcs."""
        return self.keep("arcs", self._make_arcs)[1]

    def _make_arcs(self) -> tuple[Tensor, Tensor, Tensor]:
        """The arcs, the edge of each, and the places of those among the first that also run the other way."""
        edges, facts = self.edges, self._facts
        m = edges.shape[1]
        number = torch.arange(m, device=edges.device)
        if facts.silent:
            assert self.weights is not None
            number = _those_without(self.weights.detach() == 0, m - facts.silent)
            edges = edges[:, number]
        if self.directed:
            return edges, number, number[:0]
        back = torch.arange(len(number), device=number.device)
        if facts.loops:
            loops = facts.loops - facts.silent_loops
            back = _those_without(edges[0] == edges[1], len(number) - loops)
        return torch.cat([edges, edges[:, back].flip(0)], 1), torch.cat([number, number[back]]), back

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
        (starts, ends, arcs), there = self.incoming, self.keep("arcs", self._make_arcs)[2]
        back = torch.arange(self.arcs.shape[1], device=arcs.device)  # the arc of the other way; a loop's is itself
        forward = back.shape[0] - there.shape[0]
        back = torch.cat([back[:forward].index_copy(0, there, back[forward:]), there])
        return Neighbours(starts, ends, back[arcs])

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

    def _ones(self) -> Tensor:
        """A weight of 1 for each edge."""
        dtype = torch.get_default_dtype() if self.edge_features is None else self.edge_features.dtype
        return torch.ones(self.edges.shape[1], dtype=dtype, device=self.edges.device)

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
        return self._with(self._kept, x=x)  # shares what it has worked out about its edges

    def to(self, *args: Any, **kwargs: Any) -> "Graph":
        """On another device, or with floats of another dtype: as Tensor.to."""

        def moved(x: Tensor | None) -> Tensor | None:
            if x is None:
                return None
            device = torch.empty(0, device=x.device).to(*args, **kwargs).device
            return x.to(*args, **kwargs) if x.is_floating_point() else x.to(device)

        tensors = ("edges", "weights", "x", "edge_features", "graph_features", "membership")
        changes = {name: moved(getattr(self, name)) for name in tensors}
        rounded = (
            self.weights is not None and getattr(changes["weights"], "dtype", None) != self.weights.dtype
        )  # perhaps to 0
        return self._with({}, **changes) if rounded else self._known(self._facts, **changes)

    def without_edge_features(self) -> "Graph":
        """The same graph, of whose edges there are no features: for layers that read none."""
        if self.edge_features is None:
            return self
        if self.learns:
            return self._known(self._facts, edge_features=None)
        return self.keep("without_edge_features", lambda: self._known(self._facts, edge_features=None)).with_x(self.x)

    def scaled_edge_features(self, mean: tuple[float, ...], std: tuple[float, ...]) -> "Graph":
        """The features f of edges as (f − mean) / std."""
        f = self.edge_features
        if f is None or f.shape[1] != len(mean):
            got = "none" if f is None else f"{f.shape[1]}"
            raise ValueError(f"every edge must have {len(mean)} features, got {got}; give the graph edge_features")

        def make() -> Graph:
            return self._known(self._facts, edge_features=(f - f.new_tensor(mean)) / f.new_tensor(std))

        return make() if self.learns else self.keep(("scaled_edge_features", mean, std), make).with_x(self.x)

    def weights_as_features(self, scale: float = 1.0) -> "Graph":
        """Without weights, but with a last feature of each edge that tells them: weight / ``scale``; for attention.

        Edges of a graph without weights weigh 1.

        >>> pair = Graph(torch.tensor([[0], [1]]), weights=torch.tensor([3.0]))
        >>> pair.weights_as_features(2.0).edge_features
        tensor([[1.5000]])
        """
        if self.learns:
            return self._tell_weights(scale)
        return self.keep(("weights_as_features", scale), lambda: self._tell_weights(scale)).with_x(self.x)

    def _tell_weights(self, scale: float) -> "Graph":
        edges, features, facts = self.edges, self.edge_features, self._facts
        weights = self._ones() if self.weights is None else self.weights
        if facts.silent:
            there = _those_without(weights.detach() == 0, len(weights) - facts.silent)
            edges, weights = edges[:, there], weights[there]
            features = None if features is None else features[there]
        told = (weights / scale)[:, None]
        return self._known(
            facts._replace(loops=facts.loops - facts.silent_loops, silent=0, silent_loops=0, signed=False),
            edges=edges,
            weights=None,
            edge_features=told if features is None else torch.cat([features, told.to(features.dtype)], 1),
        )

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
        n, (i, j), facts = self.vertices, self.edges, self._facts
        bare = torch.arange(n, device=i.device)
        if facts.loops:
            is_loop = i == j
            if facts.silent_loops:
                is_loop = is_loop & self.present
            has = torch.zeros(n, dtype=torch.int64, device=i.device).index_put((i,), is_loop.long(), accumulate=True)
            bare = _those_without(has > 0, n - facts.looped)
        changes: dict[str, Any] = {"edges": torch.cat([self.edges, bare.expand(2, -1)], 1)}
        if self.weights is not None:
            changes["weights"] = torch.cat([self.weights, self.weights.new_ones(len(bare))])
        if self.edge_features is not None:
            features, targets = self.edge_features[self.arc_edges], self.arcs[1]
            sums = features.new_zeros(n, features.shape[1]).index_add(0, targets, features)
            counts = features.new_zeros(n).index_add(0, targets, torch.ones_like(features[:, 0]))
            means = (sums / counts.clamp(min=1)[:, None])[bare]
            changes["edge_features"] = torch.cat([self.edge_features, means])
        return self._known(facts._replace(loops=facts.loops + len(bare), looped=n), **changes)

    def without_loops(self) -> "Graph":
        """Without self-loops."""
        if not self.loops:
            return self
        return self._drop_loops() if self.learns else self.keep("without_loops", self._drop_loops)

    def _drop_loops(self) -> "Graph":
        facts = self._facts
        others = _those_without(self.edges[0] == self.edges[1], self.edges.shape[1] - facts.loops)
        return self._known(
            facts._replace(loops=0, looped=0, silent=facts.silent - facts.silent_loops, silent_loops=0),
            edges=self.edges[:, others],
            weights=None if self.weights is None else self.weights[others],
            edge_features=None if self.edge_features is None else self.edge_features[others],
        )

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
        return self.but(**(taken | changes))

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

    @override
    def __repr__(self) -> str:
        parts = [f"vertices={self.vertices}", f"edges={self.edges.shape[1]}", f"directed={self.directed}"]
        parts += [f"graphs={self.graphs}"] * (self.membership is not None)
        for name in ("weights", "x", "edge_features", "graph_features"):
            value = getattr(self, name)
            parts += [] if value is None else [f"{name}={tuple(value.shape)}"]
        return f"Graph({', '.join(parts)})"


def _those_without(mark: Bool[Tensor, " k"], count: int) -> Int[Tensor, " c"]:
    """The numbers of those that have no mark; how many is known, as compilers want it."""
    return torch.argsort(mark.int(), stable=True)[:count]


def _watchable(x: Any) -> Any:
    """The tensor; a copy of one made in inference mode, which would have no version."""
    if x is None or torch.compiler.is_compiling() or not x.is_inference():
        return x
    with torch.inference_mode(False):
        return x.clone()
