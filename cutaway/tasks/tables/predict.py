r"""Rows of a table into a model and back out: batches, costs, and predictions in the table's own labels and units."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.atomic_files import read_json
from cutaway.data.tables.encoding import Encoded, TableBatches, decode, encode
from cutaway.data.tables.schema import MISSING, UNSEEN, Column, Schema
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

    from cutaway.runs.run import Run

_ROWS = 4096  # evaluated or predicted at a time


class RowBatches(TableBatches):
    """Rows in batches; a batch that the whole table fits into is the whole table, in its order."""

    def at(self, step: int) -> Encoded:
        if self.world == 1 and self.batch >= len(self.table.numbers):
            return self.table
        return super().at(step)


def row_outputs(model: nn.Module, rows: Encoded) -> tuple[Tensor, Tensor]:
    """What the model says of rows, and their targets, both on the model's device."""
    assert rows.targets is not None
    device = next(model.parameters()).device
    numbers, ids, targets = (torch.from_numpy(x).to(device) for x in rows)
    return model(numbers, ids), targets


def row_cost(model: nn.Module, rows: Encoded) -> Tensor:
    """The mean loss of rows, by the task of the model's head."""
    outputs, targets = row_outputs(model, rows)
    head: Any = model.head
    return head.loss(outputs, targets).mean()


@torch.no_grad()
def outputs_of(model: nn.Module, rows: Encoded) -> Tensor:
    """What the model says of any number of rows, without gradients, on the CPU."""
    device = next(model.parameters()).device
    parts = []
    for first in range(0, max(1, len(rows.numbers)), _ROWS):
        numbers, ids = (torch.from_numpy(x[first : first + _ROWS]).to(device) for x in rows[:2])
        parts.append(model(numbers, ids).cpu())
    return torch.cat(parts)


def schema_of(run: "Run") -> Schema:
    """The schema that a run was trained by."""
    path = run.file("schema.json")
    if path is None:
        raise ValueError(f"a run of a table needs its schema.json, got {run.path} without it; take it from a copy")
    return Schema.from_dict(read_json(path, "version"))


def read_rows(schema: Schema, inputs: Any, encoding: str = "utf-8") -> "pandas.DataFrame":
    """Rows to predict for: a DataFrame, the path of a CSV or Parquet file, a dict of values or columns, or dicts."""
    pd = need("pandas", "tables", "predicting for the rows of a table")
    if isinstance(inputs, pd.DataFrame):
        return inputs
    if isinstance(inputs, (str, os.PathLike)):
        from cutaway.data.tables.table_files import load_rows

        return load_rows(schema, inputs, encoding)
    if isinstance(inputs, dict) and inputs and all(isinstance(v, (list, tuple, np.ndarray)) for v in inputs.values()):
        from cutaway.data.tables.table_files import as_frame

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


__all__ = [
    "RowBatches",
    "describe",
    "encode_rows",
    "outputs_of",
    "read_rows",
    "row_cost",
    "row_outputs",
    "schema_of",
]
