r"""What one reaches on vertices without a graph network: three rules that a network has to beat.

Classes
    majority              the most frequent class of the training vertices, always
    features alone        logistic regression on x; the edges are not looked at
    label propagation     F ← α S F + (1 − α) Y,   S = D^−½ A D^−½;   class = argmax F       the features are not

Values
    mean                  the mean of the training vertices, always
    features alone        ridge regression on x, whose columns have spread 1; the edges are not looked at
    neighbours' mean      Σ a_uv y_u / Σ a_uv over training neighbours u of v; the mean where there is none

Y has the known classes, one-hot. Zhou et al. 2004 (label propagation with α), with α = 0.9.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.neighbours import sum_neighbours
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.extras import need
from cutaway.tasks.graphs.outcomes import Scale, outcome_metrics

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData

_ALPHA, _ROUNDS = 0.9, 50
_CELLS = 200_000_000  # features × vertices above which logistic regression would take too long


def vertex_baselines(data: "GraphData", rows: Int[np.ndarray, "v"]) -> dict[str, dict[str, Any]]:
    """The rules by name, each learned from the training vertices, with its metrics on some others."""
    assert data.targets is not None
    train, held = torch.from_numpy(data.train), torch.from_numpy(rows)
    if not data.classes:
        return value_rules(data.graph, data.targets, train, held)
    return vertex_rules(data.graph, data.targets, train, held, len(data.classes))


def vertex_rules(
    graph: Graph, targets: Int[Tensor, "n"], train: Int[Tensor, "t"], held: Int[Tensor, "v"], classes: int
) -> dict[str, dict[str, Any]]:
    """The same for a graph with classes, its training vertices and others."""
    known = targets[train]
    most = known.bincount(minlength=classes).argmax()
    found = {"majority": (most.expand(len(held)), "the most frequent class of training, always")}
    if (scores := feature_scores(graph.x, known, train, held)) is not None:
        found["features alone"] = scores.argmax(1), "logistic regression on the features, without edges"
    if graph.edges.shape[1]:
        spread = label_propagation(graph, targets, train, classes)[held]
        found["label propagation"] = spread.argmax(1), "classes spread along edges, without features"
    return {
        name: {
            "rule": rule,
            "metrics": {
                "accuracy": accuracy(predicted, targets[held]),
                "macro_f1": macro_f1(predicted, targets[held]),
            },
        }
        for name, (predicted, rule) in found.items()
    }


def value_rules(
    graph: Graph, targets: Float[Tensor, "n"], train: Int[Tensor, "t"], held: Int[Tensor, "v"]
) -> dict[str, dict[str, Any]]:
    """The rules of values for a graph with its training vertices and others."""
    scale = Scale.of(targets[train])
    found = {"mean": (torch.full((len(held),), scale.mean), "the mean of training, always")}
    if (linear := feature_values(graph.x, targets[train], train, held)) is not None:
        found["features alone"] = linear, "ridge regression on the features, without edges"
    if graph.edges.shape[1]:
        near = neighbour_means(graph, targets, train)[held]
        found["neighbours' mean"] = near, "the mean of the neighbours whose value is known, without features"
    return {
        name: {
            "rule": rule,
            "metrics": {k: v for k, v in outcome_metrics(y[:, None], targets[held], scale).items() if k != "loss"},
        }
        for name, (y, rule) in found.items()
    }


def neighbour_means(graph: Graph, targets: Float[Tensor, "n"], train: Int[Tensor, "t"]) -> Float[Tensor, "n"]:
    """Σ a_uv y_u / Σ a_uv over the training neighbours u of every vertex v; of one without, the mean of training."""
    known = torch.zeros(graph.vertices, 2)
    known[train] = torch.stack([targets[train], torch.ones(len(train))], 1)
    sums, weights = sum_neighbours(known, graph).unbind(1)
    return torch.where(weights > 0, sums / weights.clamp(min=1e-12), targets[train].mean())


def feature_values(
    x: Tensor | None, known: Float[Tensor, "t"], train: Int[Tensor, "t"], asked: Int[Tensor, "v"]
) -> Float[Tensor, "v"] | None:
    """The answers of ridge regression, trained on the features of ``train``; None where there are no features."""
    if x is None or x.shape[0] * x.shape[1] > _CELLS or len(train) < 2:
        return None
    linear = need("sklearn.linear_model", "tables", "the baseline of vertices")
    scaler = need("sklearn.preprocessing", "tables", "the baseline of vertices")
    rows = _scipy_rows(x)
    scale = scaler.StandardScaler(with_mean=x.layout == torch.strided).fit(rows[train.numpy()])
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(1):
        model = linear.Ridge(alpha=1.0).fit(scale.transform(rows[train.numpy()]), known.numpy())
    return torch.from_numpy(model.predict(scale.transform(rows[asked.numpy()]))).float()


def feature_scores(
    x: Tensor | None, known: Int[Tensor, "t"], train: Int[Tensor, "t"], asked: Int[Tensor, "v"]
) -> Float[Tensor, "v c"] | None:
    """The scores of logistic regression, trained on the features of ``train``; None where there are no features."""
    if x is None or x.shape[0] * x.shape[1] > _CELLS or len(known.unique()) < 2:
        return None
    linear = need("sklearn.linear_model", "tables", "the baseline of vertices")
    rows = _scipy_rows(x)
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(1), warnings.catch_warnings():  # small products: threads would only wait for one another
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model = linear.LogisticRegression(max_iter=1000, C=10.0).fit(rows[train.numpy()], known.numpy())
    scores = np.full((len(asked), int(known.max()) + 1), -np.inf)
    scores[:, model.classes_] = model.predict_log_proba(rows[asked.numpy()])
    return torch.from_numpy(scores)


def label_propagation(
    graph: Graph, targets: Int[Tensor, "n"], train: Int[Tensor, "t"], classes: int
) -> Float[Tensor, "n c"]:
    """F after some rounds of F ← α S F + (1 − α) Y; every class starts with the same weight in sum."""
    degrees = graph.degrees("in", torch.float32).clamp(min=1e-12)
    scale = degrees.rsqrt()[:, None]
    y = torch.zeros(graph.vertices, classes)
    y[train] = nn.functional.one_hot(targets[train], classes).float()
    y /= y.sum(0).clamp(min=1)
    f = y
    for _ in range(_ROUNDS):
        f = _ALPHA * scale * sum_neighbours(scale * f, graph) + (1 - _ALPHA) * y
    return f


def _scipy_rows(x: Tensor) -> Any:
    """Features as scikit-learn takes them: dense, or CSR of SciPy."""
    if x.layout != torch.sparse_csr:
        return x.numpy()
    sparse = need("scipy.sparse", "graphs", "sparse features")
    return sparse.csr_matrix((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=x.shape)


__all__ = [
    "feature_scores",
    "feature_values",
    "label_propagation",
    "neighbour_means",
    "value_rules",
    "vertex_baselines",
    "vertex_rules",
]
