from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cutaway as cut
from cutaway.cli import run as command

SHORT = dict(steps=12, width=8, evaluate_every=6, checkpoint_every=6, show="quiet")


def waves(folder: Path, count: int = 60, name: str = "waves.csv") -> Path:
    """Slow and quick waves at random phases."""
    chance = np.random.default_rng(count)
    kind = np.arange(count) % 2
    t, phase = np.arange(24), chance.uniform(0, 6, count)[:, None]
    values = np.sin(t * np.where(kind, 1.5, 0.4)[:, None] + phase) + 0.1 * chance.normal(size=(count, 24))
    frame = pd.DataFrame(values, columns=[f"t{i}" for i in t]).assign(kind=np.where(kind, "quick", "slow"))
    path = folder / name
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("design", ["conv", "rnn"])
def test_trains_tests_predicts_and_looks(design: str, tmp_path: Path):
    data = waves(tmp_path)
    settings = dict(SHORT, steps=60, ema=0.0, rate=0.01, evaluate_every=20)
    run = cut.train("series-classifier", data=str(data), design=design, out=tmp_path / "run", **settings)
    run = cut.load(run.path)
    assert run.test()["accuracy"] > 0.9
    assert run.about["data"]["baseline"]["rule"].startswith("the class of the nearest training series")
    new = pd.read_csv(waves(tmp_path, 10, "new.csv"))
    found = run.predict(new)
    assert (found["class"] == new["kind"]).mean() > 0.8
    np.testing.assert_allclose(found[["P(quick)", "P(slow)"]].sum(axis=1), 1)
    pd.testing.assert_frame_equal(found, run.predict(new.drop(columns="kind")))
    page = (run.path / "report.html").read_text(encoding="utf-8")
    for words in ("Which part of a series speaks for its class", "The hardest held-out series", "What each class"):
        assert words in page


def test_longer_and_shorter_series(tmp_path: Path):
    path = tmp_path / "a.ts"
    lines = [f"{','.join(map(str, range(2 + i % 5)))}:{'long' if i % 5 > 2 else 'short'}" for i in range(30)]
    path.write_text("@classLabel true long short\n@data\n" + "\n".join(lines), encoding="utf-8")
    run = cut.train("series-classifier", data=str(path), out=tmp_path / "run", **SHORT)
    assert np.isfinite(run.test()["loss"])
    assert len(run.predict(str(path))) == 30


def test_files_without_names_are_predicted_with_and_without_the_class(tmp_path: Path):
    table = pd.read_csv(waves(tmp_path))
    table.insert(0, "class", (table.pop("kind") == "quick") + 1)
    table.to_csv(tmp_path / "plain.csv", index=False, header=False)
    table.drop(columns="class").to_csv(tmp_path / "new.csv", index=False, header=False)
    run = cut.train("series-classifier", data=str(tmp_path / "plain.csv"), out=tmp_path / "run", **SHORT)
    with_class, without = (run.predict(str(tmp_path / name)) for name in ("plain.csv", "new.csv"))
    pd.testing.assert_frame_equal(with_class, without)
    assert set(with_class["class"]) <= {"1", "2"}


def test_mistakes_at_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.chdir(tmp_path)
    waves(tmp_path)
    table = pd.read_csv("waves.csv")
    table.assign(kind="slow").to_csv("one.csv", index=False)
    table[["kind"]].to_csv("none.csv", index=False)
    for asked, words in {
        "--data one.csv": "two classes or more, got slow in one.csv",
        "--data none.csv": "with the class alone",
        "--data waves.csv --target kond": "got 'kond'; the nearest are: kind",
        "--data iris": "got the table sample iris",
        "--data waves.csv --design tree": "tree",
        "--data waves.csv --validation 0 --patience 3": "patience needs series",
    }.items():
        assert command(["train", "series-classifier", *asked.split()]) == 2, asked
        told = capsys.readouterr().err
        assert words in told, told
        assert len(told.strip().splitlines()) == 1


@pytest.mark.slow
def test_stated_quality(tmp_path: Path):
    run = cut.train("series-classifier", out=tmp_path / "run", show="quiet")
    found = run.test()
    assert found["accuracy"] >= 0.985
    assert found["accuracy"] > found["baseline_accuracy"]
