"""The classifier of texts: a whole run from every kind of input, resumed bit for bit, predictions, and mistakes."""

import dataclasses
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from killing import expect_same_after_death
from little import same, weights_of
from trained import CLASSIFIER_SETTINGS, little_labelled

import cutaway as cut
from cutaway.models import TextClassifier
from cutaway.recipes.texts.classifier import ClassifierRecipe
from cutaway.runs import execution, report_run
from cutaway.tasks.subjects import subject_of


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
    little_labelled(tmp_path)


def train(**more: Any) -> Any:
    return cut.train("classifier", show="quiet", **dict(CLASSIFIER_SETTINGS, data="labelled.tsv") | more)


def test_a_run_from_start_to_end():
    run = train()
    assert isinstance(run.model, TextClassifier)
    assert run.metrics[0].keys() >= {"step", "split", "loss", "accuracy", "macro_f1"}
    assert run.metrics[-1]["accuracy"] > 0.9
    found = run.test()
    assert found["accuracy"] > 0.9
    assert found["baseline_accuracy"] > 0.9
    about = json.loads((run.path / "config.json").read_text())
    assert "TF-IDF" in about["data"]["baseline"]["rule"]
    assert "always" in about["data"]["baseline"]["rule"]
    again = cut.load(run.path)
    assert again.predict("a good film number 7") == run.predict("a good film number 7")


