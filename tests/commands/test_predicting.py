"""`cutaway predict`: rows in, labels out."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from tabular import INPUTS, QUICK, little_frame, little_table

from cutaway.cli import run
from cutaway.recipes.runs import train


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and new rows."""
    folder = tmp_path_factory.mktemp("predicting")
    train("logistic", data=str(little_table(folder, "sold")), out=folder / "run", **QUICK)
    little_frame(5, seed=5)[INPUTS].to_csv(folder / "new.csv", index=False)
    return folder


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert run(["predict", *argv]) == 0
    return capsys.readouterr().out


def test_prints_csv(place: Path, capsys: pytest.CaptureFixture[str]):
    out = printed(capsys, str(place / "run"), str(place / "new.csv"))
    assert out.splitlines()[0] == "sold,P(no!),P(yes!)"
    assert len(out.splitlines()) == 6


def test_json_says_the_same(place: Path, capsys: pytest.CaptureFixture[str]):
    table = pd.read_csv(io.StringIO(printed(capsys, str(place / "run"), str(place / "new.csv"))))
    rows = json.loads(printed(capsys, str(place / "run"), str(place / "new.csv"), "--json"))
    assert [row["sold"] for row in rows] == list(table["sold"])
    assert [row["P(yes!)"] for row in rows] == pytest.approx(list(table["P(yes!)"]), abs=1e-6)


def test_reads_standard_input(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    expected = printed(capsys, str(place / "run"), str(place / "new.csv"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO((place / "new.csv").read_bytes())))
    assert printed(capsys, str(place / "run"), "-") == expected


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_writes_files(kind: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / f"out.{kind}"
    assert printed(capsys, str(place / "run"), str(place / "new.csv"), "--out", str(path)) == ""
    found = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}[kind](path)
    assert list(found.columns) == ["sold", "P(no!)", "P(yes!)"]
    assert len(found) == 5


def test_mistakes_are_told_in_a_line(place: Path, capsys: pytest.CaptureFixture[str]):
    little_frame(3)[["size", "shape"]].to_csv(place / "narrow.csv", index=False)
    for argv, told in (
        (["run", "narrow.csv"], "must have the columns of training, got one without 'weight'"),
        (["run", "nowhere.csv"], "nowhere.csv"),
        (["nothing", "new.csv"], "a run is a folder with config.json"),
        (["run", "new.csv", "--out", "out.xls"], "--out must end in .csv, .json or .parquet, got"),
    ):
        asked = [str(place / word) if not word.startswith("--") else word for word in argv]
        assert run(["predict", *asked]) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
