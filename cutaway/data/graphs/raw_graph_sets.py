r"""Many graphs as they were read, before labels are numbered and parts are drawn."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import Fingerprint


@dataclass
class RawGraphSet:
    """Graphs, their names, and the label of each; ``scaffolds`` are the skeletons of molecules."""

    name: str
    graphs: list[Graph]
    names: list[str]
    labels: np.ndarray | None
    target: str
    fingerprint: Fingerprint
    feature_names: tuple[str, ...] = ()
    edge_feature_names: tuple[str, ...] = ()
    scaffolds: list[str] | None = None
    notes: list[str] = field(default_factory=list)


def one_hot_tags(graphs: list[Graph], tags: list[np.ndarray]) -> tuple[list[Graph], tuple[str, ...]]:
    """The graphs with a column for every tag that a vertex of theirs has; of one tag alone, the degrees instead."""
    values = np.unique(np.concatenate(tags)) if tags else np.empty(0, np.int64)
    if len(values) > 1:
        made = [
            graph.with_x(torch.from_numpy((own[:, None] == values).astype(np.float32)))
            for graph, own in zip(graphs, tags, strict=True)
        ]
        return made, tuple(f"tag {value}" for value in values.tolist())
    highest = max((int(graph.degrees().max()) for graph in graphs if graph.vertices), default=0)
    return [graph.with_x(_degree_columns(graph, highest)) for graph in graphs], tuple(
        f"degree {d}" for d in range(highest + 1)
    )


def _degree_columns(graph: Graph, highest: int) -> Tensor:
    return torch.nn.functional.one_hot(graph.degrees().long(), highest + 1).float()


__all__ = ["RawGraphSet", "one_hot_tags"]
