r"""The task of predicting columns of a table: rows in three parts, metrics, answers in its own labels and units.

table → schema → rows as numbers and ids → (a learner) → outputs → labels, P(label), numbers in their units

`linear`, `logistic`, `softmax`, `perceptron` and `mlp` learn it from nothing (`rows.py`), `cutaway tune BASE --task
table` by a model that has learned to restore the cells of tables like it.
"""

import os
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from cutaway.atomic_files import read_json, write_json
from cutaway.data.tables.cells import encode_labelled_cells
from cutaway.data.tables.encoding import Encoded, decode, encode
from cutaway.data.tables.numerals import is_code, read_notation
from cutaway.data.tables.reading import Table, read_table
from cutaway.data.tables.schema import MISSING, UNSEEN, Column, Schema
from cutaway.data.tables.table_files import as_frame, load_rows
from cutaway.extras import need
from cutaway.overriding import override
from cutaway.tasks.tables.baselines import baseline_metric, constant_baseline, figure_of, score
from cutaway.tasks.task import Files, Task

if TYPE_CHECKING:
    import pandas

SCHEMA, CELLS = "schema.json", "cells.json"  # in the run folder; cells: the schema of a base, by which rows are read
_IN_USE: "WeakValueDictionary[tuple[Any, ...], Table]" = WeakValueDictionary()


class TablePrediction(Task):
    """Rows with a target: a number, classes, or labels.

    With ``cells``, the schema of a base, rows are encoded as its cells, and the target is hidden from them.
    """

    kind: ClassVar[str] = "tables/predict"
    parts: Table

    def __init__(self, settings: Any, run: Any = None, cells: Schema | None = None) -> None:
        super().__init__(settings, run)
        if cells is None and run is not None and (path := run.file(CELLS)) is not None:
            cells = Schema.from_dict(read_json(path, "version"))
        self.cells = cells

    @override
    def read_parts(self) -> Table:
        """The table; one whose target is not what the recipe is for is refused."""
        settings, asked = self.settings, self.settings.target_task
        table = self._read(asked)
        heads = getattr(settings, "heads", None)
        if heads is None or table.schema.task in heads:
            return table
        if asked == "auto" and heads == {"regression": "regression"} and _are_numbers(table.schema):
            return self._read("regression")  # whole numbers with few different values are numbers too
        names = ", ".join(column.name for column in table.schema.targets)
        raise ValueError(
            f"{settings.name} is for {' and '.join(heads)} targets, got {names!r}, which is {table.schema.task}; "
            f"choose another --target, or train {settings.others}"
        )

    def _read(self, asked: str) -> Table:
        """The table by these settings; one that is in use, such as the one that is trained on, is not read again."""
        s = self.settings
        if self.cells is not None or not os.path.isfile(s.data):
            return self._read_again(asked)
        status = os.stat(s.data)
        settings = (s.target, asked, s.validation, s.test_file or s.test, s.seed, s.encoding, s.header)
        key = (os.path.abspath(s.data), status.st_size, status.st_mtime_ns, *settings)
        table = _IN_USE.get(key)
        if table is None:
            table = _IN_USE[key] = self._read_again(asked)
        return table

    def _read_again(self, asked: str) -> Table:
        settings = self.settings
        as_cells: dict[str, Callable[..., Any]] = {}
        if self.cells is not None:
            as_cells["encode"] = partial(encode_labelled_cells, cells=self.cells)
        return read_table(
            settings.data,
            target=settings.target or None,
            task=None if asked == "auto" else asked,
            validation=settings.validation,
            test=settings.test_file or settings.test,
            seed=settings.seed,
            encoding=settings.encoding,
            header=settings.header,
            **as_cells,
        )

    @cached_property
    def schema(self) -> Schema:
        """The columns, and how the target is read and written."""
        return self.parts.schema if self.run is None else schema_of(self.run)

    @override
    def count(self) -> int:
        train: Any = self.parts.splits.train
        return train.size if self.cells is not None else len(train.numbers)

    @override
    def facts(self) -> dict[str, Any]:
        return super().facts() | {"source": str(self.settings.data)}

    @override
    def files(self) -> Files:
        schema, cells = self.schema, self.cells
        files: Files = {SCHEMA: lambda path: write_json(path, schema.to_dict())}
        if cells is not None:
            files[CELLS] = lambda path: write_json(path, cells.to_dict())
        return files

    def baseline(self, head: Any, rows: Any) -> dict[str, Any]:
        """The rule of a constant answer in words, and its metrics on some rows."""
        return constant_baseline(head, self.schema, rows)

    def figure_by(self, head: Any) -> tuple[str, bool]:
        """The figure that chooses the weights, and whether more of it is better."""
        return figure_of(head, self.schema)

    def metrics(self, head: Any, outputs: Tensor, rows: Any, losses: Tensor | None = None) -> dict[str, float]:
        """Loss and metrics of the target's kind; for a single number also its error in its own unit.

        ``losses`` are those of rows where they are not the head's own.
        """
        targets = torch.from_numpy(rows.targets)
        losses = head.loss(outputs, targets) if losses is None else losses
        metrics = {"loss": losses.mean().item()} | score(head, head.predict(outputs), targets)
        if self.schema.task == "regression" and len(self.schema.targets) == 1:
            metrics["rmse"] = metrics["loss"] ** 0.5 * self.schema.targets[0].std
        return metrics

    def naive_metric(self, head: Any, rows: Any) -> dict[str, float]:
        """The metric of the constant answer, to stand beside the model's."""
        return baseline_metric(head, self.schema, rows)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        rows: Any = self.parts.open_test() if self.cells is None else self.parts.splits.open_test()
        return learner.measure(learner.model, rows) | self.naive_metric(learner.model.head, rows)

    def inputs(self, source: Any) -> "pandas.DataFrame":
        """Rows of a person: a DataFrame, the path of a CSV or Parquet file, a dict of values or columns, or dicts."""
        return read_rows(self.schema, source, self.settings.encoding)

    def answers(self, outputs: tuple[Any, Tensor], rows: "pandas.DataFrame") -> "pandas.DataFrame":
        """The target's columns, and P(label) for every label; ``outputs`` are a head and what it scores."""
        return describe(self.schema, *outputs, rows.index, getattr(self.settings, "probable", True))

    def rows_to_show(self) -> tuple[Any, str]:
        """Rows that a model was not trained on, and what they are; those of training if there are no others."""
        held = self.parts.splits.validation
        if held is None:
            return self.parts.splits.train, "rows that it was trained on"
        return held, "rows that it was not trained on"


