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
        ({"label": ["u", "d"], "unit": ["m", "n"], "x": [1.0, 2.0]}, {}, "got 'unit' with 'm'"),
        ({"label": ["u", "d"]}, {}, "with the class alone"),
        ({"kind": ["u", "d"], "x": [1.0, 2.0]}, {"target": "kin"}, "got 'kin'; the nearest are: kind"),
        ({"one": ["u", "d"], "two": ["u", "d"], "x": [1.0, 2.0]}, {}, "got one, two; name it with --target"),
    ],
)
def test_messages(frame: dict[str, list[object]], settings: dict[str, str], message: str):
    with pytest.raises(ValueError, match=message):
        load_series(pd.DataFrame(frame), **settings)


def noise(rows: int = 20) -> pd.DataFrame:
    """Noise in rows sorted by class."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(rows, 6)), columns=[f"t{i}" for i in range(6)])
    return frame.assign(label=["a"] * (rows // 2) + ["b"] * (rows - rows // 2))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", range(20)), ("ID", range(100, 2100, 100)), ("index", range(20)), ("Unnamed: 0", range(20)),
        ("patient_id", [f"p{i}" for i in range(20)]), ("whatever", range(7, 27)),
        ("code", [3 * i + 1 for i in range(20)]),
        ("date", pd.date_range("2024-01-01", periods=20)), ("date", [f"2024-01-{i + 1:02d}" for i in range(20)]),
        ("sample", [f"s{i}" for i in range(20)]), ("timestamp", [1_700_000_000 + 60 * i for i in range(20)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_column_that_tells_rows_apart_is_no_step(name: str, values, place: str):
    frame = noise()
    frame.insert(0 if place == "first" else len(frame.columns), name, list(values))
    found = load_series(frame)
    assert found.left_out == (name,)
    assert len(found.values[0]) == 6
    assert any(note.startswith(f"left out: {name!r} (") for note in found.notes)
    new = load_series(frame.drop(columns="label").head(2), trained=("label", found.columns, found.left_out))
    assert len(new.values[0]) == 6


def test_an_id_in_a_file_without_names(tmp_path: Path):
    frame = noise()
    frame.insert(0, "id", range(20))
    path = tmp_path / "plain.csv"
    frame.to_csv(path, index=False, header=False)
    found = load_series(path)
    assert found.left_out == ("column_1",)
    frame.drop(columns="label").head(3).to_csv(path, index=False, header=False)
    new = load_series(path, trained=(found.target, found.columns, found.left_out))
    np.testing.assert_allclose(new.values[1][:, 0], frame.iloc[1, 1:7].to_numpy(float), rtol=1e-6)


def test_a_column_that_counts_the_rows_is_no_channel():
    frame = pd.DataFrame({"series": np.repeat(range(6), 5), "time": list(range(5)) * 6, "x": np.linspace(0, 1, 30)})
    frame = frame.assign(label=np.repeat(list("ab"), 15), row_number=range(30), patient=np.repeat(range(100, 106), 5))
    found = load_series(frame)
    assert found.channels == ("x",)
    assert set(found.left_out) == {"row_number", "patient"}


def test_steps_of_whole_numbers_stay():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 1000, (20, 5)), columns=[f"t{i}" for i in range(5)]).assign(
        label=list("ab") * 10
    )
    frame["t0"] = rng.permutation(20)  # all different, but so may counts be
    assert load_series(frame).left_out == ()
