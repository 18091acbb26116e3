r"""Vectors of rows: what a model of a table knows of a row before it answers.

h = the last hidden layer;      alike(row, row') = cos(h, h')
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cutaway.atomic_files import parse_json
from cutaway.tasks.tables.predict import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas

_ROWS = 4096  # embedded at a time


class RowVectors:
    """A part of learners of tables. A learner says by `model_rows` what its model is given for rows."""

    task: Any
    model: Any

    def model_rows(self, frame: "pandas.DataFrame") -> tuple[Any, ...]:
        """Rows as arrays, in the order of the model's arguments."""
        raise ValueError(f"a learner embeds rows by what its model is given, got {type(self).__name__} without that")

    @torch.no_grad()
    def embed(self, inputs: Any) -> Tensor:
        """A vector for each row of a DataFrame, a file, dicts, or JSON objects as texts."""
        frame = self.task.inputs(read_objects(inputs)).reset_index(drop=True)
        device = next(self.model.parameters()).device
        parts = []
        for first in range(0, len(frame), _ROWS):
            rows = self.model_rows(frame.iloc[first : first + _ROWS].reset_index(drop=True))
            parts.append(self.model.embed(*(torch.from_numpy(part).to(device) for part in rows)).float().cpu())
        if not parts:
            raise ValueError("a table to embed must have a row, got none; give it some")
        return torch.cat(parts)

    def embedded_items(
        self, source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], pandas.DataFrame]]":
        """The rows of a table, called row 1, row 2 …, some thousand at a time."""
        if column:
            raise ValueError(f"column is for tables of texts, got column={column!r} for a run of rows; leave it out")
        frame = read_rows(self.task.schema, source, encoding)
        for first in range(0, len(frame), _ROWS):
            some = frame.iloc[first : first + _ROWS]
            yield [f"row {first + i + 1}" for i in range(len(some))], some

    def asked_item(self, question: str, names: "Sequence[str]") -> int | None:
        """The place of a row that is asked for by its number: 17, or row 17."""
        number = question.strip().removeprefix("row").strip()
        return int(number) - 1 if number.isdigit() and 0 < int(number) <= len(names) else None


def read_objects(inputs: Any) -> Any:
    """JSON objects, one a row, where rows are texts; all else as it is."""
    if not isinstance(inputs, (list, tuple)) or not any(isinstance(row, str) for row in inputs):
        return inputs
    rows = []
    for row in inputs:
        try:
            found = parse_json(row)
        except (ValueError, TypeError):
            found = None
        if not isinstance(found, dict):
            raise ValueError(
                f"a row must be its number among the rows, or a JSON object, got {row!r}; "
                'try "row 1" or \'{"column": value}\''
            )
        rows.append(found)
    return rows
