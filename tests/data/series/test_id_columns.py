import numpy as np
import pandas as pd
import pytest

from cutaway.data.series.id_columns import FIRST_STEP, id_channels, id_columns, numbers_first, odd_names
from cutaway.data.series.wide_and_long import load_series

N, STEPS = 20, 6
LABELS = ["a"] * (N // 2) + ["b"] * (N // 2)


def _noise(names=None) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(N, STEPS))
    return pd.DataFrame(values, columns=names or [f"t{i}" for i in range(STEPS)])


def _labelled(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns).join(_noise()).assign(label=LABELS)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", range(N)),
        ("patient", np.repeat(range(N // 2), 2)),  # two series of each
        ("batch", np.repeat([0, 1], N // 2)),
        ("age", np.tile([31, 45, 31, 60], N // 4)),
        ("height", np.linspace(150, 190.5, N)),
        ("code", [f"s{i}" for i in range(N)]),
        ("recorded", pd.date_range("2024", periods=N)),
        ("recorded", pd.date_range("2024", periods=N).astype(str)),
    ],
)
def test_columns_that_are_no_steps_are_left_out_and_told(name, values):
    found = load_series(_labelled(**{name: values}))
    assert found.left_out == (name,)
    assert len(found.values[0]) == STEPS
    assert f"left out: {name!r} (" in found.notes[-1]


def test_without_a_pattern_of_names_only_what_is_in_a_column_counts():
    steps = _noise(["low", "mid", "high", "open", "close", "end"])
    rng = np.random.default_rng(1)
    whole = pd.DataFrame(rng.integers(0, 50, (N, 3)), columns=["x", "y", "z"])
    assert id_columns(steps.assign(k=np.arange(N)[::-1]), [], "") == ("k",)
    assert id_columns(steps.assign(k=np.tile([1, 2], N // 2)), [], "") == ()  # a step that may be whole
    assert id_columns(whole.assign(k=np.sort(rng.choice(1000, N, replace=False))), [], "") == ("k",)
    assert id_columns(whole, [], "") == ()


def test_names_that_are_not_as_the_others():
    assert odd_names(["0", "1", "2", "3", "fold"]) == ("fold",)
    assert odd_names(["V1", "V2", "V3"]) == ()
    assert odd_names(["a1", "b1", "c1"]) == ()
    assert odd_names([]) == ()


def test_a_class_found_by_sight_is_not_left_out():
    assert load_series(pd.DataFrame({"outcome": LABELS}).join(_noise())).target == "outcome"
    numbered = pd.DataFrame({"patient": range(N), "outcome": [0, 1] * (N // 2)}).join(_noise())
    found = load_series(numbered)
    assert (found.target, found.left_out) == ("outcome", ("patient",))


@pytest.mark.parametrize("without", [[], ["label"], ["id"], ["id", "label"]])
@pytest.mark.parametrize("header", [True, False])
def test_new_series_with_and_without_id_and_class(without, header, tmp_path):
    table, file = _labelled(id=range(N)), tmp_path / "a.csv"
    table.to_csv(file, index=False, header=header)
    trained = load_series(file)
    table.drop(columns=without).to_csv(file, index=False, header=header)
    new = load_series(file, trained=(trained.target, trained.columns, trained.left_out))
    np.testing.assert_array_equal(np.stack(new.values), np.stack(trained.values))
    assert (new.labels[0] is None) == ("label" in without)


def test_an_id_that_training_had_not_is_no_step_of_new_series():
    trained = load_series(_labelled())
    new = load_series(_labelled(patient=range(N)).iloc[:1], trained=(trained.target, trained.columns, ()))
    assert len(new.values[0]) == STEPS


def test_an_index_that_names_series_is_read(tmp_path):
    long = pd.DataFrame({"series": np.repeat(range(N), 3), "value": np.arange(3.0 * N) ** 2})
    long["label"] = np.repeat(LABELS, 3)
    for frame in (long, long.set_index("series"), long.set_index(["series", long.groupby("series").cumcount()])):
        assert len(load_series(frame).values) == N
    long.set_index("series").to_parquet(tmp_path / "long.parquet")
    assert len(load_series(tmp_path / "long.parquet").values) == N
    assert load_series(_labelled(id=range(N)).set_index("id")).left_out == ("id",)


def test_channels_and_first_steps_of_ts_files(tmp_path):
    values, file = _noise().to_numpy(), tmp_path / "a.ts"
    line = lambda row: ",".join(f"{x:.4f}" for x in row)
    head = "@problemName a\n@classLabel true a b\n@data\n"
    channels = [f"{','.join([str(i)] * STEPS)}:{line(row)}:{LABELS[i]}" for i, row in enumerate(values)]
    file.write_text(head + "\n".join(channels))
    found = load_series(file)
    assert found.left_out == ("channel 1",)
    assert found.notes == ("left out: channel 1 (0, 19 …), which number the series and are no values of them",)
    assert found.values[0].shape == (STEPS, 1)
    again = load_series(file, trained=(found.target, found.columns, found.left_out))
    np.testing.assert_array_equal(again.values[3], found.values[3])
    firsts = [f"{100 + i},{line(row)}:{LABELS[i]}" for i, row in enumerate(values)]
    file.write_text(head + "\n".join(firsts))
    found = load_series(file)
    assert found.left_out == (FIRST_STEP,)
    file.write_text(head + "\n".join(f"{line(row)}:a" for row in values))  # new ones without it
    new = load_series(file, trained=(found.target, found.columns, found.left_out))
    np.testing.assert_array_equal(new.values[3], found.values[3])


def test_real_values_are_not_taken_for_ids():
    values = [np.array([[1.5], [2.0], [k]]) for k in range(8)]
    assert id_channels(values, ("value",)) == ()
    assert id_channels([np.array([[k % 3, 0.5], [k % 2, 1.5]]) for k in range(8)], ("p", "q")) == ()
    assert not numbers_first(values)
