r"""Series into a classifier and back out: batches, the cost, metrics, and the nearest training series as a baseline.

baseline: a series has the class of the training series that is nearest to it, ‖x − y‖, all stretched to one length
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.atomic_files import read_json
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.series.labelled_series import SeriesRows, as_rows, expect_channels
from cutaway.data.series.wide_and_long import load_series
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.training.augmentation.series import jitter, scaling, time_warp

if TYPE_CHECKING:
    from cutaway.recipes.base import Recipe
    from cutaway.runs.run import Run

_TOGETHER = 256  # series evaluated in one pass


class SeriesBatches(Batches[SeriesRows]):
    """Series in batches, every one once in each epoch, padded to the longest of the batch."""

    def __init__(self, rows: SeriesRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.rows = rows
        self.order = ShuffledRows(len(rows.targets), batch, seed)

    def at(self, step: int) -> SeriesRows:
        whole = self.order.at(step)
        steps = int(self.rows.lengths[whole].max())
        found = self.rows.take(self.share(whole))
        return SeriesRows(found.values[:, :steps], found.lengths, found.targets)


def _arguments(model: nn.Module, rows: SeriesRows) -> tuple[Tensor, Tensor | None]:
    """What the model is given; lengths only where they differ, as the way without is shorter."""
    device = next(model.parameters()).device
    lengths = None if (rows.lengths == rows.values.shape[1]).all() else torch.from_numpy(rows.lengths).to(device)
    return torch.from_numpy(rows.values).to(device), lengths


def series_cost(model: nn.Module, rows: SeriesRows, augment: float = 0.0) -> Tensor:
    """Mean of −log p(class | series) over the batch, in nats; ``augment`` changes the series first."""
    values, lengths = _arguments(model, rows)
    outputs = model(changed(values, lengths, augment) if augment else values, lengths)
    return nn.functional.cross_entropy(outputs.float(), torch.from_numpy(rows.targets).to(outputs.device))


def changed(values: Tensor, lengths: Tensor | None, strength: float) -> Tensor:
    """Other series of the same class: a little noise, another size, another speed. ``strength`` 1 is the usual."""
    values = jitter(values, 0.05 * strength, lengths)
    return time_warp(scaling(values, 0.1 * strength), 0.2 * strength, lengths=lengths)


@torch.no_grad()
def series_outputs(model: nn.Module, rows: SeriesRows) -> Float[Tensor, "n classes"]:
    """The logits of any number of series, on the CPU."""
    parts = []
    for first in range(0, len(rows.targets), _TOGETHER):
        here = rows.take(np.arange(first, min(first + _TOGETHER, len(rows.targets))))
        parts.append(model(*_arguments(model, here)).float().cpu())
    return torch.cat(parts)


def series_metrics(model: nn.Module, rows: SeriesRows) -> dict[str, float]:
    """Loss, accuracy and macro F1."""
    outputs, targets = series_outputs(model, rows), torch.from_numpy(rows.targets)
    predicted = outputs.argmax(-1)
    return {
        "loss": nn.functional.cross_entropy(outputs, targets).item(),
        "accuracy": accuracy(predicted, targets),
        "macro_f1": macro_f1(predicted, targets),
    }


def neighbour_baseline(train: SeriesRows, rows: SeriesRows) -> dict[str, Any]:
    """What one reaches without a model: the class of the nearest training series."""
    steps = max(train.values.shape[1], rows.values.shape[1])
    known, asked = (torch.from_numpy(_stretched(part, steps)).flatten(1) for part in (train, rows))
    nearest = torch.cat([torch.cdist(part, known).argmin(1) for part in asked.split(_TOGETHER)])
    predicted, targets = torch.from_numpy(train.targets)[nearest], torch.from_numpy(rows.targets)
    found = {"accuracy": accuracy(predicted, targets), "macro_f1": macro_f1(predicted, targets)}
    return {"rule": "the class of the nearest training series (Euclidean)", "metrics": found}


def _stretched(rows: SeriesRows, steps: int) -> Float[np.ndarray, "n s c"]:
    """Series of different lengths, each drawn out to the same one."""
    if (rows.lengths == steps).all():
        return rows.values
    out = np.empty((len(rows.targets), steps, rows.values.shape[2]), np.float32)
    for i, n in enumerate(rows.lengths):
        places = np.linspace(0, n - 1, steps)
        for j in range(out.shape[2]):
            out[i, :, j] = np.interp(places, np.arange(n), rows.values[i, :n, j])
    return out


def classes_of(run: "Run") -> dict[str, Any]:
    """The names of the classes and channels that a run was trained with."""
    path = run.file("classes.json")
    if path is None:
        raise ValueError(f"a run of series needs classes.json, got none in {run.path}; take the folder from a copy")
    return read_json(path, "labels", "channels", "target", "columns")


def read_new_series(recipe: "Recipe", run: "Run", inputs: Any) -> SeriesRows:
    """New series, read as those of training were; their classes, if they have any, are not looked at."""
    known, settings = classes_of(run), recipe.to_dict()
    raw = load_series(
        inputs,
        "",
        settings["series"],
        settings["time"],
        settings["encoding"],
        settings["header"],
        trained=(known["target"], known["columns"], known.get("left_out", ())),
    )
    expect_channels(raw.channels, known["channels"], str(inputs) if isinstance(inputs, str) else "the table")
    labels = [label if label in known["labels"] else None for label in raw.labels]
    rows = as_rows(raw.values, None, known["labels"], "the series")
    targets = np.array([-1 if label is None else known["labels"].index(label) for label in labels])
    return SeriesRows(rows.values, rows.lengths, targets)


def choose_each(targets: Int[np.ndarray, "n"], most: int = SHOWN) -> Int[np.ndarray, "m"]:
    """The first series of every class."""
    _, first = np.unique(targets, return_index=True)
    return first[:most]


def series_subject(run: "Run", rows: SeriesRows, words: str) -> Subject:
    """Some series for their model."""
    count = len(rows.targets)
    if count > SHOWN:
        words, rows = f"the first {SHOWN} of {count:,} {words}", rows.take(np.arange(SHOWN))
    values, lengths = _arguments(run.model, rows)
    steps = tuple(map(str, range(int(rows.lengths[0]) if count else 0)))
    return Subject((values,) if lengths is None else (values, lengths), words, steps=steps)
