"""Views of restored cells: bars of what is told, and the columns that tell."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from look.rendered import rows_of

import cutaway as cut
from cutaway.runs.views.pretraining import table_cells
from cutaway.tasks.subjects import Subject


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    draw = np.random.default_rng(0)
    kind = draw.choice(["a", "b", "c"], 300)
    frame = pd.DataFrame({"kind": kind, "same": kind, "other": draw.choice(["p", "q"], 300)})
    settings: dict[str, Any] = dict(width=16, depth=1, steps=120, batch=64, evaluate_every=60, rate=0.01, dropout=0.0)
    return cut.train("masked-table", data=frame, out=tmp_path_factory.mktemp("views") / "run", **settings)


def test_restored_columns(run: Any):
    assert table_cells.restores_cells(run)
    (picture,) = table_cells.restored_columns(run, Subject())
    rows = {row["column"]: row for row in rows_of(picture)}
    assert rows["kind"]["told"] > 0.8
    assert rows["same"]["told"] > 0.8
    assert rows["other"]["told"] < 0.2
    assert rows["kind"]["beside"].startswith(("9", "100%"))
    assert picture.caption


def test_telling_columns(run: Any):
    model, columns, cells, _, _ = table_cells._rows(run)
    names = [column.name for column in columns]
    effect = table_cells.column_importance(model, cells, [0, 1, 2])
    kind, same, other = (names.index(name) for name in ("kind", "same", "other"))
    assert effect[kind, same] > 0.5
    assert effect[same, kind] > 0.5
    assert abs(effect[kind, other]) < 0.2
    assert np.all(np.diag(effect) == 0)
    (picture,) = table_cells.telling_columns(run, Subject())
    assert "hidden too" in picture.caption


def test_the_report_has_them(run: Any):
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "How well each column is restored" in page
    assert "Which column tells of which" in page
