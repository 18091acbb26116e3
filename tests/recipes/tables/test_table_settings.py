"""What the recipes for tables share: every task end to end, predictions in the table's words, the test split apart."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from tabular import INPUTS, QUICK, little_frame, little_table

from cutaway.data.splits import Splits
from cutaway.recipes.tables.linear_models import LinearRecipe, LogisticRecipe, PerceptronRecipe, SoftmaxRecipe
from cutaway.recipes.tables.mlp import MLPRecipe
from cutaway.runs.execution import load, train
from cutaway.runs.run import Run
from cutaway.training.callbacks import Callback

SMALL = dict(width=8, depth=1, embedding=3)


def trained(folder: Path, *targets: str, recipe: str = "mlp", **settings: object) -> Run:
    told = (SMALL if recipe == "mlp" else {}) | QUICK | {"target": ",".join(targets)} | settings
    return train(recipe, data=str(little_table(folder, *targets)), out=folder / "run", **told)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that tells whether something is sold."""
    return trained(tmp_path_factory.mktemp("sold"), "sold")


NEW = little_frame(10, seed=5)[INPUTS]
NEW.loc[1, "weight"], NEW.loc[3, "colour"] = np.nan, None


@pytest.mark.parametrize("name", ["linear", "logistic", "softmax", "perceptron", "mlp"])
def test_every_recipe_runs_on_its_own_data(name: str, tmp_path: Path):
    run = train(name, out=tmp_path / "run", **QUICK | (SMALL if name == "mlp" else {}))
    assert (run.path / "report.html").is_file()
    metrics = load(tmp_path / "run").test()
    assert all(np.isfinite(value) for value in metrics.values())
    assert {"loss"} < metrics.keys()


def test_regression_in_its_own_unit(tmp_path: Path):
    run = trained(tmp_path, "price", steps=120, evaluate_every=40, rate=0.03)
    predicted = run.predict(little_frame()[INPUTS])
    assert list(predicted.columns) == ["price"]
    # prices are about 1000 ± 200: the mean alone would be off by 160 or so
    error = (predicted["price"] - little_frame()["price"]).pow(2).mean() ** 0.5
    assert error < 80
    metrics = run.test()
    assert metrics["rmse"] == pytest.approx(metrics["loss"] ** 0.5 * run.recipe.read().parts.schema.targets[0].std)


def test_a_single_row_has_no_share_of_variance(tmp_path: Path):
    frame = pd.DataFrame({"a": np.arange(10) ** 2.0, "b": np.arange(10) ** 3.0})
    frame.to_csv(tmp_path / "table.csv", index=False)
    run = train("linear", data=str(tmp_path / "table.csv"), out=tmp_path / "run", **QUICK)
    assert run.test().keys() == {"loss", "rmse"}


def test_several_numbers(tmp_path: Path):
    frame = little_frame()
    frame["double"] = 2 * frame["price"]
    frame[[*INPUTS, "price", "double"]].to_csv(tmp_path / "table.csv", index=False)
    run = train("mlp", data=str(tmp_path / "table.csv"), target="price,double", out=tmp_path / "run", **QUICK | SMALL)
    predicted = run.predict(NEW)
    assert list(predicted.columns) == ["price", "double"]
    assert predicted["double"].mean() == pytest.approx(2 * frame["price"].mean(), rel=0.3)


def test_two_classes(run: Run):
    predicted = run.predict(NEW)
    assert list(predicted.columns) == ["sold", "P(no!)", "P(yes!)"]
    np.testing.assert_allclose(predicted["P(no!)"] + predicted["P(yes!)"], 1, atol=1e-6)
    assert (predicted["sold"] == np.where(predicted["P(yes!)"] >= 0.5, "yes!", "no!")).all()
    assert {"loss", "accuracy", "balanced_accuracy", "macro_f1", "baseline_accuracy"} == run.test().keys()


def test_several_classes_keep_their_numbers(tmp_path: Path):
    run = trained(tmp_path, "grade")
    predicted = run.predict(NEW)
    assert list(predicted.columns) == ["grade", "P(3)", "P(4)", "P(5)"]
    assert set(predicted["grade"]) <= {3, 4, 5}
    largest = predicted[["P(3)", "P(4)", "P(5)"]].to_numpy().argmax(1)
    assert (predicted["grade"] == largest + 3).all()


def test_several_labels(tmp_path: Path):
    run = trained(tmp_path, "cheap", "small")
    predicted = run.predict(NEW)
    assert list(predicted.columns) == ["cheap", "small", "P(cheap)", "P(small)"]
    assert (predicted["cheap"] == (predicted["P(cheap)"] >= 0.5)).all()
    assert {"loss", "f1", "macro_f1", "baseline_f1"} == run.test().keys()


