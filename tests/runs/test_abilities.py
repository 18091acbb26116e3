"""What a run can do: `cut.abilities` and `cutaway list abilities`."""

import json
from pathlib import Path

import pytest

import cutaway as cut
from cutaway import cli


@pytest.fixture
def run(tmp_path: Path) -> cut.runs.Run:
    return cut.train("softmax", data="iris", steps=2, out=tmp_path / "run", show="quiet")


def test_of_a_run(run: cut.runs.Run):
    can = cut.abilities(run)
    assert {"embed", "predict", "test"} <= {one.verb for one in can}
    assert "forecast" not in {one.verb for one in can}
    predict = next(one for one in can if one.verb == "predict")
    assert predict.offer is not None
    assert predict.offer.takes == "rows.csv"
    assert not predict.refuses(run)
    every = cut.abilities(run, everything=True)
    assert "a run of 'softmax' cannot forecast; `cutaway list abilities" in every.reasons["forecast"]
    assert [one.verb for one in every] == [one.verb for one in cut.abilities()]
    with pytest.raises(ValueError, match="a run of 'softmax' cannot forecast"):
        run.forecast()
    with pytest.raises(AttributeError, match="a run has no 'fly'"):
        _ = run.fly
    assert [one.verb for one in cut.abilities(str(run.path))] == [one.verb for one in can]


def test_of_a_recipe():
    assert [one.verb for one in cut.abilities("deepar") if one.offer] == ["backtest", "forecast", "predict", "test"]
    with pytest.raises(ValueError, match="a recipe must be one of"):
        cut.abilities("deeper")


def test_the_table_and_the_data(run: cut.runs.Run, capsys: pytest.CaptureFixture[str]):
    assert "predict" in repr(cut.abilities(run))
    rows = json.loads(cut.abilities().to_json())
    assert {"verb", "help", "inputs", "outputs", "streams", "refused"} <= set(rows[0])
    assert cli.run(["list", "abilities", "gpt", "--json"]) == 0
    assert "generate" in [row["verb"] for row in json.loads(capsys.readouterr().out)]
    assert cli.run(["list", "abilities", str(run.path)]) == 0
    told = capsys.readouterr().out
    assert "predict" in told
    assert "forecast" not in told
    assert cli.run(["list", "data", "gpt"]) == 2
    assert "a run is for `cutaway list abilities RUN`" in capsys.readouterr().err


def test_verbs_have_signatures(run: cut.runs.Run):
    import inspect

    assert list(inspect.signature(run.predict).parameters) == ["inputs", "data", "vertices"]
    assert "Predictions for new inputs" in (run.predict.__doc__ or "")