def test_predictions(own_run: Callable[[str], Any], tmp_path: Path):
    run = own_run("classifier")
    (one,) = run.predict("a good film")
    assert one.keys() == {"text", "label", "P(bad)", "P(good)"}
    assert (one["text"], one["label"]) == ("a good film", "good")
    assert one["P(bad)"] + one["P(good)"] == pytest.approx(1)
    texts = ["a good film", "a bad film", "???"]
    several = run.predict(texts)
    assert several[0] == pytest.approx(one)
    assert [row["label"] for row in several[:2]] == ["good", "bad"]
    frame = pandas.DataFrame({"n": [1, 2, 3], "text": texts})
    frame.to_csv("new.csv", index=False)
    frame.to_parquet("new.parquet", index=False)
    Path("new.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    Path("new.txt").write_text("\n".join(texts) + "\n")
    for source in (frame, *(run.method("read_inputs")(f"new.{kind}") for kind in ("csv", "parquet", "jsonl", "txt"))):
        assert [row["P(good)"] for row in run.predict(source)] == pytest.approx([row["P(good)"] for row in several])
    assert run.method("read_inputs")("a text") == "a text"
    with pytest.raises(ValueError, match="texts must be a str, a list of them or the Path of a file, got int"):
        run.predict(3)


@pytest.mark.parametrize(
    "settings",
    [
        dict(model="rnn"),
        dict(model="transformer", width=8, heads=2, readers=2),
        dict(tokenizer="characters", ngrams=0),
        dict(tokenizer="bpe-300", context=4),
        dict(tokenizer="words-5", hide=0.0),
    ],
    ids=str,
)
def test_every_reader_and_tokenizer(settings: dict[str, Any]):
    run = train(**settings, steps=4, evaluate_every=4)
    found = run.predict(["a good film number 7", "zzz"])
    assert all(np.isfinite(row["P(good)"]) for row in found)
    assert cut.load(run.path).predict("so it is")[0].keys() == found[0].keys()


@pytest.mark.untyped
def test_a_table_in_memory_is_kept():
    rows = [line.split("\t") for line in Path("labelled.tsv").read_text().splitlines()[1:]]
    frame = pandas.DataFrame(rows, columns=["stars", "review"])
    run = train(data=frame, text="review", target="stars")
    Path("labelled.tsv").unlink()
    again = cut.load(run.path)
    assert again.test()["accuracy"] > 0.9
    assert again.predict("a good film")[0]["stars"] == "good"


def test_word_vectors(tmp_path: Path):
    words = {"good": 1.0, "bad": -1.0, "superb": 1.1, "dreadful": -1.1}
    Path("vectors.txt").write_text("".join(f"{word} {x} {2 * x} {-x}\n" for word, x in words.items()))
    run = train(vectors="vectors.txt", hide=0.0, dropout=0.0)
    assert run.model.spec.vector_width == 3
    assert "vectors: 4 of 3 numbers" in run.about["data"]["summary"]
    # A word that training never had is read by its vector.
    superb, dreadful = run.predict(["superb", "dreadful"])
    assert superb["P(good)"] > dreadful["P(good)"]


def test_a_test_file_that_repeats_training_is_told(tmp_path: Path):
    Path("test.tsv").write_text(Path("labelled.tsv").read_text() + "bad\tquite another text\n")
    run = train(test_file="test.tsv", test=0.0)
    with pytest.warns(UserWarning, match="108 of 121 test texts are also in training"):
        assert set(run.test()) >= {"accuracy", "loss", "macro_f1"}


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    settings = dict(CLASSIFIER_SETTINGS, data="labelled.tsv", ema=0.9)
    expect_same_after_death(tmp_path, "classifier", settings, "before a checkpoint becomes the latest")


@pytest.mark.slow
def test_polarity_of_sentences(data_folder: Path):
    """One split, whose interval is wide; `python benchmarks/run.py sentence_classes` has ten folds."""
    vectors = data_folder / "weights" / "glove" / "glove.6B.50d.top20k.f16.npy.xz"
    data = data_folder / "text" / "sentence_polarity.zip"
    run = cut.train("classifier", data=str(data), encoding="latin-1", vectors=str(vectors), show="quiet")
    found = run.test()
    assert found["accuracy"] > 0.78
    assert found["accuracy"] > found["baseline_accuracy"]
    assert found["loss"] < found["baseline_loss"]


@pytest.mark.long
def test_the_report_shows_what_it_learned(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report_run(run).read_text()
    for words in ("What speaks for", "what it is taken for", "Words and pairs of words that speak most", "TF-IDF"):
        assert words in page


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(model="lstm"), "model must be one of cnn, rnn, transformer, got 'lstm'"),
        (dict(tokenizer="word"), "tokenizer must be words, words-N, characters or bpe-N, got 'word'"),
        (dict(tokenizer="characters-9"), "got 'characters-9'"),
        (dict(tokenizer="bpe-300", vectors="v.txt"), "vectors are those of words, got vectors='v.txt'"),
        (dict(penalty=0.0), "penalty must be above 0, got 0.0"),
        (dict(trust=1.5), "trust must be from 0 to below 1, got 1.5"),
        (dict(model="transformer", width=50, heads=4), "got width=50, heads=4; try heads=5"),
        (dict(patience=3, validation=0.0), "patience needs texts to evaluate on, got patience=3"),
        (dict(ngrams=-1), "ngrams must be at least 0, got -1"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        ClassifierRecipe(**settings)


def test_data_that_changed_is_refused(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    other = Path(run.recipe.data).parent / "other.tsv"
    other.write_text(Path(run.recipe.data).read_text() + "good\tone more good text\n")
    run.recipe = dataclasses.replace(run.recipe, data=str(other))
    with pytest.raises(ValueError, match="must have the data that it began with"):
        run.test()


def test_looking(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    subject = subject_of(run, "A good film, isn't it?")
    assert subject.words == "your text"
    assert "".join(subject.tokens) == "A good film, isn't it?"
    assert subject.output(run.model).shape == (1, 2)
    assert subject_of(run).words == "a text that it was not trained on"
    with pytest.raises(ValueError, match="must have a token, got none"):
        subject_of(run, "  ")
    long = subject_of(run, "word " * 500)
    assert long.words == "the first 64 tokens of your text"


def test_hundreds_of_classes_have_fewer_ngrams_each(monkeypatch: pytest.MonkeyPatch):
    """The bag has a weight for each n-gram and class: both cannot grow."""
    from cutaway.tasks.texts import text_readers

    monkeypatch.setattr(text_readers, "_BAG", 60_000)
    lines = "".join(f"c{i % 60}\tw{i % 60} x{i} y{i}\n" for i in range(600))
    Path("many.tsv").write_text("label\ttext\n" + lines)
    job = ClassifierRecipe(data="many.tsv", steps=1).job()
    assert job.model.spec.features <= 1001  # 1,000 n-grams, and one for those that are unknown


def test_augmentation_changes_training_by_the_training_stream_alone():
    once, again, plain = (weights_of(train(augment=rate, steps=4).path) for rate in (0.2, 0.2, 0.0))
    assert same(once, again)
    assert not same(once, plain)


def test_it_never_ends_below_the_bag_of_words_that_it_begins_with():
    """The bag is fitted before the first step: that start counts among what accuracy chooses from."""
    recipe = ClassifierRecipe(**dict(CLASSIFIER_SETTINGS, data="labelled.tsv"))
    assert ClassifierRecipe().final == "best"
    for ngrams in (1000, 0):
        job = dataclasses.replace(recipe, ngrams=ngrams).job()
        assert (job.better, job.more_is_better, job.start_counts) == ("accuracy", True, ngrams > 0)


def test_votes_are_calibrated_on_validation_unless_that_is_switched_off():
    rows = [(f"{'good' if i % 2 else 'bad'} film number {i}", "ab"[(i % 2) ^ (i % 5 == 0)]) for i in range(400)]
    Path("votes.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    for calibrate in (True, False):
        run = train(data="votes.csv", calibrate=calibrate, out=f"run-{calibrate}", validation=0.2)
        last = run.metrics[-1]
        there = next(row for row in run.metrics if row["split"] == "validation" and row["step"] == last["weights_of"])
        assert last["accuracy"] == there["accuracy"]
        assert ("temperature" in last) == calibrate
        assert last["loss"] <= there["loss"] + 1e-9
        assert (last["loss"] < there["loss"] - 1e-6) == calibrate
