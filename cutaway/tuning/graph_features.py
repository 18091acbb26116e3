r"""Features of a frozen body of graphs, computed once, of many graphs.

    r = represent(graph)            once, as in evaluation
    s = decide(r)                   in every step, which trains the head alone

Where the body is tuned too, a fresh head is fitted to them first: see fitted_heads.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from cutaway.data.graphs.graph_set import GraphRows
from cutaway.tasks.frozen_features import Representation, represent_still
from cutaway.tasks.graphs.graph_networks import batch_of
from cutaway.tasks.graphs.outcomes import Scale, outcome_loss, outcome_metrics

_TOGETHER = 256  # graphs in a pass
_EPOCHS, _BATCH, _RATE, _DECAY = 40, 32, 1e-2, 0.05  # of `fit_graph_head`


class GraphFeatureRows:
    """What a head reads of some graphs (n, w), and their targets."""

    def __init__(self, model: Any, rows: GraphRows) -> None:
        assert rows.targets is not None
        self.values = torch.cat([represent_still(model, batch_of(model, part.graphs)) for part in _parts(rows)])
        self.targets = rows.targets.to(self.values.device)

    def __call__(self, rows: Int[np.ndarray, "b"]) -> Representation:
        return Representation(self.values[torch.from_numpy(np.asarray(rows)).to(self.values.device)])

    @property
    def megabytes(self) -> float:
        return self.values.numel() * self.values.element_size() / 2**20

    fits = True


def _parts(rows: GraphRows) -> Iterator[GraphRows]:
    for first in range(0, len(rows), _TOGETHER):
        yield rows.take(range(first, min(first + _TOGETHER, len(rows))))


def feature_loss(model: Any, rows: Int[np.ndarray, "b"], features: GraphFeatureRows, scale: Scale | None) -> Tensor:
    """The mean loss of some graphs, by their kept features."""
    at = torch.from_numpy(np.asarray(rows)).to(features.values.device)
    return outcome_loss(model.decide(features.values[at]), features.targets[at], scale)


@torch.no_grad()
def feature_outcomes(model: Any, features: GraphFeatureRows, scale: Scale | None) -> dict[str, float]:
    """The metrics of all of them."""
    outputs = model.decide(features.values).float().cpu()
    outputs = outputs if scale is None else outputs * scale.std + scale.mean
    return outcome_metrics(outputs, features.targets.cpu(), scale)


def fit_graph_head(model: Any, features: GraphFeatureRows, scale: Scale | None, seed: int) -> None:
    """Fits a fresh head to kept features, before the body learns too; the same for the same seed."""
    learned = [parameter for parameter in model.head.parameters() if parameter.requires_grad]
    if not learned:
        return
    optimizer = torch.optim.AdamW(learned, lr=_RATE, weight_decay=_DECAY)
    draw = torch.Generator().manual_seed(seed)
    count = len(features.values)
    steps, step, training = _EPOCHS * -(-count // _BATCH), 0, model.training
    model.eval()
    for _ in range(_EPOCHS):
        for rows in torch.randperm(count, generator=draw).split(_BATCH):
            for group in optimizer.param_groups:
                group["lr"] = _RATE * (1 - step / steps)
            optimizer.zero_grad()
            feature_loss(model, rows.numpy(), features, scale).backward()
            optimizer.step()
            step += 1
    optimizer.zero_grad()
    model.train(training)


def measure_head(model: nn.Module, features: GraphFeatureRows) -> None:
    """Brings what a head reads to one scale, where it has such a part."""
    head: Any = model.head
    if hasattr(head, "measure"):
        head.measure(features.values)


__all__ = [
    "GraphFeatureRows",
    "feature_loss",
    "feature_outcomes",
    "fit_graph_head",
    "measure_head",
]