def test_rows_come_in_many_forms(run: Run, tmp_path: Path):
    NEW.to_csv(tmp_path / "new.csv", index=False)
    NEW.to_parquet(tmp_path / "new.parquet")
    expected = run.predict(NEW)
    records = [
        {k: v for k, v in row.items() if v is not None and v == v}  # a gap may be left out in some rows
        for row in NEW.to_dict("records")
    ]
    records[0] = NEW.to_dict("records")[0]
    for given in (tmp_path / "new.csv", str(tmp_path / "new.parquet"), records, NEW[INPUTS[::-1]]):
        pd.testing.assert_frame_equal(run.predict(given), expected)
    pd.testing.assert_frame_equal(run.predict(NEW.to_dict("records")[2]), expected.iloc[[2]].reset_index(drop=True))


def test_the_index_of_the_rows_is_kept(run: Run):
    rows = NEW.set_axis(list("abcdefghij"), axis=0)
    assert list(run.predict(rows).index) == list("abcdefghij")


def test_the_target_of_new_rows_is_not_looked_at(run: Run):
    pd.testing.assert_frame_equal(run.predict(NEW.assign(sold="who knows")), run.predict(NEW))


def test_no_rows(run: Run):
    for nothing in ([], NEW[:0]):
        found = run.predict(nothing)
        assert len(found) == 0
        assert list(found.columns) == ["sold", "P(no!)", "P(yes!)"]


def test_unknown_categories_and_gaps(run: Run):
    strange = NEW.assign(colour="ultraviolet", size=np.nan, weight=np.nan)
    assert np.isfinite(run.predict(strange)["P(yes!)"]).all()
    # training had no gap among the shapes, so one is as good as a shape that it never saw
    gap, unknown = (run.predict(NEW.assign(shape=value)) for value in (None, "star"))
    pd.testing.assert_frame_equal(gap, unknown)
    # among the colours it had, and a gap says something of its own
    gap, unknown = (run.predict(NEW.assign(colour=value)) for value in (None, "star"))
    assert not np.allclose(gap["P(yes!)"], unknown["P(yes!)"])


def test_a_missing_column(run: Run):
    with pytest.raises(ValueError, match="must have the columns of training, got one without 'colour'; the nearest of"):
        run.predict(NEW.drop(columns="colour"))


def test_rows_of_no_kind(run: Run):
    with pytest.raises(ValueError, match="a DataFrame, the path of a table, or a list of dicts, got float; give each"):
        run.predict(3.5)
    with pytest.raises(ValueError, match=r"or a list of dicts, got list; give each row as \{column: value\}"):
        run.predict([1, 2])


def test_a_file_without_names(tmp_path: Path):
    frame = little_frame()[[*INPUTS, "grade"]]
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    run = train("mlp", data=str(tmp_path / "bare.csv"), out=tmp_path / "run", **QUICK | SMALL)
    # one row alone could be taken for names
    NEW[:1].to_csv(tmp_path / "new.csv", index=False, header=False)
    predicted = run.predict(tmp_path / "new.csv")
    assert list(predicted.columns) == ["column_5", "P(3)", "P(4)", "P(5)"]
    assert len(predicted) == 1


def test_training_never_opens_the_test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened = []
    honest = Splits.open_test
    monkeypatch.setattr(Splits, "open_test", lambda self: opened.append(1) or honest(self))
    run = trained(tmp_path, "sold")
    run.predict(NEW)
    assert not opened
    assert run.test() == run.test()
    assert len(opened) == 1  # the second answer was noted


