"""Gates of every family that declares recurrent layers, with its own steps beneath; one of them held open."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from trained import CLASSIFIER_SETTINGS, TAGGER_SETTINGS, little_labelled, little_pairs, little_treebank

import cutaway as cut
from cutaway.models import SeriesClassifier, TextClassifier
from cutaway.runs import execution
from cutaway.runs.views.gates import gates, has_gates, only_has_gates, recurrent_cells
from cutaway.tasks.subjects import subject_of

QUICK: dict[str, Any] = dict(steps=2, evaluate_every=2, checkpoint_every=2, show="quiet")


@pytest.fixture(autouse=True)
def _no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))


def tagger(folder: Path) -> Any:
    return cut.train("tagger", data=str(little_treebank(folder)), out=folder / "run", **TAGGER_SETTINGS | QUICK)


def classifier(folder: Path) -> Any:
    little_labelled(folder)
    settings = CLASSIFIER_SETTINGS | QUICK | dict(model="rnn", readers=3)
    return cut.train("classifier", data=str(folder / "labelled.tsv"), out=folder / "run", **settings)


def seq2seq(folder: Path) -> Any:
    sizes = dict(batch=8, width=16, embedding=8, context=24, tokenizer="bpe-300", validation=0.1, test=0.1, beams=1)
    return cut.train("seq2seq", data=str(little_pairs(folder)), out=folder / "run", **sizes, **QUICK)


def deepar(folder: Path) -> Any:
    t = np.arange(70)
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=70)})
    for i, name in enumerate("abc"):
        frame[name] = 5 * (i + 1) + np.sin(2 * np.pi * t / 7 + i)
    frame.to_csv(folder / "series.csv", index=False)
    sizes = dict(horizon=4, batch=8, width=8, depth=1, context=8, samples=10)
    return cut.train("deepar", data=str(folder / "series.csv"), out=folder / "run", **sizes, **QUICK)


def series_classifier(folder: Path) -> Any:
    kind = np.arange(40) % 2
    values = np.sin(np.arange(24) * np.where(kind, 1.5, 0.4)[:, None] + kind[:, None])
    frame = pd.DataFrame(values, columns=[f"t{i}" for i in range(24)]).assign(kind=np.where(kind, "quick", "slow"))
    frame.to_csv(folder / "waves.csv", index=False)
    settings = dict(design="rnn", width=8, depth=2) | QUICK
    return cut.train("series-classifier", data=str(folder / "waves.csv"), out=folder / "run", **settings)


def steps_beneath(picture: Any) -> list[str]:
    (found,) = [one["value"] for one in picture.spec()["params"] if one["name"] == "tokens"]
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "titles", "beneath"),
    [
        (tagger, ["layer 0", "layer 0, backwards"], None),
        (
            classifier,
            [f"readers.{i}.encoder.lstm, layer 0{way}" for i in (0, 1) for way in ("", ", backwards")],
            None,
        ),
        (seq2seq, ["encoder, layer 0", "encoder, layer 0, backwards", "decoder"], None),
        (deepar, ["layer 0"], [f"2024-03-{day:02}" for day in range(3, 11)]),
        (series_classifier, ["layer 0", "layer 0, backwards", "layer 1, backwards"], [str(i) for i in range(24)]),
    ],
)
def test_every_family_that_declares_recurrent_layers(make, titles, beneath, tmp_path):
    run = make(tmp_path)
    subject = subject_of(run)
    assert has_gates(run)
    assert only_has_gates(run)
    pictures = gates(run, subject)
    assert [picture.title.removeprefix("Gates and states over time, ") for picture in pictures] == titles
    assert len(steps_beneath(pictures[0])) == len(beneath or subject.tokens)
    if beneath is not None:
        assert steps_beneath(pictures[0]) == beneath
    assert all("forget gate" in picture.alt and picture.caption.startswith("Follow a line") for picture in pictures)
    if make is seq2seq:
        assert len(steps_beneath(pictures[-1])) == len(subject.written)

    # hold the first forget gate open: c⁽ᵗ⁾ = c⁽ᵗ⁻¹⁾ + i ⊙ g, and the answer changes
    address, *_ = recurrent_cells(run.model)
    names = ("forget_gate", "input_gate", "candidate", "cell")
    answer = lambda: next(iter(cut.inside.results.tensors(run.model(*subject.arguments))))
    with torch.no_grad():
        before = answer()
        with cut.patch(run.model, {f"{address}.forget_gate": 1.0}), cut.trace(run.model, f"{address}.*") as seen:
            after = answer()
    f, i, g, c = (seen[f"{address}.{name}"][0] for name in names)
    assert (f[: len(beneath or subject.tokens)] == 1).all()
    torch.testing.assert_close(c, (i * g).cumsum(0), rtol=1e-4, atol=1e-5)
    assert not torch.equal(before, after)


@pytest.mark.parametrize(
    ("model", "kind"), [(SeriesClassifier(classes=2), "conv"), (TextClassifier(classes=2, vocabulary=9), "cnn")]
)
def test_models_without_recurrence_declare_none(model, kind):
    assert recurrent_cells(model) == {}
