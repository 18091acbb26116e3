r"""The task of classifying whole series: gestures, heartbeats, machines, shapes, each with one class.

P(label)      a row for each series, by a learner (`classifier_learner.py`)
metrics       mean −log P of the true label, accuracy, the mean of the classes' F1
baseline      the class of the training series that is nearest, ‖x − y‖, all stretched to one length
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int

from cutaway.atomic_files import read_json, write_json
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.series.labelled_series import (
    LabelledSeries,
    SeriesRows,
    as_rows,
    expect_channels,
    read_labelled_series,
)
from cutaway.data.series.wide_and_long import load_series
from cutaway.extras import need
from cutaway.overriding import override
from cutaway.tasks.classes import class_metrics, label_rows
from cutaway.tasks.subjects import SHOWN
from cutaway.tasks.task import Files, Task

if TYPE_CHECKING:
    import pandas

CLASSES = "classes.json"  # in the run folder
_TOGETHER = 256  # series that are compared with those of training at a time


class SeriesClasses(Task):
    """Series with a class each, from a table or a .ts file; they may be of different lengths."""

    kind: ClassVar[str] = "series/classify"
    figure = "accuracy"
    more_is_better = True
    parts: LabelledSeries

    @override
    def read_parts(self) -> LabelledSeries:
        settings = self.settings
        return read_labelled_series(
            settings.data,
            target=settings.target,
            group=settings.series,
            time=settings.time,
            validation=settings.validation,
            test=settings.test_file or settings.test,
            seed=settings.seed,
            encoding=settings.encoding,
            header=settings.header,
        )

    @override
    def count(self) -> int:
        return len(self.parts.train.targets)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The labels and channels, and what the file had as columns."""
        if self.run is not None:
            return read_json(self.file_of_run(CLASSES, "of series"), "labels", "channels", "target", "columns")
        parts = self.parts
        return {
            "labels": list(parts.labels),
            "channels": list(parts.channels),
            "target": parts.target,
            "columns": parts.columns,
            "left_out": list(parts.left_out),
        }

    @property
    def labels(self) -> Sequence[str]:
        return self.columns["labels"]

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts()
        if self.parts.validation is not None:
            facts["baseline"] = self.baseline(self.parts.validation)
        return facts

    @override
    def files(self) -> Files:
        return {CLASSES: lambda path: write_json(path, self.columns)}

    def baseline(self, rows: SeriesRows) -> dict[str, Any]:
        """A rule in words, and its metrics on some series."""
        return neighbour_baseline(self.parts.train, rows)

    def metrics(self, p: Float[np.ndarray, "n c"], rows: SeriesRows) -> dict[str, float]:
        """Loss, accuracy and macro F1 of P(label)."""
        return class_metrics(p, rows.targets)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside the accuracy of the baseline."""
        rows = self.parts.open_test()
        naive = self.baseline(rows)["metrics"]
        return self.metrics(learner.outputs(rows), rows) | {"baseline_accuracy": naive["accuracy"]}

    # What a person gives, and what they get.

    def inputs(self, source: Any) -> SeriesRows:
        """New series, read as those of training were; their classes, if they have any, are not looked at."""
        known, settings = self.columns, self.settings
        trained = known["target"], known["columns"], known.get("left_out", ())
        raw = load_series(
            source, "", settings.series, settings.time, settings.encoding, settings.header, trained=trained
        )
        expect_channels(raw.channels, known["channels"], source if isinstance(source, str) else "the table")
        rows = as_rows(raw.values, None, self.labels, "the series")
        numbers: dict[Any, int] = {label: number for number, label in enumerate(self.labels)}
        return rows._replace(targets=np.array([numbers.get(label, -1) for label in raw.labels]))

    def answers(self, p: Float[np.ndarray, "n c"], rows: SeriesRows) -> "pandas.DataFrame":
        """The class of each series and P(label) for every label."""
        pd = need("pandas", "tables", "predicting for series")
        return pd.DataFrame(label_rows([{} for _ in p], "class", self.labels, p))

    def series_to_show(self, given: str | None) -> tuple[SeriesRows, str]:
        """Series for a look and what they are: those of a file, else one of each class, if possible not trained on."""
        if given is not None:
            return self.inputs(given), "your series"
        rows, words = self.parts.train, "series that it was trained on"
        if self.parts.validation is not None:
            rows, words = self.parts.validation, "series that it was not trained on"
        return rows.take(choose_each(rows.targets)), f"one of each class, {words}"


def choose_each(targets: Int[np.ndarray, "n"], most: int = SHOWN) -> Int[np.ndarray, "m"]:
    """The first series of every class."""
    _, first = np.unique(targets, return_index=True)
    return first[:most]


def neighbour_baseline(train: SeriesRows, rows: SeriesRows) -> dict[str, Any]:
    """What one reaches without a model: the class of the nearest training series."""
    steps = max(train.values.shape[1], rows.values.shape[1])
    known, asked = (torch.from_numpy(_stretched(part, steps)).flatten(1) for part in (train, rows))
    nearest = torch.cat([torch.cdist(part, known).argmin(1) for part in asked.split(_TOGETHER)])
    predicted, targets = torch.from_numpy(train.targets)[nearest], torch.from_numpy(rows.targets)
    metrics = {"accuracy": accuracy(predicted, targets), "macro_f1": macro_f1(predicted, targets)}
    return {"rule": "the class of the nearest training series (Euclidean)", "metrics": metrics}


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
