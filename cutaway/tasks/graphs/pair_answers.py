r"""Answers for pairs of vertices: P(link), the class of an edge, or its value; of one vertex, its best new links."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.link_splits import sides
from cutaway.tasks.graphs.edges import edge_outputs, labelled_messages, predicted_edges
from cutaway.tasks.graphs.links import SIGNS, candidates, pair_scores, predicted_pairs
from cutaway.tasks.graphs.vertex_names import find_pairs, find_vertices

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.tasks.graphs.transfer import GraphReading

_BEST = 10  # new links of a vertex


def answer_pairs(
    model: Any, messages: Graph, data: "GraphData", reading: "GraphReading", asked: Any
) -> list[dict[str, Any]]:
    """What the model says of pairs of names, or of one name: its ten best new links, by messages over a graph."""
    if isinstance(asked, str):
        if len(reading.classes) > 2:
            raise ValueError(
                f"classes of edges are told of pairs, got one vertex, {asked!r}; give a file with two names a line"
            )
        (vertex,) = find_vertices([asked], data.names)
        pairs = candidates(data.graph, int(vertex), is_bipartite(data.graph))
    else:
        pairs = find_pairs(asked, data.names)
    if not pairs.shape[1]:
        return []
    if reading.values is None and len(reading.classes) <= 2:
        scores = pair_scores(model, messages, pairs).double().numpy()
        best = _best(scores, asked)
        return predicted_pairs(scores[best], pairs[:, best], data.names, reading.classes)
    outputs = edge_outputs(model, messages, pairs, reading.values)
    best = _best(outputs[:, 0].numpy(), asked)
    return predicted_edges(outputs[best], pairs[:, best], data.names, reading.classes, reading.target)


def _best(scores: np.ndarray, asked: Any) -> np.ndarray:
    """All pairs as they were asked for; of one vertex the best, in order."""
    return np.argsort(-scores, kind="stable")[:_BEST] if isinstance(asked, str) else np.arange(len(scores))


def is_bipartite(graph: Graph) -> bool:
    """Whether edges lead from one side to another: people and films."""
    return len(sides(graph.edges.numpy(), graph.vertices)[0]) < graph.vertices


def other_messages(data: "GraphData", reading: "GraphReading", graph: Graph) -> Graph:
    """What messages run over in another graph: its edges, which tell their labels where those of training did."""
    if reading.classes in ((), SIGNS) and reading.values is None:
        return graph
    assert data.edge_targets is not None
    if len(reading.classes) == 2:
        signs = torch.where(data.edge_targets == 1, 1.0, -1.0)
        return Graph(graph.edges, graph.vertices, signs, graph.x, directed=graph.directed)
    return labelled_messages(graph, data.edge_targets, len(reading.classes), reading.values)


__all__ = ["answer_pairs", "is_bipartite", "other_messages"]
