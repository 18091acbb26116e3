r"""What the layers of a model read of the edges of a graph: features, and weights where nothing else weighs them.

    f_a = ((features of the edge − mean) / std, weight / scale)        scale = √(mean of weight²)

Mean, deviation and scale are those of the training graph; features of 0 and 1 alone, as kinds, stay as they are.
Attention multiplies messages by weights of its own: there the weights of the graph are one more feature of its edges.
"""

from collections.abc import Sequence
from typing import Any

import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models.graphs.layer_kinds import LAYERS


def edge_settings(layer: str, graphs: Sequence[Graph], ignore: bool = False) -> dict[str, Any]:
    """What the spec of a model of these graphs says of edges; ``ignore`` leaves their features out.

    Features that it does not read are left out later, too: whoever trains has been told.
    """
    kind, features = LAYERS[layer], edge_feature_count(graphs)
    read = features if kind.reads_edges and not ignore else 0
    weighs = kind.weighs == "always" or (kind.weighs == "bare" and not read)
    weights = [graph.weights for graph in graphs if graph.weights is not None and len(graph.weights)]
    scale = 0.0
    if weights and kind.reads_edges and not weighs:
        scale = float(torch.cat(weights).double().square().mean().sqrt()) or 1.0
    found = {"edge_inputs": read + (scale > 0), "weight_scale": scale, "ignores_edges": True}
    return found | (_scales(graphs) if read else {})


def _scales(graphs: Sequence[Graph]) -> dict[str, Any]:
    """The mean and deviation of each feature of edges; nothing where all are kinds, written as 0 and 1."""
    f = torch.cat([graph.edge_features for graph in graphs if graph.edge_features is not None]).double()
    kinds = ((f == 0) | (f == 1)).all(0)
    if not len(f) or bool(kinds.all()):
        return {}
    mean, std = f.mean(0), f.std(0, unbiased=False)
    std = torch.where(std > 1e-9 * mean.abs().clamp(min=1), std, 1.0)
    mean, std = mean.masked_fill(kinds, 0.0), std.masked_fill(kinds, 1.0)
    return {"edge_mean": tuple(mean.tolist()), "edge_std": tuple(std.tolist())}


def edge_feature_count(graphs: Sequence[Graph]) -> int:
    """How many features every edge has."""
    features = graphs[0].edge_features
    return 0 if features is None else features.shape[1]


def expect_readable_edges(layer: str, graphs: Sequence[Graph], names: Sequence[str], source: str) -> None:
    """Stops at features of edges that the layer cannot read: they would be left out without a word."""
    count = edge_feature_count(graphs)
    if LAYERS[layer].reads_edges or not count:
        return
    able = ", ".join(name for name, kind in LAYERS.items() if kind.reads_edges)
    raise ValueError(
        f"layers {layer!r} read no features of edges, got {_listed(names, count)} in {source}; take layers that do "
        f"({able}), or leave the features out: edge_features=ignore"
    )


def edges_in_words(settings: dict[str, Any], layer: str, graphs: Sequence[Graph], names: Sequence[str]) -> str:
    """Lines for the summary: what is read of edges, and what is not; "" where there is nothing to say."""
    lines, count = [], edge_feature_count(graphs)
    read = settings["edge_inputs"] - (settings["weight_scale"] > 0)
    if count and read < count:
        lines.append(f"features of edges are left out: {_listed(names, count)}")
    if settings["weight_scale"]:
        lines.append(f"layers {layer!r} read the weight of an edge as a feature of it")
    elif LAYERS[layer].weighs == "" and any(graph.weights is not None for graph in graphs):
        lines.append(f"layers {layer!r} do not read the weights of edges")
    return "".join(f"\n{line}" for line in lines)


def _listed(names: Sequence[str], count: int) -> str:
    if not names:
        return f"{count} feature{'s' * (count > 1)} of every edge"
    return ", ".join(names[:5]) + ", …" * (len(names) > 5)


__all__ = ["edge_feature_count", "edge_settings", "edges_in_words", "expect_readable_edges"]
