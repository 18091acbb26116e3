"""Translation from pairs: a whole run, resumed bit for bit, and what stands in the way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from killing import expect_same_after_death
from trained import TRANSFORMER_SETTINGS, little_pairs

import cutaway as cut
from cutaway.models import Transformer
from cutaway.recipes.texts.transformer import TransformerRecipe
from cutaway.runs import execution, report_run
from cutaway.tasks.subjects import subject_of


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
    little_pairs(tmp_path)


def train(**more: Any) -> Any:
    return cut.train("transformer", data="pairs.tsv", show="quiet", **TRANSFORMER_SETTINGS | more)


def test_a_run_from_start_to_end():
    run = train()
    assert isinstance(run.model, Transformer)
    assert run.metrics[0].keys() == {"step", "split", "loss", "accuracy"}
    assert run.metrics[-1].keys() == {"step", "split", "loss", "accuracy", "exact", "bleu", "weights_of"}
    assert list(run.all_samples) == [4, 8, 12]
    assert "I see" in run.samples["translations.txt"]
    assert run.test().keys() == {"loss", "accuracy", "exact", "bleu"}
    about = json.loads((run.path / "config.json").read_text())
    assert about["data"]["summary"].startswith("pairs.tsv: pairs for train 1")
    assert (about["spec"]["start"], about["spec"]["end"]) == (1, [2])


@pytest.mark.long
def test_it_learns_to_translate():
    """Twenty nouns and twenty adjectives, whose order changes; a tenth of their pairs is never seen."""
    nouns, adjectives = ([f"{a}{b}" for a in letters for b in "aeiou"] for letters in ("bcdf", "mnpr"))
    lines = [f"the {a} {n}\tel {n}s {a}no\n" for n in nouns for a in adjectives]
    Path("pairs.tsv").write_text("".join(lines))
    how = dict(steps=150, evaluate_every=150, width=64, batch=32, dropout=0.0, tokenizer="bpe-400", rate=0.01)
    run = train(**how)
    assert run.test()["exact"] > 0.8
    assert run.generate("the mi ba") == "el bas mino"


def test_translations_are_searched_for_or_drawn(own_run: Callable[[str], Any]):
    run = own_run("transformer")
    searched = run.generate("I see 7 cats.")
    assert searched == run.predict("I see 7 cats.")[0]["translation"] == cut.load(run.path).generate("I see 7 cats.")
    assert run.predict(["I see 7 cats."]) == [{"source": "I see 7 cats.", "translation": searched}]
    greedy = run.generate("I see 7 cats.", temperature=0.0)
    assert greedy == run.generate("I see 7 cats.", beams=1)
    drawn = run.generate("I see 7 cats.", temperature=1.5, seed=3)
    assert drawn == run.generate("I see 7 cats.", temperature=1.5, seed=3)
    letter = greedy.strip()[:1]
    assert run.generate("I see 7 cats.", beams=1, stop=letter) == greedy[: greedy.index(letter)]


@pytest.mark.parametrize("design", ["quick", "base"])
def test_a_job_is_the_same_every_time_and_shared_among_processes(design: str):
    recipe = TransformerRecipe(data="pairs.tsv", design=design, **TRANSFORMER_SETTINGS)
    one, two = recipe.job(), recipe.job()
    for name, p in one.model.named_parameters():
        assert torch.equal(p, two.model.get_parameter(name))
    one.model.eval()
    shares = [recipe.job(rank, 2).batches.at(5) for rank in range(2)]
    costs = [one.objective(one.model, batch).item() for batch in (*shares, one.batches.at(5))]
    assert np.mean(costs[:2]) == pytest.approx(costs[2], rel=1e-5)
    assert one.model.spec.order == {"quick": "pre", "base": "post"}[design]


@pytest.mark.long
@pytest.mark.parametrize("moment", ["between the files of a checkpoint", "before a checkpoint becomes the latest"])
def test_killed_and_resumed_it_ends_the_same(moment: str, tmp_path: Path):
    settings = TRANSFORMER_SETTINGS | dict(data=str(tmp_path / "pairs.tsv"), dropout=0.1, ema=0.9, accumulate=2)
    expect_same_after_death(tmp_path, "transformer", settings, moment)


def test_pairs_that_are_too_long_are_left_out_and_told():
    long = "I see " + "very many " * 30 + "cats.\tVeo gatos.\n"
    Path("pairs.tsv").write_text(Path("pairs.tsv").read_text() + long)
    recipe = TransformerRecipe(data="pairs.tsv", **TRANSFORMER_SETTINGS | dict(validation=0.0, test=0.0))
    job = recipe.job()
    assert job.data["summary"].endswith("left out: 1 training pairs longer than 24 tokens")
    assert len(job.batches.pairs) == 150
    assert (
        "left out"
        not in TransformerRecipe(data="pairs.tsv", **TRANSFORMER_SETTINGS | dict(context=128)).job().data["summary"]
    )
    with pytest.raises(ValueError, match=r"got context=3 and only longer ones in pairs\.tsv; try context="):
        TransformerRecipe(data="pairs.tsv", **TRANSFORMER_SETTINGS | dict(context=3)).job()


def test_the_report_looks_inside(own_run: Callable[[str], Any]):
    page = report_run(own_run("transformer")).read_text(encoding="utf-8")
    for title in ("Cross attention of layer", "From what is written to the source", "Within the source"):
        assert title in page


def test_what_is_looked_at(own_run: Callable[[str], Any]):
    run = own_run("transformer")
    seen = subject_of(run)
    assert (seen.words, seen.tokens[0], seen.written[0]) == ("a pair that it was not trained on", "I", "<start>")
    assert seen.written[-1] == "."  # what a decoder is given: all but the end
    assert subject_of(run, "I see 5 cats.").words == "your text, and what the model makes of it"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"width": 12, "heads": 5}, "width must be a multiple of heads, got width=12, heads=5; try heads=4"),
        ({"smoothing": 1.0}, "smoothing must be from 0 to below 1, got 1.0"),
        ({"beams": 0}, "beams must be at least 1, got 0; try beams=4"),
        ({"validation": 0.0, "patience": 3}, "patience needs data to evaluate on, got patience=3 with validation=0"),
    ],
)
def test_wrong_settings(settings: dict, told: str):
    with pytest.raises(ValueError, match=told):
        TransformerRecipe(**settings)


def test_pairs_that_cannot_be_trained_on(tmp_path: Path):
    Path("empty.tsv").write_text("")
    Path("plain.txt").write_text("no tab here\nnor here\n")
    Path("ragged.tsv").write_text("a\tb\nonly one\nc\td\n")
    Path("few.tsv").write_text("a\tb\nc\td\ne\tf\n")
    for name, told in (
        ("empty.tsv", "pairs must hold at least one line, got empty.tsv which is empty"),
        ("plain.txt", "a source and a target with a tab between, got 'no tab here' in line 1 of plain.txt"),
        ("ragged.tsv", "with a tab between, got 'only one' in line 2 of ragged.tsv; mend that line"),
        ("few.tsv", "a batch must not be larger than the data, got batch=8 for 3 pairs; try batch=3"),
        ("iris", "pairs was asked for, got the table sample iris; give a path, or a pairs sample: dates"),
    ):
        with pytest.raises(ValueError, match=told):
            TransformerRecipe(data=name, **TRANSFORMER_SETTINGS | dict(validation=0.0, test=0.0)).job()


def test_changed_pairs_are_noticed():
    run = train()
    little_pairs(Path(), 151)
    with pytest.raises(ValueError, match="must have the data that it began with"):
        run.test()


def test_what_to_lower():
    hint = TransformerRecipe(batch=8).smaller()
    assert hint.startswith(
        "lower batch=8 (a higher accumulate=1 makes up for it), context=128, width=128 or depth=2, or"
    )
    assert hint.endswith(", or turn on checkpointing, or lower the vocabulary of tokenizer=bpe-8000")
    assert "checkpointing" not in TransformerRecipe(checkpointing=True).smaller()


@pytest.mark.slow
def test_dates_are_read_as_it_says():
    """The default run: at least 95 in 100 dates that it never saw, in whatever way they are written."""
    run = cut.train("transformer", show="quiet")
    found = run.test()
    assert found["exact"] > 0.95
    assert run.generate("Sunday the 20th of July 1969") == "1969-07-20"


@pytest.mark.slow
def test_english_to_spanish(data_folder: Path):
    """A quarter of the steps of benchmarks/translation.py: far beyond the frequencies of Spanish tokens."""
    how = dict(data=str(data_folder / "text" / "spa-eng.zip"), steps=300, validation=0.005)
    run = cut.train("transformer", show="quiet", **how)
    pairs = run.recipe.dataset()
    seen, held_out = (
        part.target.ids[part.target.ids != 1].astype(np.int64) for part in (pairs.train, pairs.validation)
    )
    frequencies = (np.bincount(seen, minlength=pairs.vocabulary) + 0.5) / (len(seen) + 0.5 * pairs.vocabulary)
    unigram = -np.log(frequencies[held_out]).mean()
    whole = run.metrics[-1]
    assert whole["loss"] < unigram - 1.5
    assert whole["accuracy"] > 2 * frequencies.max()
