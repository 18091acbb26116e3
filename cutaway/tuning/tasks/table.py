r"""The task `table`: a column of a table, by a model that has learned to restore the cells of others like it."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, RESULTS, setting
from cutaway.tasks.tables.row_vectors import RowVectors
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    import pandas
    from torch import nn

    from cutaway.data.tables.cells import Cells
    from cutaway.data.tables.reading import Table
    from cutaway.data.tables.schema import Schema
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base

CELLS = "cells.json"  # in the run folder: the schema of the base, by which rows are read
# The head's was chosen on validation rows of Adult, the others are near ones tried there; that of adapters is not.
_RATES = {"lora": 1e-3, "adapter": 1e-3, "head_only": 1e-2, "last": 3e-4, "full": 3e-4}
_FEWEST, _MOST = 100, 2000  # steps


@dataclass(frozen=True)
class TunedTableRecipe(RowVectors, TunedRecipe):
    """Tunes a model of hidden cells (`masked-table`) to predict a column, for which few rows have a value.

    The rows are read as those of the base were; the column to predict may be one that the base never saw.
    """

    name: ClassVar[str] = "tuned-table"
    task: ClassVar[str] = "table"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    quality: ClassVar[str] = (
        "Adult's test file, head only, 50 labels: accuracy 0.819 (mlp from scratch 0.793, logistic regression 0.810); "
        "LoRA, 1,000 labels: 0.850 (0.845, 0.844). `python benchmarks/run.py few_label_table` measures it."
    )
    unit: ClassVar[str] = "nats a row; of numbers, of the target's variance"
    input_is_file: ClassVar[bool] = True
    prediction: ClassVar[str] = "rows in; the target out, and for classes P(label) for every label"

    data: str = setting("", FIRST, "PATH")  # in Python a DataFrame, too, or a dict of columns
    """a CSV or Parquet file with the columns of the base and the target"""
    target: str = setting("", FIRST, "COLUMN")
    """the column to predict (default: one called target, label or class, else the last)"""
    kind: Literal["auto", "regression", "binary", "multi-class", "multi-label"] = setting("auto", DATA)
    """what the target asks for: auto finds it"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test rows of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""

    batch: int = 128
    """rows in a batch"""
    epochs: float = setting(30.0, FIRST)
    """how often every row is seen; the steps are 100 at least and 2,000 at most"""
    rate: float = setting(0.0, FIRST)
    """full learning rate; 0 for one that suits the way: 0.001 for LoRA and adapters, 0.01 for a head, 0.0003 for last
    layers and all weights"""
    penalty: float = setting(30.0, OPTIMIZER)
    """pull of the head's weights towards zero, 1/C of scikit-learn's LogisticRegression: it fades as rows grow many"""
    final: Literal["best", "last"] = setting("last", RESULTS)
    """the weights that the run ends with: last, as few rows cannot tell which are best, or best by validation"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "penalty")

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import tables

        return tables(data)

    def settled(self, task: Any = None, base: Any = None) -> "TunedRecipe":
        new = super().settled(task, base)
        way = new.way
        if not self.rate:
            new = dataclasses.replace(new, rate=_RATES[way])
        if not self.steps:
            steps = min(max(new.steps, _FEWEST), _MOST)
            looks = self.evaluate_every or max(1, steps // 20)
            new = dataclasses.replace(new, steps=steps, warmup=self.warmup or steps // 16, evaluate_every=looks)
        return new

    def read(self, base: "Base") -> "Table":
        return self.table(cells_of_base(base))

    def table(self, cells: "Schema", run: "Run | None" = None) -> "Table":
        """The labelled rows in their three parts, as cells of the base's schema; those of a ``run`` as they were."""
        from cutaway.data.tables.cells import encode_labelled_cells
        from cutaway.data.tables.reading import read_table

        found = read_table(
            self.data,
            target=self.target or None,
            task=None if self.kind == "auto" else self.kind,
            validation=self.validation,
            test=self.test_file or self.test,
            seed=self.seed,
            encoding=self.encoding,
            header=self.header,
            encode=partial(encode_labelled_cells, cells=cells),
        )
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def count(self, data: "Table") -> int:
        train: Any = data.splits.train
        return train.size

    def headed(self, base: "Base", data: "Table") -> "nn.Module":
        from cutaway.blocks.losses.tasks import Task

        return base.model.with_task(Task(data.schema.task, data.schema.outputs))

    def task_job(self, model: "nn.Module", base: "Base", data: "Table", rank: int, world: int) -> "Job":
        from cutaway.atomic_files import write_json
        from cutaway.data.batches import ShuffledRows
        from cutaway.tasks.tables.baselines import constant_baseline, figure_of
        from cutaway.tasks.tables.labelled_cells import CellFeatures, cell_cost, cell_metrics
        from cutaway.training.jobs import Job

        train: Any = data.splits.train
        held: Any = data.splits.validation
        schema, cells = data.schema, cells_of_base(base)
        told: dict[str, Any] = {"fingerprint": data.fingerprint.to_dict(), "source": str(self.data)}
        seen = sorted({c.name for c in schema.targets} & {c.name for c in cells.columns if c.kind != "ignored"})
        note = (
            f"\nthe base has seen the column {seen[0]!r}: it is hidden here, but what it learned of it stays"
            if seen
            else ""
        )
        told["summary"] = data.summary() + note
        classes = schema.task in ("binary", "multi-class")
        told["loss_unit"] = "nats a row" if classes else "share of the target's variance"
        if held is not None:
            told["baseline"] = constant_baseline(model.head, schema, held)
        files: dict[str, Callable[[Path], None]] = {
            "schema.json": lambda path: write_json(path, schema.to_dict()),
            CELLS: lambda path: write_json(path, cells.to_dict()),
        }
        rows = CellFeatures(model, train) if self.head_only else train

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return {} if held is None else cell_metrics(m, held, schema)

        figure, more_is_better = figure_of(model.head, schema)
        return Job(
            model=model,
            batches=ShuffledRows(train.size, self.batch, self.seed, rank, world),
            objective=partial(cell_cost, rows=rows, penalty=self.penalty / train.size),
            evaluate=evaluate,
            whole=evaluate,
            units=self.batch,
            files=files,
            data=told,
            better=figure,
            more_is_better=more_is_better,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.tables.baselines import baseline_metric
        from cutaway.tasks.tables.labelled_cells import cell_metrics

        data = self.table(cells_of_run(run), run)
        rows: Any = data.splits.open_test()
        return cell_metrics(run.model, rows, data.schema) | baseline_metric(run.model.head, data.schema, rows)

    def predict(self, run: "Run", inputs: Any) -> "pandas.DataFrame":
        """Predictions for a DataFrame, a CSV or Parquet file, or a list of dicts; probabilities too, of classes."""
        from cutaway.tasks.tables.masked_cells import scores_of
        from cutaway.tasks.tables.predict import describe, schema_of

        cells, frame = self.new_cells(run, inputs)
        return describe(schema_of(run), run.model.head, scores_of(run.model, cells), frame.index)

    def new_cells(self, run: "Run", inputs: Any) -> "tuple[Cells, pandas.DataFrame]":
        """New rows as cells, and as they came."""
        from cutaway.data.tables.cells import encode_cells
        from cutaway.data.tables.encoding import tidy
        from cutaway.tasks.tables.predict import read_rows, schema_of

        schema = schema_of(run)
        frame = read_rows(schema, inputs, self.encoding)
        names = [column.name for column in schema.targets]
        return encode_cells(cells_of_run(run), tidy(frame.reset_index(drop=True)), unknown=names), frame

    def model_rows(self, run: "Run", frame: "pandas.DataFrame") -> tuple[Any, ...]:
        return self.new_cells(run, frame)[0][:3]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Rows of a file; without one, rows that it was not trained on (or was, if there are no others)."""
        import torch

        from cutaway.tasks.subjects import SHOWN, Subject

        if given is not None:
            cells, words = self.new_cells(run, given)[0], "your rows"
        else:
            data = self.table(cells_of_run(run), run)
            train: Any = data.splits.train
            held: Any = data.splits.validation
            cells = train if held is None else held
            words = "rows that it was " + ("trained on" if held is None else "not trained on")
        if not cells.size:
            raise ValueError("a table to look at must have a row, got none; give it some")
        device = next(run.model.parameters()).device
        return Subject(tuple(torch.from_numpy(part).to(device) for part in cells.take(slice(0, SHOWN))[:3]), words)


def cells_of_base(base: "Base") -> "Schema":
    """The columns that a base was trained on: of a run tuned before, those of its own base."""
    return _cells(base.file(CELLS) or base.file("schema.json"), base.path)


def cells_of_run(run: "Run") -> "Schema":
    """The columns that the base of a run was trained on."""
    return _cells(run.file(CELLS), str(run.path))


def _cells(path: Path | None, place: str) -> "Schema":
    from cutaway.atomic_files import read_json
    from cutaway.data.tables.schema import Schema

    if path is None:
        raise ValueError(f"a model of cells needs the schema of its table, got {place} without it; take it from a copy")
    return Schema.from_dict(read_json(path, "version"))


__all__ = ["CELLS", "TunedTableRecipe", "cells_of_base", "cells_of_run"]