def test_a_test_file_is_not_read_before_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = little_table(tmp_path, "sold").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "test.csv").write_text(f"{names}\nnot a row\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run = train("mlp", data="table.csv", test_file="test.csv", out="run", **QUICK | SMALL)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = load("../run")
    with pytest.raises(ValueError, match=r"test\.csv"):
        run.test()
    little_table(tmp_path, "sold", name="test.csv", rows=30, seed=9)
    assert 0 <= run.test()["accuracy"] <= 1
    assert sum(run.task.parts.counts.values()) == 120  # no share was set apart


def test_other_data_is_no_test(tmp_path: Path):
    run = trained(tmp_path, "sold")
    little_table(tmp_path, "sold", seed=1)
    with pytest.raises(ValueError, match="have the data that it began with"):
        run.test()


def test_the_schema_is_shown_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trained(tmp_path, "sold", show="lines")
    shown = capsys.readouterr().out
    assert shown.index("red") < shown.index("step 0/4")
    assert re.search(r"binary, 2: no! \d\d\.\d%, yes! \d\d\.\d%", shown)
    assert (
        "header: the first row (size, weight, colour, ...) is taken for names; if it holds data, use --no-header"
        in shown
    )


class Broken(Callback):
    """A power cut after step 3."""

    def step(self, loop, metrics):
        if loop.step == 3:
            raise RuntimeError("power cut")


def test_a_broken_run_goes_on_as_if_it_had_not(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    # dropout and hidden categories are drawn, and batches of 16 of 96 rows
    whole = trained(tmp_path / "one", "sold", batch=16, dropout=0.3, hide=0.2)
    with pytest.raises(RuntimeError, match="power cut"):
        trained(tmp_path / "two", "sold", batch=16, dropout=0.3, hide=0.2, callbacks=[Broken()])
    train("mlp", out=tmp_path / "two" / "run", resume=True, show="quiet")
    one, two = (load_file(tmp_path / name / "run" / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert whole.finished


def test_tasks_that_a_recipe_is_not_for(tmp_path: Path):
    data = str(little_table(tmp_path, "price", "sold", "grade", "cheap", "small"))
    for recipe, target, told in (
        (LinearRecipe, "sold", r"linear is for regression targets, got 'sold', which is binary; .* logistic, softmax"),
        (LogisticRecipe, "grade", r"logistic is for binary and multi-label targets, got 'grade', which is multi-class"),
        (SoftmaxRecipe, "price", r"got 'price', which is regression; choose another --target, or train linear"),
        (PerceptronRecipe, "price", r"perceptron is for .*, got 'price', which is regression; .* train linear or mlp"),
        (
            SoftmaxRecipe,
            "cheap,small",
            r"got 'cheap, small', which is multi-label; .* or train linear, logistic or mlp",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            recipe(data=data, target=target).read()


def test_whole_numbers_are_numbers_for_a_linear_model(tmp_path: Path):
    data = str(little_table(tmp_path, "grade"))
    assert MLPRecipe(data=data).read().parts.schema.task == "multi-class"
    assert LinearRecipe(data=data).read().parts.schema.task == "regression"
    assert MLPRecipe(data=data, task="regression").read().parts.schema.task == "regression"


def test_numbers_with_points_are_numbers_for_a_linear_model(tmp_path: Path):
    rows = [f"{i * i % 11},{i % 4}.0" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    assert MLPRecipe(data=str(tmp_path / "t.csv")).read().parts.schema.labels == ("0.0", "1.0", "2.0", "3.0")
    assert LinearRecipe(data=str(tmp_path / "t.csv")).read().parts.schema.task == "regression"
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *(f"{i * i % 11},00{i % 4}" for i in range(40))]) + "\n")
    with pytest.raises(ValueError, match="linear is for regression targets, got 'y', which is multi-class"):
        LinearRecipe(data=str(tmp_path / "t.csv")).read()


def test_a_table_in_use_is_not_read_again(tmp_path: Path):
    recipe = MLPRecipe(data=str(little_table(tmp_path, "sold")))
    table = recipe.read().parts
    assert recipe.read().parts is table
    assert MLPRecipe(data=recipe.data, seed=1).read().parts is not table
    little_table(tmp_path, "sold", rows=80)
    assert sum(recipe.read().parts.counts.values()) == 80


def test_a_header_of_numbers(tmp_path: Path):
    (tmp_path / "t.csv").write_text("\n".join(["2019,2020,2021", *(f"{i},{i * i % 11},{i % 2}" for i in range(40))]))
    found = MLPRecipe(data=str(tmp_path / "t.csv")).read().parts
    assert found.schema.targets[0].name == "column_3"
    assert "if it holds names, use --header" in found.summary()
    told = MLPRecipe(data=str(tmp_path / "t.csv"), header=True).read().parts
    assert told.schema.targets[0].name == "2021"
    assert "header" not in told.summary()


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="patience needs rows to evaluate on, got patience=25 with validation=0; set"):
        MLPRecipe(validation=0.0)


@pytest.mark.untyped
def test_settings_of_another_type():
    with pytest.raises(ValueError, match=r"task must be one of auto, regression, .*, got 'classes'"):
        MLPRecipe(task="classes")


def test_without_validation(tmp_path: Path):
    run = trained(tmp_path, "sold", validation=0.0, patience=0)
    assert not [row for row in run.metrics if row["split"] != "train"]
    assert len(run.predict(NEW)) == 10
