r"""Features of vertices as a network is given them.

    rows       x_v / Σ_f |x_vf|                 words of a document, counts: each vertex in all the same
    columns    (x_vf − mean_f) / std_f          measurements: each feature on one scale
    identity   x = I                            no features: each vertex has a vector of its own, which is learned

Rows as Kipf, Welling 2017. All vertices of the graph count in the mean and the deviation, those of the test too: their
features, unlike their classes, are given to the network anyway. Another graph, later, is put on the same scale.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph

FEATURES = ("auto", "rows", "columns", "as given", "identity")


@dataclass(frozen=True)
class FeatureScale:
    """How features are scaled, found from one graph and used on it and on others: see above."""

    kind: str
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @classmethod
    def of(cls, graph: Graph, kind: str = "auto") -> "FeatureScale":
        """That of a graph; auto: rows of counts, columns of other numbers."""
        x = graph.x
        if x is None or kind == "identity":
            return cls("identity")
        if kind == "auto":
            kind = "rows" if is_counted(x) else "columns"
        if kind != "columns":
            return cls(kind)
        x = _dense(x)
        return cls(kind, tuple(x.mean(0).tolist()), tuple(x.std(0, unbiased=False).tolist()))

    def apply(self, graph: Graph) -> Graph:
        """The graph with its features on this scale."""
        if self.kind == "identity":
            return graph.with_x(identity_rows(graph.vertices))
        if graph.x is None or self.kind == "as given":
            return graph
        if self.kind == "rows":
            return graph.with_x(scale_rows(graph.x))
        return graph.with_x(scale_columns(graph.x, torch.tensor(self.mean), torch.tensor(self.std)))


def with_features(graph: Graph, kind: str = "auto") -> Graph:
    """The graph with its features on the scale that ``kind`` says."""
    return FeatureScale.of(graph, kind).apply(graph)


@torch.no_grad()
def embedded_vertices(model: Any, graph: Graph) -> Float[Tensor, "n w"]:
    """The vectors that a model has of all vertices of a graph, on the CPU."""
    return model.embed(graph.to(next(model.parameters()).device)).float().cpu()


def is_counted(x: Tensor) -> bool:
    """Whether features are counts of many things, most of them 0: words of documents."""
    if x.layout == torch.sparse_csr:
        return bool((x.values() >= 0).all())
    return bool((x >= 0).all()) and bool((x == x.round()).all()) and float((x == 0).float().mean()) > 0.5


def identity_rows(count: int) -> Tensor:
    """The identity matrix, sparse."""
    return torch.sparse_csr_tensor(
        torch.arange(count + 1), torch.arange(count), torch.ones(count), (count, count), check_invariants=False
    )


def scale_rows(x: Tensor) -> Tensor:
    """Each row divided by the sum of its sizes; a row of zeros stays."""
    if x.layout != torch.sparse_csr:
        return x.float() / x.float().abs().sum(1, keepdim=True).clamp(min=1e-12)
    starts, values = x.crow_indices(), x.values().float()
    rows = torch.repeat_interleave(torch.arange(x.shape[0]), starts.diff())
    sums = torch.zeros(x.shape[0]).index_add(0, rows, values.abs()).clamp(min=1e-12)
    return torch.sparse_csr_tensor(starts, x.col_indices(), values / sums[rows], x.shape, check_invariants=False)


def scale_columns(x: Tensor, mean: Float[Tensor, "f"], std: Float[Tensor, "f"]) -> Tensor:
    """(x − mean) / std, column by column; 0 where a column does not vary."""
    varies = std > 1e-9 * mean.abs().clamp(min=1)
    return torch.where(varies, (_dense(x) - mean) / std.clamp(min=1e-12), torch.zeros(()))


def _dense(x: Tensor) -> Tensor:
    return (x.to_dense() if x.layout == torch.sparse_csr else x).float()


__all__ = [
    "FEATURES",
    "FeatureScale",
    "embedded_vertices",
    "identity_rows",
    "is_counted",
    "scale_columns",
    "scale_rows",
    "with_features",
]
