"""What tuning changed, in the views of a tuned run."""

from pathlib import Path

import pytest
from tiny_bases import reviews, tiny_bert

import cutaway as cut
from cutaway.runs.views import tuned
from cutaway.tasks.subjects import subject_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("tuned-views")
    tiny_bert(folder / "bert")
    reviews(folder / "reviews.csv", 60)
    settings = dict(task="classify", lora=2, steps=6, batch=8, rate=1e-2, final="last", show="quiet")
    return cut.tune(folder / "bert", data=folder / "reviews.csv", out=folder / "run", **settings)


def test_every_view(run: cut.runs.Run):
    assert tuned.is_tuned(run)
    subject = subject_of(run)
    moved, ranks = tuned.weight_updates(run, subject)
    assert moved.alt.startswith("Heat map of |ΔW| / |W|: 2 × ")
    assert "directions" in ranks.caption
    whole, _ = tuned.changed_representations(run, subject)
    assert "2 × 2" in whole.alt
    answers = run.recipe.answers_before_and_after(run, tuned.base_of(run))
    assert len(answers.examples) == len(answers.before) == len(answers.right_after)
    for picture in tuned.flipped_answers(run, subject):
        assert "became right" in picture.caption
    report = (run.path / "report.html").read_text(encoding="utf-8")
    assert "How far tuning moved the weights" in report


def test_nothing_moved(run: cut.runs.Run, monkeypatch: pytest.MonkeyPatch):
    """Where validation was best before the first step, the page says so in place of empty pictures."""
    monkeypatch.setattr(tuned, "base_of", lambda run: run.model)
    kept = {"step": 6, "split": "validation-whole", "loss": 0.5, "weights_of": 0}
    monkeypatch.setattr(type(run), "metrics", [*run.metrics, kept])
    subject = subject_of(run)
    with pytest.raises(ValueError, match="no matrix of the base moved: validation was best before the first step"):
        tuned.weight_updates(run, subject)
    assert tuned.changed_representations(run, subject) == []


def test_a_base_that_is_gone_or_another(run: cut.runs.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    noted = dict(run.about["data"]["base"])
    gone = {name: str(tmp_path / "none") for name in ("path", "beside", "given")}
    monkeypatch.setitem(run.about["data"], "base", noted | gone)
    with pytest.raises(
        ValueError, match=r"seen beside the base, which cannot be opened: .* got none; looked in .*none"
    ):
        tuned.base_of(run)
    monkeypatch.setitem(run.about["data"], "base", noted | {"digest": "other"})
    with pytest.raises(ValueError, match=r"which cannot be opened: .*sha256 other.* got other weights in"):
        tuned.base_of(run)


def test_weights_that_tuning_left_are_in_memory_once(run: cut.runs.Run, monkeypatch: pytest.MonkeyPatch):
    from cutaway.training.adapters.records import named_parameters

    monkeypatch.setattr(tuned, "_kept", {})
    base, own = named_parameters(tuned.base_of(run)), named_parameters(run.model)
    shared = [name for name, p in base.items() if name in own and own[name].data_ptr() == p.data_ptr()]
    assert any("attention" in name for name in shared)
    assert not any("head" in name or "lora" in name for name in shared)


def test_runs_that_are_not_tuned(trained):
    assert not tuned.is_tuned(cut.load(trained("gpt")))
