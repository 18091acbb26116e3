r"""Views of a model that restores cells: how well each column is restored, and which column tells of which."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from cutaway.data.tables.cells import Cells, cell_columns
from cutaway.data.tables.schema import Column
from cutaway.look import heatmap
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short
from cutaway.models.cells import CellNet
from cutaway.runs.views.table_results import agreement, confusion
from cutaway.tasks.subjects import Subject
from cutaway.tasks.tables.masked_cells import (
    ColumnScore,
    column_outcomes,
    column_scores,
    outcome_frequencies,
    scores_of,
    true_outcomes,
)

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_SHOWN = 30  # columns
_ROWS = 500  # that importance is measured on
_WIDEST = 24  # letters of a column's name


def restores_cells(run: "Run") -> bool:
    """Runs of models that restore the cells of a table."""
    return isinstance(run.model, CellNet) and run.model.restore is not None


def _rows(run: "Run") -> tuple[CellNet, tuple[Column, ...], Cells, list[torch.Tensor], str]:
    model: Any = run.model
    table = run.task.parts
    cells = table.train if table.validation is None else table.validation
    words = "trained on" if table.validation is None else "not trained on"
    return model, cell_columns(table.schema), cells, outcome_frequencies(model, table.train), words


def restored_columns(run: "Run", subject: Subject) -> list[Picture]:
    """How much of each column the others of a row tell, with its accuracy or R² beside the naive answer's."""
    model, columns, cells, frequencies, words = _rows(run)
    scores = column_scores(model, cells, frequencies)
    pairs = [(column, one) for column, one in zip(columns, scores, strict=True) if one is not None]
    if not pairs:
        return []
    pairs.sort(key=lambda pair: -pair[1].told)
    shown = pairs[:_SHOWN]
    rows = [
        {
            "column": short(column.name, _WIDEST),
            "told": max(0.0, one.told),
            "beside": _quality(column, one),
            "loss": one.loss,
            "naive": one.naive_loss,
        }
        for column, one in shown
    ]
    best, least = shown[0][0].name, shown[-1][0].name
    note = f"The {_SHOWN} best restored of {len(pairs):,} columns." if len(pairs) > _SHOWN else ""
    return [
        Picture(
            _bars(rows),
            f"How well each column is restored from the others: {cells.size:,} rows {words}",
            f"Bars of {len(shown)} columns; {best} is restored best, {least} worst of those shown.",
            note,
            rows,
            caption=(
                "The longer a bar, the better the rest of a row predicts a hidden cell; 100% would be with certainty: "
                f"best {short(best, _WIDEST)}, worst {short(least, _WIDEST)}."
            ),
        )
    ]


def _quality(column: Column, one: ColumnScore) -> str:
    if column.kind == "category":
        return f"{one.quality:.0%} right (most frequent: {one.naive_quality:.0%})"
    return f"R² {one.quality:.2f}"


def _bars(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    order = [row["column"] for row in rows]
    base = alt.Chart(alt.NamedData("rows")).encode(
        y=alt.Y("column:N", sort=order, title=None, axis=alt.Axis(labelLimit=220)),
        x=alt.X(
            "told:Q",
            title="share of the naive loss that the model saves",
            scale=alt.Scale(domain=[0, 1.5]),
            axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
        ),
        tooltip=[
            "column:N",
            alt.Tooltip("told:Q", title="saved", format=".1%"),
            alt.Tooltip("loss:Q", format=".3f", title="nats, model"),
            alt.Tooltip("naive:Q", format=".3f", title="nats, naive"),
            alt.Tooltip("beside:N", title="guesses"),
        ],
    )
    bars = base.mark_bar(color=CATEGORIES[0])
    words = base.mark_text(align="left", dx=5, fontSize=11).encode(text="beside:N")
    return (bars + words).properties(width=520, height=alt.Step(20))


def predicts_cells(run: "Run") -> bool:
    """Runs of models of cells that were tuned to a column."""
    return isinstance(run.model, CellNet) and run.model.restore is None


def tuned_results(run: "Run", subject: Subject) -> list[Picture]:
    """Predictions of the column that a model was tuned to, against the truth, on rows not trained on."""
    model: Any = run.model
    table = run.task.parts
    rows = table.splits.validation
    if rows is None:
        return []
    schema, predicted = table.schema, model.head.predict(scores_of(model, rows)).numpy()
    if schema.task in ("binary", "multi-class"):
        return [confusion(schema, rows.targets, predicted)]
    return [agreement(schema, rows.targets, predicted)] if schema.outputs == 1 else []


def telling_columns(run: "Run", subject: Subject) -> list[Picture]:
    """Which column tells of which: what a restored cell loses when another cell of its row is hidden too."""
    model, columns, cells, _, words = _rows(run)
    some = cells.take(slice(0, _ROWS))
    chosen = [j for j in range(len(columns)) if some.known[:, j].any()][:_SHOWN]
    if len(chosen) < 2:
        return []
    effect = column_importance(model, some, chosen)
    names = [short(columns[j].name, _WIDEST) for j in chosen]
    picture = heatmap(
        np.maximum(effect, 0.0),
        names,
        names,
        title=f"Which column tells of which: {some.size:,} rows {words}",
        value="loss added (nats)",
        axes=("restored column", "column hidden too"),
        root=True,
        words=True,
    )
    away = effect - np.diag(np.diag(effect))
    at = np.unravel_index(int(away.argmax()), away.shape)
    told = f"{names[at[0]]} suffers most when {names[at[1]]} is hidden too"
    if len(chosen) < len(columns):
        told += f" (the first {len(chosen)} of {len(columns):,} columns)"
    return [
        picture.captioned(
            f"A bright cell: the column at its left is restored worse without the column below it; {told}."
        )
    ]


def column_importance(model: CellNet, cells: Cells, chosen: list[int]) -> np.ndarray:
    """Δ_jk = ℓ_j(j and k hidden) − ℓ_j(j hidden), mean over the rows in which cell j is known; Δ_jj = 0."""
    truth = true_outcomes(model, cells)
    found = np.zeros((len(chosen), len(chosen)))
    for a, j in enumerate(chosen):
        rows = np.flatnonzero(cells.known[:, j])
        some, y = cells.take(rows), truth[torch.from_numpy(rows), j]
        alone = nn.functional.cross_entropy(column_outcomes(model, some, j), y).item()
        for b, k in enumerate(chosen):
            if k != j:
                found[a, b] = nn.functional.cross_entropy(column_outcomes(model, some, j, [k]), y).item() - alone
    return found


__all__ = [
    "column_importance",
    "predicts_cells",
    "restored_columns",
    "restores_cells",
    "telling_columns",
    "tuned_results",
]
