"""`cutaway predict`: rows in, labels out; texts in, fillings or translations out."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from tabular import INPUTS, QUICK, little_frame

from cutaway.cli import run
from cutaway.commands.predict import written
from cutaway.recipes.index import find_recipe, known_recipes
from cutaway.runs.execution import train
from cutaway.tasks.abilities.ability import offers_of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, trained: Callable[[str], Path]) -> Path:
    """A folder with a run, and new rows."""
    folder = tmp_path_factory.mktemp("predicting")
    (folder / "run").symlink_to(trained("logistic"))
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


def test_a_file_is_not_overwritten_unasked(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "out.csv"
    path.write_text("dear to me\n")
    asked = ["predict", str(place / "run"), str(place / "new.csv"), "--out", str(path)]
    assert run(asked) == 2
    error = capsys.readouterr().err
    assert f"--out must be a new file, got {path}, which is there; add --overwrite to replace it" in error
    assert path.read_text() == "dear to me\n"
    assert run([*asked, "--overwrite"]) == 0
    assert path.read_text().startswith("sold,P(no!),P(yes!)\n")
    assert run(["predict", str(place / "run"), str(place / "new.csv"), "--overwrite"]) == 2
    assert "--overwrite is for --out, got no --out; add --out predictions.csv" in capsys.readouterr().err


def test_labels_come_back_as_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = [f"{i * i % 11};{i % 3:03};{i},5" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x;code;price", *rows]) + "\n")
    train("softmax", data=str(tmp_path / "t.csv"), target="code", out=tmp_path / "run", **QUICK)
    out = printed(capsys, str(tmp_path / "run"), str(tmp_path / "t.csv")).splitlines()
    assert out[0] == "code,P(000),P(001),P(002)"
    assert {line.split(",")[0] for line in out[1:]} <= {"000", "001", "002"}


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


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, trained: Callable[[str], Path]) -> Path:
    """A folder with a run that fills gaps, and one that translates."""
    folder = tmp_path_factory.mktemp("texts")
    for recipe in ("bert", "transformer"):
        (folder / recipe).symlink_to(trained(recipe))
    (folder / "lines.txt").write_text("I see 5\n\nI see 7\n")
    return folder


def test_gaps_are_filled(texts: Path, capsys: pytest.CaptureFixture[str]):
    header, *rows = csv.reader(io.StringIO(printed(capsys, str(texts / "bert"), "the [MASK] ate")))
    assert header == ["text", "mask", "candidate", "probability", "filled"]
    assert len(rows) == 5
    told = json.loads(printed(capsys, str(texts / "bert"), "the [MASK] ate", "--json"))
    assert [[str(value) for value in row.values()] for row in told] == rows
    assert told[0]["filled"] == f"the{told[0]['candidate']} ate"


def test_lines_are_translated(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    run_folder, lines = str(texts / "transformer"), texts / "lines.txt"
    expected = printed(capsys, run_folder, str(lines))
    assert [row["source"] for row in csv.DictReader(io.StringIO(expected))] == ["I see 5", "", "I see 7"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines.read_bytes())))
    assert printed(capsys, run_folder, "-") == expected
    for kind, read in (("csv", pd.read_csv), ("json", pd.read_json), ("parquet", pd.read_parquet)):
        path = tmp_path / f"out.{kind}"
        assert printed(capsys, run_folder, str(lines), "--out", str(path)) == ""
        assert list(read(path).columns) == ["source", "translation"]


def test_texts_that_cannot_be_used(texts: Path, capsys: pytest.CaptureFixture[str]):
    for folder, text, told in (
        ("bert", "no gap", "a text to fill must have a masked token, got 'no gap'; write [MASK]"),
        ("transformer", "word " * 50, "must have from 1 to 24 tokens, as in training, got"),
    ):
        assert run(["predict", str(texts / folder), text]) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1


def test_the_page_says_what_each_recipe_takes_and_gives(capsys):
    assert run(["predict", "--help"]) == 0
    page = capsys.readouterr().out
    for name in known_recipes():
        kind = find_recipe(name)
        offer = offers_of(kind).get("predict")
        assert offer is None or (offer.gives and name in page.split("for runs of:")[1])


@pytest.mark.parametrize("kind", [".csv", ".json"])
def test_numbers_are_written_so_that_they_read_back_the_same(kind: str):
    values = [123456789.12345678, 0.1 + 0.2, 1e-300, -1 / 3]
    times = pd.date_range("2024-01-01", periods=4, freq="h")
    table = pd.DataFrame({"ds": times, "mean": values, "n": [1, 2, 3, 4]})
    content = written(table, kind).decode()
    if kind == ".csv":
        found = pd.read_csv(io.StringIO(content), parse_dates=["ds"], float_precision="round_trip")
        assert found["ds"].tolist() == times.tolist()
    else:
        found = pd.DataFrame(json.loads(content))
        assert [pd.Timestamp(text) for text in found["ds"]] == times.tolist()
    assert found["mean"].tolist() == values
    listed = written([{"mean": value} for value in values], kind).decode()
    again = json.loads(listed) if kind == ".json" else list(csv.DictReader(io.StringIO(listed)))
    assert [float(row["mean"]) for row in again] == values


def test_a_number_that_is_missing_is_null():
    assert json.loads(written(pd.DataFrame({"y": [1.5, float("nan")]}), ".json")) == [{"y": 1.5}, {"y": None}]
