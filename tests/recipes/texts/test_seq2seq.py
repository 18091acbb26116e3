from pathlib import Path

import pytest
from trained import little_pairs

import cutaway as cut
from cutaway.runs.pages import draw_views
from cutaway.tasks.subjects import subject_of

SETTINGS = dict(
    steps=4, batch=8, width=16, embedding=8, context=24, warmup=2, tokenizer="bpe-300", validation=0.1, test=0.1,
    beams=2, evaluate_every=2, checkpoint_every=2, show="quiet",
)  # fmt: skip


@pytest.mark.parametrize("reads", ["attention", "thought"])
def test_trains_translates_and_is_tested(reads: str, tmp_path: Path):
    data = str(little_pairs(tmp_path))
    cut.train("seq2seq", data=data, reads=reads, out=tmp_path / "run", **SETTINGS)
    run = cut.load(tmp_path / "run")
    assert set(run.test()) >= {"loss", "accuracy", "bleu"}
    (answer,) = run.predict(["I see 3 cats."])
    assert set(answer) == {"source", "translation"}
    assert isinstance(run.generate("I see 3 cats.", tokens=5), str)
    assert isinstance(run.generate("I see 3 cats.", tokens=5, temperature=1.0, seed=1), str)


def test_the_alignment_is_drawn(tmp_path: Path):
    run = cut.train("seq2seq", data=str(little_pairs(tmp_path)), out=tmp_path / "run", **SETTINGS)
    subject = subject_of(run, "I see 7 cats.")
    views = {name: part for section, part, name in draw_views(run, subject) if section == "Attention"}
    picture = views["attention"]
    assert "From what is written to the source" in picture.title
    assert picture.caption.endswith(".")


def test_the_smaller_settings_and_mistakes():
    from cutaway.recipes.texts.seq2seq import Seq2SeqRecipe

    assert "width=192" in Seq2SeqRecipe().smaller()
    for settings, words in (
        (dict(width=0), "width must be"),
        (dict(context=2), "context must be"),
        (dict(smoothing=1.0), "smoothing must"),
    ):
        with pytest.raises(ValueError, match=words):
            Seq2SeqRecipe(**settings)


@pytest.mark.slow
@pytest.mark.untyped  # checked signatures take most of the time of a loop over words
def test_stated_quality(tmp_path: Path):
    """The dates that every machine has: nearly all of the held-out ones are right."""
    run = cut.train("seq2seq", out=tmp_path / "run", show="quiet")
    assert run.test()["exact"] > 0.97
