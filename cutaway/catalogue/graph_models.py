"""Networks on graphs, as small as they come."""

from functools import partial
from typing import Any

import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models import GraphEncoder, GraphPredictor, GraphRNN, LinkScorer, VertexClassifier
from cutaway.registry import register


def ring() -> Graph:
    """Five vertices in a ring, with features and weights of both signs."""
    edges = torch.stack([torch.arange(5), (torch.arange(5) + 1) % 5])
    return Graph(edges, weights=torch.tensor([1.0, -1.0, 2.0, 0.5, -0.5]), x=torch.randn(5, 3))


def vertex_classifier(layer: str) -> tuple[Any, ...]:
    model = VertexClassifier(inputs=5, classes=2, layer=layer, width=4, heads=2, activation="tanh")
    return model, Graph(ring().edges, x=torch.randn(5, 5))


def graph_rnn(edges: str) -> tuple[Any, ...]:
    """A triangle with a tail, and a path: rows of four vertices and three, padded."""
    rows = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [1, 0]], [[0, 0], [1, 0], [1, 0], [0, 0]]])
    return GraphRNN(bandwidth=2, width=5, edges=edges, edge_width=3), rows, torch.tensor([4, 3])


register(
    GraphPredictor,
    example=lambda: (
        GraphPredictor(task="multi-class", outputs=3, inputs=3, layer="gin", width=4, norm="layer", readout="mean"),
        Graph(ring().edges, x=torch.randn(5, 3)),
    ),
    kinks="ReLU bends",
)
register(
    GraphEncoder,
    example=lambda: (
        GraphEncoder(inputs=3, width=4, purpose="vertices", outputs=2, activation="tanh"),
        Graph(ring().edges, x=torch.randn(5, 3)),
        torch.tensor([True, False, False, True, False]),
    ),
)
for edges in ("independent", "recurrent"):
    register(
        GraphRNN,
        name=f"GraphRNN ({edges} edges)",
        example=partial(graph_rnn, edges),
        kinks="ReLU bends" if edges == "independent" else "",
    )
for layer in ("gcn", "gat", "gin", "notes", "chebyshev", "gated", "fixed-point", "transformer"):
    register(
        VertexClassifier,
        name=f"VertexClassifier ({layer})",
        example=partial(vertex_classifier, layer),
        kinks="ReLU bends" if layer in ("gat", "gin", "transformer") else "",
    )
register(
    LinkScorer,
    example=lambda: (
        LinkScorer(inputs=3, width=4, activation="tanh", signed=True),
        ring(),
        torch.tensor([[0, 1, 2], [2, 3, 0]]),
    ),
    kinks="|u − v| bends",
)
