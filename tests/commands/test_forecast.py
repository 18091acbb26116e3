"""`cutaway forecast`: quantiles as CSV, JSON, Parquet or a picture; mistakes in a line."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from walks import WalkRecipe

import cutaway as cut
from cutaway.cli import run as cli


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasting")
    days = pd.date_range("2024-01-01", periods=60)
    x = np.sin(np.arange(60)) + 5
    frame = pd.concat([pd.DataFrame({"unique_id": name, "ds": days, "y": x + i}) for i, name in enumerate("ab")])
    frame.to_csv(folder / "series.csv", index=False)
    frame[frame["unique_id"] == "a"].assign(unique_id="new").to_csv(folder / "new.csv", index=False)
    cut.train(WalkRecipe.name, data=str(folder / "series.csv"), out=folder / "run", horizon=5, steps=3, show="quiet")
    return folder


def _printed(capsys, *argv):
    assert cli(["forecast", *map(str, argv)]) == 0
    return capsys.readouterr().out


def test_prints_quantiles_as_csv(place, capsys):
    frame = pd.read_csv(io.StringIO(_printed(capsys, place / "run", "--horizon", 3)))
    assert list(frame) == ["unique_id", "ds", "mean", "0.1", "0.5", "0.9"]
    assert frame["unique_id"].tolist() == ["a"] * 3 + ["b"] * 3
    assert frame["ds"][0] == "2024-03-01"


def test_other_series_levels_and_json(place, capsys):
    rows = json.loads(
        _printed(capsys, place / "run", "--data", place / "new.csv", "--horizon", 2, "--quantiles", 0.25, "--json")
    )
    assert [row["unique_id"] for row in rows] == ["new", "new"]
    assert set(rows[0]) == {"unique_id", "ds", "mean", "0.25"}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.json", "out.png", "out.html"])
def test_files_and_pictures(place, tmp_path, capsys, name):
    assert cli(["forecast", str(place / "run"), "--horizon", "2", "--series", "a", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / name).stat().st_size > 50
    assert "1 series, 2 steps" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--horizon", "0"], "must be a whole number above 0, got 0"),
        (["--quantiles", "90"], "must lie between 0 and 1, got 90"),
        (["--series", "c"], "a series must be one of the 2 that are forecast, got 'c'"),
        (["--out", "x.txt"], "--out must end in .csv, .json, .parquet, or be a picture"),
        (["--overwrite"], "--overwrite is for --out"),
        (["--data", "absent.csv"], "which is none"),
        (["--samples", "-1"], "got -1"),
    ],
)
def test_mistakes_are_told_in_a_line(place, capsys, argv, told):
    assert cli(["forecast", str(place / "run"), *argv]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.strip().splitlines()) == 1
