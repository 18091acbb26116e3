"""Filled cells as a table writes them: dates, flags, numbers with decimal commas, codes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cutaway.recipes.tables.masked_table import MaskedTableRecipe
from cutaway.tasks.tables.filling import fill_table


def filled(frame: pd.DataFrame, rows: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Rows filled by an untrained model of a table: what matters is how, not with what."""
    recipe = MaskedTableRecipe.make(data=frame, validation=0.0, test=0.0, patience=0, width=8, depth=1, **settings)
    task = recipe.read()
    return fill_table(recipe.build(task).model.eval(), task.schema, rows, task.whole)


def test_dates_are_written_as_before():
    draw = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2021-01-01", periods=50, freq="D"))
    frame = pd.DataFrame({"day": days.dt.strftime("%d.%m.%Y"), "x": draw.normal(size=50)})
    found = filled(frame, frame.assign(day=[None, *frame["day"][1:]]))
    when = pd.to_datetime(found["day"], format="%d.%m.%Y")
    assert when[0].year == 2021
    assert when[1:].equals(days[1:])
    assert pd.to_datetime(found.loc[0, "day (10%)"], format="%d.%m.%Y") <= when[0]
    stamps = filled(frame.assign(day=days), pd.DataFrame({"day": [pd.NaT, days[3]], "x": [0.0, 1.0]}))
    assert isinstance(stamps["day"][0], pd.Timestamp)


def test_flags_and_codes_keep_their_kind():
    frame = pd.DataFrame(
        {
            "yes": [True, False] * 20,
            "bit": [0, 1] * 20,
            "word": ["N", "Y"] * 20,
            "code": ["03", "05", "08", "09"] * 10,
        }
    )
    gaps = pd.DataFrame({"yes": [None, True], "bit": [None, 1], "word": [None, "Y"], "code": [None, "05"]})
    found = filled(frame, gaps)
    assert found["yes"][0] in (True, False)
    assert not isinstance(found["yes"][0], str)
    assert found["bit"][0] in (0, 1)
    assert found["word"][0] in ("N", "Y")
    assert found["code"][0] in ("03", "05", "08", "09")
    assert set(found.columns) >= {"P(yes)", "P(bit)", "P(word)", "P(code)"}


def test_numbers_never_leave_the_range_of_training():
    frame = pd.DataFrame({"a": np.linspace(1, 9, 60).round(2), "b": ["x", "y", "z"] * 20})
    found = filled(frame, pd.DataFrame({"a": [np.nan] * 3, "b": ["x", "y", "z"]}))
    assert found["a"].between(1, 9).all()
    assert (found["a (10%)"] <= found["a (90%)"]).all()


def test_a_category_never_seen_is_no_gap():
    frame = pd.DataFrame({"a": np.arange(40) % 7 + 0.5, "b": ["x", "y"] * 20})
    with pytest.raises(ValueError, match="predict fills missing cells, got 1 rows without any"):
        filled(frame, pd.DataFrame({"a": [1.5], "b": ["w"]}))
    found = filled(frame, pd.DataFrame({"a": [np.nan], "b": ["w"]}))
    assert found.loc[0, "b"] == "w"  # what is given stays