def _are_numbers(schema: Schema) -> bool:
    """Whether the labels of classes are numbers, which could be predicted as such."""
    notation = read_notation(schema.targets[0].format)
    texts = [label for label in schema.labels if isinstance(label, str)]
    return bool(schema.labels) and not any(is_code(text) or notation.number(text) is None for text in texts)


def schema_of(run: Any) -> Schema:
    """The schema that a run was trained by."""
    path = run.file(SCHEMA)
    if path is None:
        raise ValueError(f"a run of a table needs its schema.json, got {run.path} without it; take it from a copy")
    return Schema.from_dict(read_json(path, "version"))


def read_rows(schema: Schema, inputs: Any, encoding: str = "utf-8") -> "pandas.DataFrame":
    """Rows to predict for: a DataFrame, the path of a CSV or Parquet file, a dict of values or columns, or dicts."""
    pd = need("pandas", "tables", "predicting for the rows of a table")
    if isinstance(inputs, pd.DataFrame):
        return inputs
    if isinstance(inputs, (str, os.PathLike)):
        return load_rows(schema, inputs, encoding)
    if isinstance(inputs, dict) and inputs and all(isinstance(v, (list, tuple, np.ndarray)) for v in inputs.values()):
        return as_frame(inputs)
    rows = [inputs] if isinstance(inputs, dict) else inputs
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f"rows must be a DataFrame, the path of a table, or a list of dicts, got {type(inputs).__name__}; "
            "give each row as {column: value}"
        )
    return pd.DataFrame(list(rows)) if rows else pd.DataFrame(columns=[column.name for column in schema.columns])


def encode_rows(schema: Schema, frame: "pandas.DataFrame") -> Encoded:
    """New rows as arrays; their targets, if they have any, are not looked at."""
    targets = [column.name for column in schema.targets]
    rows = encode(schema, frame.drop(columns=targets, errors="ignore").reset_index(drop=True))
    # A gap where training had none is like a category that it never saw: no vector was learned for it.
    full = np.array([column.missing == 0 for column in schema.categories], dtype=bool)
    return rows._replace(categories=np.where(full & (rows.categories == MISSING), UNSEEN, rows.categories))


def describe(
    schema: Schema, head: Any, outputs: Tensor, index: Any = None, probabilities: bool = True
) -> "pandas.DataFrame":
    """Predictions as a person reads them: the target's columns, and P(label) for every label."""
    pd = need("pandas", "tables", "predicting for the rows of a table")
    predicted = head.predict(outputs)
    names = [column.name for column in schema.targets]
    if schema.task == "multi-label":
        columns = {c.name: _as_written(c, predicted[:, j].numpy()) for j, c in enumerate(schema.targets)}
    elif len(names) == 1:
        columns = {names[0]: decode(schema, predicted.numpy())}
    else:
        columns = dict(zip(names, np.array(decode(schema, predicted.numpy())).reshape(-1, len(names)).T))
    if probabilities and schema.task != "regression":
        p = head.probabilities(outputs).double()
        if schema.task == "binary" and p.ndim == 1:
            p = torch.stack([1 - p, p], 1)
        columns |= {f"P({label})": p[:, j].numpy() for j, label in enumerate(schema.labels)}
    return pd.DataFrame(columns, index=index)


def _as_written(column: Column, yes: Any) -> Any:
    """Yes and no as the column of training had them: 0 and 1, True and False, or its own words."""
    if column.categories in ((), ("False", "True")):
        return yes
    return yes.astype(np.int64) if column.categories == ("0", "1") else np.where(yes, *reversed(column.categories))
