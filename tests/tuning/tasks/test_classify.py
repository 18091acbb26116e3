"""Tuned classifiers of texts."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bases import reviews, tiny_bert, tiny_gpt

import cutaway as cut

QUICK = dict(show="quiet", epochs=2, batch=8, rate=3e-3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned")
    tiny_bert(folder / "bert")
    tiny_gpt(folder / "gpt")
    reviews(folder / "reviews.csv", 120)
    return folder


@pytest.fixture(scope="module")
def run(place: Path) -> cut.runs.Run:
    return cut.tune(
        place / "bert",
        data=place / "reviews.csv",
        full=True,
        out=place / "full",
        pooling="mean",
        **QUICK | {"epochs": 20, "rate": 1e-2},
    )


def test_a_base_with_the_same_labels_answers_itself(place: Path, run: cut.runs.Run):
    again = cut.tune(run.path, data=place / "reviews.csv", lora=2, out=place / "again", **QUICK)
    found = again.learner.answers_before_and_after(run.model)
    texts = again.task.parts.validation.texts
    assert found.before == [answer["label"] for answer in run.predict(texts)]
    assert "those of the base" in found.rule


def test_a_tuned_run_learns_and_needs_its_folder_alone(place: Path, run: cut.runs.Run):
    rows = [row for row in run.metrics if row["split"] == "validation-whole"]
    assert rows[-1]["accuracy"] > 0.9
    again = cut.load(run.path)
    assert again.config.way == "full"
    assert again.config.steps == 20 * 12  # 96 training texts in batches of 8
    answers = again.predict(["the film was fine", "so dull it was"])
    assert [answer["label"] for answer in answers] == ["pos", "neg"]
    assert again.model.spec.head.labels == ("neg", "pos")
    assert set(again.test()) >= {"accuracy", "loss", "baseline_accuracy"}
    assert again.about["data"]["base"]["path"] == str(place / "bert")
    assert "parameters are trained (" in again.about["data"]["summary"]


@pytest.mark.parametrize("pooling", ["cls", "mean", "attention", "layers"])
def test_kept_features_are_those_computed_again(place: Path, pooling: str):
    """The same weights but for rounding: batches of evaluation are padded otherwise than those of training."""
    ends = []
    for memory in (100, 0):
        out = place / f"head-{pooling}-{memory}"
        settings = QUICK | dict(head_only=True, pooling=pooling, features_memory=memory, rate=1e-2, fit_head=False)
        tuned = cut.tune(place / "bert", data=place / "reviews.csv", out=out, **settings)
        ends.append(tuned.model.state_dict())
        told = tuned.about["data"]["summary"]
        assert ("features: kept" in told) == bool(memory)
        assert ("computed again in each step" in told) != bool(memory)
    base = cut.from_pretrained(place / "bert").state_dict()
    for name, value in ends[0].items():
        assert torch.allclose(value, ends[1][name], atol=1e-5), name
        if name in base:
            assert torch.equal(value, base[name]), f"{name} is frozen"
    assert not torch.equal(ends[0]["head.classify.weight"], torch.zeros_like(ends[0]["head.classify.weight"]))


def test_a_causal_model_pools_its_last_token(place: Path):
    run = cut.tune(
        place / "gpt", data=place / "reviews.csv", task="classify", last=1, out=place / "last", final="last", **QUICK
    )
    assert run.model.head.pooling == "last"
    base = cut.from_pretrained(place / "gpt").state_dict()
    ours = run.model.state_dict()
    assert torch.equal(ours["blocks.0.mlp.up.weight"], base["blocks.0.mlp.up.weight"])
    assert not torch.equal(ours["blocks.1.mlp.up.weight"], base["blocks.1.mlp.up.weight"])


def test_a_new_head_is_fitted_before_the_rest_learns(place: Path):
    """It begins at a lower loss than a random one, and the body is untouched by it."""
    first = {}
    for fit in (True, False):
        settings = QUICK | dict(full=True, fit_head=fit, steps=1, rate=1e-9, pooling="layers", final="last")
        run = cut.tune(place / "bert", data=place / "reviews.csv", out=place / f"fit-{fit}", **settings)
        first[fit] = next(row["loss"] for row in run.metrics if row["split"] == "validation")
        embed = cut.from_pretrained(place / "bert").state_dict()["embed.weight"]
        assert torch.allclose(run.model.state_dict()["embed.weight"], embed, atol=1e-6)
    assert first[True] < first[False] - 0.02


@pytest.mark.parametrize("pooling", ["cls", "mean", "layers"])
def test_a_head_alone_is_solved_for_in_one_step(place: Path, tmp_path: Path, pooling: str):
    """Few texts, too: it is logistic regression, whether its features are kept or computed for it alone."""
    reviews(tmp_path / "few.csv", 32)
    said = []
    for memory in (100, 0):
        settings = dict(head_only=True, pooling=pooling, features_memory=memory, validation=0.0, show="quiet")
        run = cut.tune(place / "bert", data=tmp_path / "few.csv", out=tmp_path / f"run-{memory}", **settings)
        assert run.config.steps == 1
        said.append([row["P(pos)"] for row in run.predict(run.task.parts.train.texts)])
        first = run.task.parts.train
        right = np.mean([(p > 0.5) == (label == 1) for p, label in zip(said[-1], first.labels, strict=True)])
        assert right > 0.6
    np.testing.assert_allclose(said[0], said[1], atol=1e-3)
    again = cut.train("tuned-classify", resume=True, out=tmp_path / "run-100")
    assert again.finished


def test_a_run_ends_with_what_training_reached_though_its_loss_was_least_at_the_start(place: Path, tmp_path: Path):
    settings = dict(full=True, pooling="mean", epochs=6, batch=8, rate=3e-2, show="quiet")
    run = cut.tune(place / "bert", data=place / "reviews.csv", out=tmp_path / "run", **settings)
    rows = [row for row in run.metrics if row["split"] == "validation"]
    kept = run.metrics[-1]["weights_of"]
    best = max(row["accuracy"] for row in rows[1:])
    assert kept == min((row["loss"], row["step"]) for row in rows[1:] if row["accuracy"] == best)[1] > 0


@pytest.mark.parametrize("calibrate", [True, False])
def test_the_last_layer_is_calibrated_on_validation_unless_that_is_switched_off(
    place: Path, tmp_path: Path, calibrate: bool
):
    data = reviews(tmp_path / "many.csv", 240)
    settings = dict(lora=2, steps=30, rate=3e-2, pooling="mean", validation=0.2, show="quiet", calibrate=calibrate)
    run = cut.tune(place / "bert", data=tmp_path / "many.csv", out=tmp_path / "run", **settings)
    assert data is None or Path(data).exists()
    last = run.metrics[-1]
    there = next(row for row in run.metrics if row["split"] == "validation" and row["step"] == last["weights_of"])
    assert last["accuracy"] == there["accuracy"]  # the same answers
    if calibrate:
        assert last["temperature"] != 1
        assert last["loss"] < there["loss"]
    else:
        assert "temperature" not in last
        assert last["loss"] == pytest.approx(there["loss"], rel=1e-6)


def test_mistakes_are_told(place: Path, tmp_path: Path):
    data = place / "reviews.csv"
    with pytest.raises(ValueError, match=r"tuning has one way, got lora=8 and head_only=True"):
        cut.tune(place / "bert", data=data, lora=8, head_only=True)
    for more in ({"dora": True}, {"lora_biases": "all"}, {"lora_alpha": 4.0}, {"lora_targets": "**"}):
        name, value = next(iter(more.items()))
        with pytest.raises(
            ValueError, match=rf"is a setting of LoRA, got {name}={re.escape(repr(value))} where the way"
        ):
            cut.tune(place / "bert", data=data, full=True, **more)
    with pytest.raises(ValueError, match=r"lora must be at most .* got lora=99"):
        cut.tune(place / "bert", data=data, lora=99, dora=True, out=tmp_path / "a")
    with pytest.raises(ValueError, match=r"last must be at most the number of layers, got last=9 for 2"):
        cut.tune(place / "bert", data=data, last=9, out=tmp_path / "a")
    one = tmp_path / "one.csv"
    one.write_text("text,label\n" + "".join(f"text {i},same\n" for i in range(20)))
    with pytest.raises(ValueError, match=r"at least two classes, got one\.csv where every label is 'same'"):
        cut.tune(place / "bert", data=one, out=tmp_path / "b")
    bare = tiny_bert(tmp_path / "bare")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bare / name).unlink()
    with pytest.raises(ValueError, match=r"needs the tokenizer that it was trained with, got .*bare"):
        cut.tune(bare, data=data, out=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_table_in_latin_1_and_targets_with_a_comma_too_many(place: Path, tmp_path: Path):
    data = tmp_path / "latin.csv"
    data.write_bytes((place / "reviews.csv").read_text().replace("film", "fil\u00e9").encode("latin-1"))
    settings = dict(encoding="latin-1", lora=2, lora_targets="blocks.*.attention,, ", steps=1, show="quiet")
    tuned = cut.tune(place / "bert", data=data, out=tmp_path / "run", **settings)
    assert not [name for name, _ in tuned.model.named_parameters() if "mlp" in name and "lora" in name]
