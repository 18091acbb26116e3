r"""`LinkScorer` says how probable a link between two vertices is.

    h = stages(x, graph)                                   states of all vertices
    dot     score(u, v) = h_uᵀ h_v + b
    mlp     score(u, v) = MLP([h_u ⊙ h_v, |h_u − h_v|])    the same whichever way round
    ordered score(u, v) = MLP([h_u, h_v])                  an edge from u to v is not one from v to u

P(link) = σ(score). Kipf, Welling 2016 (graph autoencoder: dot). With ``signed`` edges P is that of a friend, and
friends (weights above 0) and foes have stages of their own, whose states stand side by side in h: Derr et al. 2018.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.blocks.graphs.graph import Graph
from cutaway.models.base import choose_spec
from cutaway.models.graphs.graph_stages import GraphModel, GraphModelSpec, make_stages
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop

DECODERS = ("dot", "mlp", "ordered")


@dataclass(frozen=True, kw_only=True)
class LinkScorerSpec(GraphModelSpec):
    """Features of vertices in, a score for each pair out."""

    model: ClassVar[str] = "LinkScorer"

    decoder: str = "mlp"  # dot | mlp | ordered
    signed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("decoder", self.decoder, DECODERS)


class LinkScorer(GraphModel):
    """scores (pairs,) = LinkScorer(graph, pairs), pairs (2, pairs) of vertices; messages run over the graph's edges.

    `states` gives h once for many pairs, which `score` then takes.
    """

    kind: ClassVar[type[NamedSpec]] = LinkScorerSpec
    spec: LinkScorerSpec

    def __init__(self, spec: LinkScorerSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, LinkScorerSpec))
        spec = self.spec
        self.foe_stages = make_stages(spec) if spec.signed else None
        width = spec.width * (1 + spec.signed)
        self.bias = nn.Parameter(torch.zeros(())) if spec.decoder == "dot" else None
        self.hidden = None if spec.decoder == "dot" else Dense(2 * width, width, find_activation(spec.activation))
        self.output = None if spec.decoder == "dot" else Linear(width, 1)

    def forward(self, graph: Graph, pairs: Int[Tensor, "2 p"]) -> Float[Tensor, "p"]:
        return self.score(self.states(graph), pairs)

    def states(self, graph: Graph) -> Float[Tensor, "n w"]:
        """h, one row for every vertex."""
        if self.foe_stages is None:
            return super().states(graph)
        friends, foes = signed_parts(graph)
        y = self.enter_features(foes)
        for stage in self.foe_stages:
            y = stage(y, foes)
        return torch.cat([super().states(friends), y], -1)

    def score(self, states: Float[Tensor, "n w"], pairs: Int[Tensor, "2 p"]) -> Float[Tensor, "p"]:
        """The scores of pairs of vertices with these states."""
        u, v = states.index_select(0, pairs[0]), states.index_select(0, pairs[1])
        if self.hidden is None or self.output is None:
            assert self.bias is not None
            return (u * v).sum(-1) + self.bias
        both = [u, v] if self.spec.decoder == "ordered" else [u * v, (u - v).abs()]
        return self.output(drop(self.hidden(torch.cat(both, -1)), self.spec.dropout, self.training))[..., 0]


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


__all__ = ["DECODERS", "LinkScorer", "LinkScorerSpec", "signed_parts"]
