from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cutaway.data.series.wide_and_long import load_series


def test_a_series_in_each_row(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("class,t1,t2,t3\nup,1,2,3\ndown,3,,1\nup,5,6,\n", encoding="utf-8")
    found = load_series(path)
    assert found.labels == ["up", "down", "up"]
    assert found.channels == ("value",)
    np.testing.assert_array_equal(found.values[1][:, 0], [3, np.nan, 1])
    assert "1 missing values are drawn as straight lines" in found.notes


def test_the_archives_way_has_the_class_first_and_no_names(tmp_path: Path):
    path = tmp_path / "a.tsv"
    path.write_text("1\t0.5\t0.25\n2\t0.125\t-0.5\n1\t0.3\t0.2\n2\t0.1\t0.7\n", encoding="utf-8")
    found = load_series(path)
    assert found.labels == ["1", "2", "1", "2"]
    assert len(found.values[0]) == 2


def test_a_step_in_each_row_is_ordered_by_its_time():
    frame = pd.DataFrame(
        {
            "unique_id": ["a", "b", "a", "b"],
            "ds": [2, 1, 1, 2],
            "x": [10.0, 1.0, 20.0, 2.0],
            "z": [0.1, 0.2, 0.3, 0.4],
            "label": ["up", "down", "up", "down"],
        }
    )
    found = load_series(frame)
    assert found.labels == ["up", "down"]
    assert found.channels == ("x", "z")
    np.testing.assert_allclose(found.values[0], [[20, 0.3], [10, 0.1]])


@pytest.mark.parametrize(
    ("frame", "settings", "message"),
    [
        ({"series": ["a", "a"], "time": [1, 1], "x": [1.0, 2.0], "label": ["u", "u"]}, {}, "got 1 twice in series a"),
        ({"series": ["a", "a"], "x": [1.0, 2.0], "label": ["u", "d"]}, {}, "got u and d in series a"),
        ({"label": ["u", "d"], "name": ["m", "n"], "x": [1.0, 2.0]}, {}, "got 'name' with 'm'"),
        ({"label": ["u", "d"]}, {}, "with the class alone"),
        ({"kind": ["u", "d"], "x": [1.0, 2.0]}, {"target": "kin"}, "got 'kin'; the nearest are: kind"),
        ({"one": ["u", "d"], "two": ["u", "d"], "x": [1.0, 2.0]}, {}, "got one, two; name it with --target"),
    ],
)
def test_messages(frame: dict[str, list[object]], settings: dict[str, str], message: str):
    with pytest.raises(ValueError, match=message):
        load_series(pd.DataFrame(frame), **settings)
