r"""The learner of `series-classifier`: a network over time votes for the class of a whole series.

cost = mean −log softmax(f(x))_y            x may be changed a little first: noise, size, speed
P(label) = softmax(f(x))                    f: `SeriesClassifier`, convolutions or a recurrent net
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.series.labelled_series import SeriesRows
from cutaway.models.sequences.series_classifier import SeriesClassifier
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.series.classify import SeriesClasses
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.training.augmentation.series import jitter, scaling, time_warp
from cutaway.training.jobs import Job

_TOGETHER = 256  # series evaluated in one pass


class ClassifierLearner(Learner):
    """A classifier of series, padded to the longest of a batch."""

    unit = "series"
    task: SeriesClasses
    model: SeriesClassifier

    @classmethod
    def new(cls, settings: Any, task: SeriesClasses) -> "ClassifierLearner":
        """An untrained model for the series of a task."""
        torch.manual_seed(settings.seed)
        model = SeriesClassifier(
            classes=len(task.parts.labels),
            channels=len(task.parts.channels),
            design=settings.design,
            width=settings.width,
            depth=settings.depth,
            dropout=settings.dropout,
        )
        return cls(settings, task, model)

    @override
    def fit_first(self) -> None:
        """The scale of each channel."""
        train = self.task.parts.train
        self.model.set_scale(torch.from_numpy(train.values), torch.from_numpy(train.lengths))

    @property
    def batch(self) -> int:
        """Series in a batch: fewer are taken whole."""
        return min(self.settings.batch, len(self.task.parts.train.targets))

    @override
    def batches(self, rank: int, world: int) -> "SeriesBatches":
        return SeriesBatches(self.task.parts.train, self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: SeriesRows) -> Tensor:
        """Mean of −log p(class | series) over the batch, in nats."""
        values, lengths = model_arguments(model, batch)
        strength = self.settings.augment
        outputs = model(changed(values, lengths, strength) if strength else values, lengths)
        return nn.functional.cross_entropy(outputs.float(), torch.from_numpy(batch.targets).to(outputs.device))

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        rows = self.task.parts.validation
        return {} if rows is None else self.task.metrics(class_probabilities(model, rows), rows)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units, job.whole = self.batch, None  # every evaluation is of the whole validation part
        return job

    def outputs(self, rows: SeriesRows) -> Float[np.ndarray, "n c"]:
        """P(label) of some series."""
        return class_probabilities(self.model, rows)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Some series as the model takes them."""
        rows, words = self.task.series_to_show(given)
        count = len(rows.targets)
        if count > SHOWN:
            words, rows = f"the first {SHOWN} of {count:,} {words}", rows.take(np.arange(SHOWN))
        values, lengths = model_arguments(self.model, rows)
        steps = tuple(map(str, range(int(rows.lengths[0]) if count else 0)))
        return Subject((values,) if lengths is None else (values, lengths), words, steps=steps)


class SeriesBatches(Batches[SeriesRows]):
    """Series in batches, every one once in each epoch, padded to the longest of the batch."""

    def __init__(self, rows: SeriesRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.rows = rows
        self.order = ShuffledRows(len(rows.targets), batch, seed)

    @override
    def at(self, step: int) -> SeriesRows:
        whole = self.order.at(step)
        steps = int(self.rows.lengths[whole].max())
        rows = self.rows.take(self.share(whole))
        return rows._replace(values=rows.values[:, :steps])


def model_arguments(model: nn.Module, rows: SeriesRows) -> tuple[Tensor, Tensor | None]:
    """Values and lengths on the model's device; lengths only where they differ, as the pass without is shorter."""
    device = next(model.parameters()).device
    lengths = None if (rows.lengths == rows.values.shape[1]).all() else torch.from_numpy(rows.lengths).to(device)
    return torch.from_numpy(rows.values).to(device), lengths


def changed(values: Tensor, lengths: Tensor | None, strength: float) -> Tensor:
    """Other series of the same class: a little noise, another size, another speed. ``strength`` 1 is the usual."""
    values = jitter(values, 0.05 * strength, lengths)
    return time_warp(scaling(values, 0.1 * strength), 0.2 * strength, lengths=lengths)


@torch.no_grad()
def class_probabilities(model: nn.Module, rows: SeriesRows) -> Float[np.ndarray, "n c"]:
    """P(label) of any number of series."""
    parts = []
    for first in range(0, len(rows.targets), _TOGETHER):
        here = rows.take(np.arange(first, min(first + _TOGETHER, len(rows.targets))))
        parts.append(model(*model_arguments(model, here)).float().cpu())
    return torch.cat(parts).softmax(-1).double().numpy()
