"""Masked-token pretraining: a whole run, its figures, resumed bit for bit, and as a checkpoint elsewhere."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from killing import expect_same_after_death
from little import little_text
from trained import BERT_SETTINGS

import cutaway as cut
from cutaway.data.text.masking import every_masked_batch
from cutaway.models import BERT
from cutaway.recipes.texts.bert import BERTRecipe
from cutaway.runs import execution, report_run
from cutaway.runs.checkpoints_in_and_out import export_run, import_checkpoint
from cutaway.tasks.subjects import subject_of


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
    little_text(tmp_path)


def train(**more: Any) -> Any:
    return cut.train("bert", data="little.txt", show="quiet", **BERT_SETTINGS | more)


def test_a_run_from_start_to_end():
    run = train()
    assert isinstance(run.model, BERT)
    assert run.metrics[0]["split"] == "validation"
    assert run.metrics[0].keys() == {"step", "split", "loss", "accuracy"}
    assert run.metrics[0]["loss"] == pytest.approx(math.log(run.model.spec.vocabulary), rel=0.1)
    assert list(run.all_samples) == [4, 8, 12]
    assert run.samples.keys() == {"gaps.txt"}
    assert run.test().keys() == {"loss", "accuracy"}
    assert json.loads((run.path / "config.json").read_text())["data"]["summary"].startswith("little.txt: ")


@pytest.mark.parametrize("tokenizer", ["bpe-300", "characters", "bytes"])
def test_gaps_are_filled_in_every_vocabulary(tokenizer: str):
    run = train(tokenizer=tokenizer)
    found = run.predict("the [MASK]og")
    assert [guess["mask"] for guess in found] == [1] * 5
    assert found == cut.load(run.path).predict(["the [MASK]og"])
    assert sum(guess["probability"] for guess in found) <= 1
    z = run.model.encode(torch.as_tensor(run.tokenizer.encode("the dog"))[None])
    assert z.shape == (1, len(run.tokenizer.encode("the dog")), 16)


@pytest.mark.parametrize("mask", ["words", "spans"])
def test_whole_words_and_spans_are_learned_too(mask: str):
    run = train(mask=mask, steps=30, evaluate_every=30)
    first, *_, last = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert last < first
    assert run.config.mask == mask
    assert run.test().keys() == {"loss", "accuracy"}
    assert "[MASK]" in subject_of(run).tokens


def test_training_learns():
    """Every third word is 'the': a model of gaps soon beats the most frequent token."""
    metrics = train(steps=120, evaluate_every=120, tokenizer="characters", width=32).metrics
    first, *_, last = [row for row in metrics if row["split"] == "validation"]
    assert last["loss"] < 0.75 * first["loss"]


def test_a_job_is_the_same_every_time_and_shared_among_processes():
    recipe = BERTRecipe(data="little.txt", **BERT_SETTINGS)
    one, two = recipe.job(), recipe.job()
    for name, p in one.model.named_parameters():
        assert torch.equal(p, two.model.get_parameter(name))
    shares = [recipe.job(rank, 2).batches.at(5) for rank in range(2)]
    whole = one.batches.at(5)
    assert np.array_equal(np.concatenate([share.tokens for share in shares]), whole.tokens)
    # both predict equally many, so the mean of their costs is the cost of the whole
    costs = [one.objective(one.model, batch).item() for batch in (*shares, whole)]
    assert (costs[0] + costs[1]) / 2 == pytest.approx(costs[2], rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("moment", "mask"),
    [("between the files of a checkpoint", "spans"), ("before a checkpoint becomes the latest", "tokens")],
)
def test_killed_and_resumed_it_ends_the_same(moment: str, mask: str, tmp_path: Path):
    settings = BERT_SETTINGS | dict(data=str(tmp_path / "little.txt"), dropout=0.1, ema=0.9, accumulate=2, mask=mask)
    expect_same_after_death(tmp_path, "bert", settings, moment)


def test_transformers_loads_it_to_the_same_logits(own_run: Callable[[str], Any]):
    transformers = pytest.importorskip("transformers")
    run = own_run("bert")
    export_run(str(run.path), "out")
    theirs = transformers.BertForMaskedLM.from_pretrained("out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained("out")
    text = "the [MASK] ate the dog"
    tokens = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        logits = theirs(tokens).logits
        torch.testing.assert_close(logits, run.model(tokens), rtol=1e-4, atol=1e-5)
    chances = logits[0, tokens[0] == tokenizer.mask_token_id].softmax(-1)[0]
    best = run.predict(text)[0]
    assert best["probability"] == pytest.approx(chances.max().item(), rel=1e-4)
    assert best["candidate"] == tokenizer.decode([int(chances.argmax())])


def test_there_and_back_it_still_fills_gaps(own_run: Callable[[str], Any]):
    run = own_run("bert")
    export_run(str(run.path), "out")
    again = import_checkpoint("out", "again")
    ours, theirs = run.predict("the [MASK] ate"), again.predict("the [MASK] ate")
    assert [guess["candidate"] for guess in ours] == [guess["candidate"] for guess in theirs]
    assert [g["probability"] for g in ours] == pytest.approx([g["probability"] for g in theirs], rel=1e-4)


def test_the_report_looks_inside(own_run: Callable[[str], Any]):
    page = report_run(own_run("bert")).read_text(encoding="utf-8")
    assert "Attention of every head, over 16 tokens" in page
    assert "What goes in: the beginning of the validation text, with masked tokens." in page


def test_what_is_looked_at(own_run: Callable[[str], Any]):
    run = own_run("bert")
    assert subject_of(run).words == "the beginning of the validation text, with masked tokens"
    assert "[MASK]" in subject_of(run).tokens
    assert subject_of(run, "the [MASK]").tokens[-2:] == ("[MASK]", "[SEP]")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"width": 12, "heads": 5}, "width must be a multiple of heads, got width=12, heads=5; try heads=4"),
        ({"masked": 0.0}, "masked must be above 0 and below 1, got 0.0; try masked=0.15"),
        ({"context": 2}, "context must be at least 3, got 2; try context="),
        ({"validation": 0.0, "patience": 3}, "patience needs data to evaluate on, got patience=3 with validation=0"),
    ],
)
def test_wrong_settings(settings: dict, told: str):
    with pytest.raises(ValueError, match=told):
        BERTRecipe(**settings)


def test_texts_that_cannot_be_trained_on(tmp_path: Path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "short.txt").write_text("one line only\n")
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    for name, told in (
        ("empty.txt", "text must hold at least one character, got empty.txt which is empty"),
        ("short.txt", "the train part of short.txt must hold more tokens than the context, got"),
        ("picture.txt", "text must be a text file, got picture.txt which is a PNG image"),
        ("nowhere.txt", "data must be a file, a folder or a sample, got 'nowhere.txt'"),
    ):
        with pytest.raises(ValueError, match=told):
            BERTRecipe(data=name, **BERT_SETTINGS).job()


def test_a_tokenizer_without_a_mask_is_refused(tmp_path: Path):
    from cutaway.data.text.tokenizers import train_bpe

    train_bpe([Path("little.txt").read_text()], 300).save(tmp_path / "plain.json")
    with pytest.raises(ValueError, match=r"must have the tokens \[CLS\], \[SEP\], \[MASK\], got one without"):
        dataclasses.replace(
            BERTRecipe(data="little.txt", **BERT_SETTINGS), tokenizer=str(tmp_path / "plain.json")
        ).job()


def test_what_to_lower():
    told = BERTRecipe(batch=8).smaller()
    assert told.startswith("lower batch=8 (a higher accumulate=1 makes up for it), context=")
    assert told.endswith(", or turn on checkpointing")
    assert "checkpointing" not in BERTRecipe(checkpointing=True).smaller()


@pytest.mark.slow
def test_gaps_are_filled_as_well_as_it_says():
    """The default run: better than the frequencies of tokens, and than what their two neighbours tell."""
    run = cut.train("bert", show="quiet")
    corpus = run.recipe.dataset()
    how, v = run.recipe.masking(corpus), corpus.vocabulary
    ids = np.asarray(corpus.train[:]).astype(np.int64)
    p = (np.bincount(ids, minlength=v) + 0.5) / (len(ids) + 0.5 * v)
    pairs = np.zeros((v, v))
    np.add.at(pairs, (ids[:-1], ids[1:]), 1)
    left, right = ((table + 30 * p) / (table + 30 * p).sum(1, keepdims=True) for table in (pairs, pairs.T))
    hits: dict[str, list[bool]] = {"unigram": [], "neighbours": []}
    for gaps in every_masked_batch(corpus.validation, how, 64):
        for row, place, target in zip(*np.nonzero(gaps.chosen), gaps.targets, strict=True):
            before, after = gaps.tokens[row, place - 1], gaps.tokens[row, place + 1]
            special = how.special[:3]
            chances = (p if before in special else left[before]) * (1 if after in special else right[after] / p)
            hits["unigram"].append(p.argmax() == target)
            hits["neighbours"].append(chances.argmax() == target)
    found = run.metrics[-1]["accuracy"]
    assert found > 3 * np.mean(hits["unigram"])
    assert found > np.mean(hits["neighbours"]) + 0.04
