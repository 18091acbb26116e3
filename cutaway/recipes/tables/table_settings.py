r"""What the recipes for tables share: reading and showing the table, training by its task, predicting its labels.

table → schema → numbers and ids → TableNet → values or logits → labels, probabilities, numbers in their units
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakValueDictionary

from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_share
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.tasks.tables.row_vectors import RowVectors

if TYPE_CHECKING:
    import pandas
    from torch import Tensor, nn

    from cutaway.data.tables.encoding import Encoded
    from cutaway.data.tables.reading import Table
    from cutaway.data.tables.schema import Schema
    from cutaway.models.tables import TableNet, TableNetSpec
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

ALL_TASKS = ("regression", "binary", "multi-class", "multi-label")
_IN_USE: "WeakValueDictionary[tuple[Any, ...], Table]" = WeakValueDictionary()


@dataclass(frozen=True)
class TableRecipe(RowVectors, Recipe):
    """A model of the rows of a table."""

    input_is_file: ClassVar[bool] = True
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    prediction: ClassVar[str] = (
        "rows in; the target out, and for classes P(label) for every label; categories that training never saw and "
        "empty fields are fine, a column that is not there is not"
    )
    # What the table asks for → what the model does.
    heads: ClassVar[dict[str, str]] = {task: task for task in ALL_TASKS}
    others: ClassVar[str] = "mlp"  # recipes for tasks that this one is not for
    probable: ClassVar[bool] = True  # whether its outputs tell probabilities

    data: str = "iris"  # in Python a DataFrame, too, or a dict of columns
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    target: str = setting("", FIRST)
    """the column to predict; several with commas between (default: one called target, label or class, else the last)"""
    task: Literal["auto", "regression", "binary", "multi-class", "multi-label"] = setting("auto", DATA)
    """what the target asks for: auto finds it"""
    validation: float = setting(0.1, DATA)
    """share of the rows to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the rows for `cutaway test`; 0 for none"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test rows of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs rows to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    def spec(self, table: "Table") -> "TableNetSpec":
        """The model's design."""
        raise self._cannot("be trained")

    def objective(self, table: "Table") -> Any:
        """The cost of a batch of rows: a function of the model and the batch."""
        from cutaway.tasks.tables.predict import row_cost

        return row_cost

    def start(self, model: "TableNet", table: "Table") -> None:
        """What a new model takes from the training rows before the first step."""

    # ------------------------------------------------------------------------------------------------------------------

    def table(self, run: "Run | None" = None) -> "Table":
        """The table in its three parts, with its schema; that of a ``run`` must be as it was."""
        table = self._fitting(self.test_file)
        if run is not None:
            run.expect_same_data(table.fingerprint)
        return table

    def _fitting(self, test_file: str) -> "Table":
        table = self._read(self.task, test_file)
        if table.schema.task in self.heads:
            return table
        if self.task == "auto" and self.heads == {"regression": "regression"} and _are_numbers(table.schema):
            return self._read("regression", test_file)  # whole numbers with few different values are numbers too
        names = ", ".join(column.name for column in table.schema.targets)
        raise ValueError(
            f"{self.name} is for {' and '.join(self.heads)} targets, got {names!r}, which is {table.schema.task}; "
            f"choose another --target, or train {self.others}"
        )

    def _read(self, task: str, test_file: str) -> "Table":
        """The table by these settings; one that is in use, such as the one that is trained on, is not read again."""
        if not os.path.isfile(self.data):
            return self._read_again(task, test_file)
        status = os.stat(self.data)
        settings = (self.target, task, self.validation, test_file or self.test, self.seed, self.encoding, self.header)
        key = (os.path.abspath(self.data), status.st_size, status.st_mtime_ns, *settings)
        table = _IN_USE.get(key)
        if table is None:
            table = _IN_USE[key] = self._read_again(task, test_file)
        return table

    def _read_again(self, task: str, test_file: str) -> "Table":
        from cutaway.data.tables.reading import read_table

        return read_table(
            self.data,
            target=self.target or None,
            task=None if task == "auto" else task,
            validation=self.validation,
            test=test_file or self.test,
            seed=self.seed,
            encoding=self.encoding,
            header=self.header,
        )

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.atomic_files import write_json
        from cutaway.models.tables import TableNet
        from cutaway.tasks.tables.baselines import baseline_metric, constant_baseline, figure_of
        from cutaway.tasks.tables.predict import RowBatches
        from cutaway.training.jobs import Job

        table = self.table()
        torch.manual_seed(self.seed)
        model = TableNet(self.spec(table))
        self.start(model, table)
        batch = min(self.batch, len(table.train.numbers))
        told = {"summary": table.summary(), "fingerprint": table.fingerprint.to_dict(), "source": self.data}
        files: dict[str, Callable[[Path], None]] = {
            "schema.json": lambda path: write_json(path, table.schema.to_dict()),
        }
        if table.validation is not None:
            told["baseline"] = constant_baseline(model.head, table.schema, table.validation)

        def measured(model: "nn.Module") -> dict[str, float]:
            return {} if table.validation is None else self.measure(model, table.validation, table.schema)

        def measured_beside_baseline(model: "nn.Module") -> dict[str, float]:
            naive = {} if table.validation is None else baseline_metric(model.head, table.schema, table.validation)
            return measured(model) | naive

        figure, more_is_better = figure_of(model.head, table.schema)
        return Job(
            model=model,
            batches=RowBatches(table.train, batch, self.seed, rank, world),
            objective=self.objective(table),
            evaluate=measured,
            whole=measured_beside_baseline,
            units=batch,
            files=files,
            data=told,
            better=figure,
            more_is_better=more_is_better,
        )

    def smaller(self) -> str:
        return f"lower batch={self.batch}"

    def losses(self, model: "TableNet", outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The loss of every row, as shown; the objective may be another."""
        return model.head.loss(outputs, targets)

    def measure(self, model: "nn.Module", rows: "Encoded", schema: "Schema") -> dict[str, float]:
        """Loss and metrics of the task on some rows; for a single number also its error in its own unit."""
        import torch

        from cutaway.tasks.tables.baselines import score
        from cutaway.tasks.tables.predict import outputs_of

        outputs, targets = outputs_of(model, rows), torch.from_numpy(rows.targets)
        head: Any = model.head
        found = {"loss": self.losses(model, outputs, targets).mean().item()}  # type: ignore[arg-type]
        found |= score(head, head.predict(outputs), targets)
        if schema.task == "regression" and len(schema.targets) == 1:
            found["rmse"] = found["loss"] ** 0.5 * schema.targets[0].std
        return found

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.tables.baselines import baseline_metric

        table, model = self.table(run), run.model
        rows = table.open_test()
        return self.measure(model, rows, table.schema) | baseline_metric(model.head, table.schema, rows)

    def predict(self, run: "Run", inputs: Any) -> "pandas.DataFrame":
        """Predictions for a DataFrame, a CSV or Parquet file, or a list of dicts; probabilities too, if it has them."""
        from cutaway.tasks.tables.predict import describe, encode_rows, outputs_of, read_rows, schema_of

        schema = schema_of(run)
        frame = read_rows(schema, inputs, self.encoding)
        outputs = outputs_of(run.model, encode_rows(schema, frame))
        return describe(schema, run.model.head, outputs, frame.index, self.probable)

    def model_rows(self, run: "Run", frame: "pandas.DataFrame") -> tuple[Any, ...]:
        from cutaway.tasks.tables.predict import encode_rows, schema_of

        return encode_rows(schema_of(run), frame)[:2]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Rows of a file; without one, rows that it was not trained on (or was, if there are no others)."""
        from cutaway.tasks.subjects import row_subject
        from cutaway.tasks.tables.predict import encode_rows, read_rows, schema_of

        if given is not None:
            schema = schema_of(run)
            return row_subject(run, encode_rows(schema, read_rows(schema, given, self.encoding)), "your rows")
        table = self.table(run)
        if table.validation is None:
            return row_subject(run, table.train, "rows that it was trained on")
        return row_subject(run, table.validation, "rows that it was not trained on")


def _are_numbers(schema: "Schema") -> bool:
    """Whether the labels of classes are numbers, which could be predicted as such."""
    from cutaway.data.tables.numerals import is_code, read_notation

    notation = read_notation(schema.targets[0].format)
    texts = [label for label in schema.labels if isinstance(label, str)]
    return bool(schema.labels) and not any(is_code(text) or notation.number(text) is None for text in texts)
