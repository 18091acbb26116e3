r"""What one reaches on whole graphs without looking at their structure.

    z = [Σ_v x_v, mean_v x_v, log(1 + vertices), log(1 + edges)]        a graph as a bag of its vertices and edges
    a random forest on z;  and always the same answer: the most frequent class, or the mean

Errica et al. 2020, "A fair comparison of graph neural networks", found such baselines hard to beat.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.extras import need
from cutaway.tasks.graphs.outcomes import Scale, outcome_metrics

_TREES = 200
_LEAST = 1e-9  # probability of a class that no tree names


def graph_sums(graphs: Sequence[Graph]) -> Float[np.ndarray, "n f"]:
    """What a graph has in sum and in the mean, whatever its edges join."""
    rows = []
    for graph in graphs:
        parts = [np.log1p([graph.vertices, graph.edges.shape[1]])]
        for features, count in ((graph.x, graph.vertices), (graph.edge_features, graph.edges.shape[1])):
            if features is not None:
                dense = features.to_dense() if features.layout == torch.sparse_csr else features
                total = dense.double().sum(0).numpy()
                parts += [total, total / max(count, 1)]
        rows.append(np.concatenate(parts))
    return np.stack(rows)


def graph_baselines(
    train: GraphRows, held: GraphRows, scale: Scale | None, classes: int = 0
) -> dict[str, dict[str, Any]]:
    """The rules by name, each learned from the training graphs, with its metrics on others."""
    assert train.targets is not None
    assert held.targets is not None
    known = train.targets.numpy()
    model = fit_forest(graph_sums(train.graphs), known, scale is not None)
    z = graph_sums(held.graphs)
    if scale is not None:
        constant, forest = np.full((len(held), 1), scale.mean), model.predict(z)[:, None]
        said = "the mean of training, always"
    else:
        counts = np.bincount(known, minlength=classes)
        constant = np.log(np.tile((counts + _LEAST) / counts.sum(), (len(held), 1)))
        forest = np.full((len(held), classes), np.log(_LEAST))
        forest[:, model.classes_] = np.log(model.predict_proba(z) + _LEAST)
        said = "the most frequent class of training, always"
    rules = {
        "same answer": (said, constant),
        "structure-blind": ("a random forest on the sums of all features, without edges", forest),
    }
    found = {}
    for name, (rule, outputs) in rules.items():
        metrics = outcome_metrics(torch.from_numpy(outputs).float(), held.targets, scale)
        found[name] = {"rule": rule, "metrics": {k: v for k, v in metrics.items() if k != "loss"}}
    return found


def fit_forest(z: Float[np.ndarray, "n f"], targets: Shaped[np.ndarray, "n"], is_number: bool) -> Any:
    """A random forest of scikit-learn, the same each time."""
    ensemble = need("sklearn.ensemble", "tables", "the baseline of graphs")
    kind = ensemble.RandomForestRegressor if is_number else ensemble.RandomForestClassifier
    return kind(_TREES, random_state=0, n_jobs=1).fit(z, targets)
