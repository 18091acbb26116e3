r"""Vectors of rows: what a model of a table knows of a row before it answers.

h = the last hidden layer;      alike(row, row') = cos(h, h')
"""

from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.atomic_files import parse_json
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas
    from torch import Tensor

    from cutaway.runs.run import Run

_ROWS = 4096  # embedded at a time


class RowVectors:
    """A mixin of recipes of tables. A recipe says by `model_rows` what its model is given for rows."""

    abilities: ClassVar[tuple[Offer, ...]] = (Offer("embed"),)

    encoding: str

    def model_rows(self, run: "Run", frame: "pandas.DataFrame") -> "tuple[Any, ...]":
        """Rows as arrays, in the order of the model's arguments."""
        raise ValueError(
            f"a run of {run.recipe.name!r} cannot embed rows; `cutaway list recipes` tells what each can do"
        )

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """A vector for each row of a DataFrame, a file, dicts, or JSON objects as texts."""
        import torch

        from cutaway.tasks.tables.predict import read_rows, schema_of

        frame = read_rows(schema_of(run), read_objects(inputs), self.encoding).reset_index(drop=True)
        model: Any = run.model
        device = next(model.parameters()).device
        parts = []
        with torch.no_grad():
            for first in range(0, len(frame), _ROWS):
                rows = self.model_rows(run, frame.iloc[first : first + _ROWS].reset_index(drop=True))
                parts.append(model.embed(*(torch.from_numpy(part).to(device) for part in rows)).float().cpu())
        if not parts:
            raise ValueError("a table to embed must have a row, got none; give it some")
        return torch.cat(parts)

    def embedded_items(
        self, run: "Run", source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], Any]]":
        """The rows of a table, called row 1, row 2 …, some thousand at a time."""
        from cutaway.tasks.tables.predict import read_rows, schema_of

        if column:
            raise ValueError(f"column is for tables of texts, got column={column!r} for a run of rows; leave it out")
        frame = read_rows(schema_of(run), source, encoding)
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


__all__ = ["RowVectors", "read_objects"]
