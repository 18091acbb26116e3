r"""`LinkScorer` says how probable a link between two vertices is.

    h = stages(x, graph)                                   states of all vertices
    dot     score(u, v) = h_uᵀ h_v + b
    mlp     score(u, v) = MLP([h_u ⊙ h_v, |h_u − h_v|])    the same whichever way round
    ordered score(u, v) = MLP([h_u, h_v])                  an edge from u to v is not one from v to u

P(link) = σ(score). Kipf, Welling 2016 (graph autoencoder: dot). With ``signed`` edges P is that of a friend, and
friends (weights above 0) and foes have stages of their own, whose states stand side by side in h: Derr et al. 2018.

With several ``outputs`` a pair has a score for each class of edges, score_k (dot: h_uᵀ diag(d_k) h_v + b_k, Yang et al.
2015), and with ``kinds`` edges of each class have stages of their own (van den Berg et al. 2018); the class of an edge
is then the place of the 1 in its features.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.blocks.graphs.graph import Graph
from cutaway.models.base import choose_spec
from cutaway.models.graphs.graph_stages import GraphModel, GraphModelSpec, make_stages
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

DECODERS = ("dot", "mlp", "ordered")


@dataclass(frozen=True, kw_only=True)
class LinkScorerSpec(GraphModelSpec):
    """Features of vertices in, a score for each pair out."""

    model: ClassVar[str] = "LinkScorer"

    decoder: str = "mlp"  # dot | mlp | ordered
    signed: bool = False
    kinds: int = 0  # classes of edges with stages of their own; 0: all edges go through the same
    outputs: int = 1  # scores of a pair

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("decoder", self.decoder, DECODERS)
        expect_positive(outputs=self.outputs)
        if self.kinds and (self.kinds < 2 or self.signed):
            raise ValueError(
                f"edges have two kinds or more, or signs, got kinds={self.kinds}, signed={self.signed}; leave one out"
            )

    @property
    def parts(self) -> int:
        """How many times the width the states of a vertex are."""
        return self.kinds or 1 + self.signed


class LinkScorer(GraphModel):
    """scores (pairs,) = LinkScorer(graph, pairs), pairs (2, pairs) of vertices; messages run over the graph's edges.

    With several outputs, scores are (pairs, outputs). `states` gives h once for many pairs, which `score` then takes.
    """

    kind: ClassVar[type[NamedSpec]] = LinkScorerSpec
    spec: LinkScorerSpec

    def __init__(self, spec: LinkScorerSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, LinkScorerSpec))
        spec = self.spec
        self.foe_stages = make_stages(spec) if spec.signed else None
        self.kind_stages = nn.ModuleList(make_stages(spec) for _ in range(spec.kinds - 1))
        width, several = spec.width * spec.parts, (spec.outputs,) if spec.outputs > 1 else ()
        is_dot = spec.decoder == "dot"
        self.bias = nn.Parameter(torch.zeros(several)) if is_dot else None
        self.diagonals = nn.Parameter(torch.ones(spec.outputs, width)) if is_dot and several else None  # d
        self.hidden = None if is_dot else Dense(2 * width, width, find_activation(spec.activation))
        self.output = None if is_dot else Linear(width, spec.outputs)

    @override
    def forward(self, graph: Graph, pairs: Int[Tensor, "2 p"]) -> Float[Tensor, "p *o"]:
        return self.score(self.states(graph), pairs)

    @override
    def states(self, graph: Graph) -> Float[Tensor, "n w"]:
        """h, one row for every vertex."""
        if self.spec.kinds:
            first, *others = kind_parts(graph, self.spec.kinds)
            found = [super().states(first)]
            for stages, part in zip(self.kind_stages, others, strict=True):
                y = self.enter_features(part)
                over = self.wired(part)
                for stage in stages:  # type: ignore[attr-defined]
                    y = stage(y, over)
                found.append(y)
            return torch.cat(found, -1)
        if self.foe_stages is None:
            return super().states(graph)
        friends, foes = signed_parts(graph)
        y, over = self.enter_features(foes), self.wired(foes)
        for stage in self.foe_stages:
            y = stage(y, over)
        return torch.cat([super().states(friends), y], -1)

    def score(self, states: Float[Tensor, "n w"], pairs: Int[Tensor, "2 p"]) -> Float[Tensor, "p *o"]:
        """The scores of pairs of vertices with these states."""
        u, v = states.index_select(0, pairs[0]), states.index_select(0, pairs[1])
        if self.hidden is None or self.output is None:
            assert self.bias is not None
            return ((u * v).sum(-1) if self.diagonals is None else (u * v) @ self.diagonals.T) + self.bias
        both = [u, v] if self.spec.decoder == "ordered" else [u * v, (u - v).abs()]
        scores = self.output(drop(self.hidden(torch.cat(both, -1)), self.spec.dropout, self.training))
        return scores if self.spec.outputs > 1 else scores[..., 0]


def signed_parts(graph: Graph) -> tuple[Graph, Graph]:
    """The graph of the edges with weights above 0, and that of the others, with the sizes of their weights."""

    def parts() -> tuple[Graph, Graph]:
        if graph.weights is None:
            raise ValueError("a model of signed edges needs their weights, got none; give weights of 1 and −1")
        found = []
        for friendly in (True, False):
            chosen = (graph.weights > 0) == friendly
            part = graph.without_edges(~chosen)
            found.append(
                Graph(part.edges, graph.vertices, part.weights.abs(), directed=graph.directed)  # type: ignore[union-attr]
            )
        return found[0], found[1]

    friends, foes = graph.keep("signed parts", parts)
    return friends.with_x(graph.x), foes.with_x(graph.x)


def kind_parts(graph: Graph, kinds: int) -> list[Graph]:
    """The graph of the edges of each kind; an edge's kind is the place of the 1 among its ``kinds`` features."""
    features = graph.edge_features
    if features is None or features.shape[1] != kinds:
        got = "none" if features is None else f"{features.shape[1]}"
        raise ValueError(f"a model of {kinds} kinds of edges needs as many edge features, got {got}; give them one-hot")

    def parts() -> list[Graph]:
        kind = torch.where(graph.present, features.argmax(1), -1)
        return [Graph(graph.edges[:, kind == k], graph.vertices, directed=graph.directed) for k in range(kinds)]

    return [part.with_x(graph.x) for part in graph.keep(("kind parts", kinds), parts)]


__all__ = ["DECODERS", "LinkScorer", "LinkScorerSpec", "kind_parts", "signed_parts"]
