"""Tuning by pairs: what belongs together comes near, beside the base as it was."""

from pathlib import Path

import numpy as np
import pytest
import torch
from killing import expect_same_after_death
from tiny_bases import OTHERS, tiny_bert

import cutaway as cut

QUICK = dict(show="quiet", full=True, batch=16, rate=1e-2, task="pairs")
WORDS = OTHERS[:8]


def write_pairs(path: Path, scored: bool = False) -> Path:
    """Texts of the same two words, in either order, with others between."""
    rng = np.random.default_rng(0)
    lines = ["sentence1,sentence2,score" if scored else "anchor,positive"]
    for i in range(120):
        a, b = rng.choice(8, 2, replace=False)
        other = WORDS[rng.integers(8)]
        if scored:
            same = i % 2
            second = f"{WORDS[b]} {WORDS[a]}" if same else f"{other} {WORDS[(a + b + 1) % 8]}"
            lines.append(f"{WORDS[a]} {WORDS[b]},{second},{same}")
        else:
            lines.append(f"{WORDS[a]} {WORDS[b]} {i},{WORDS[b]} {WORDS[a]} {i}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    tiny_bert(folder / "bert")
    tiny_bert(folder / "still", dropout=0.0)
    write_pairs(folder / "pairs.csv")
    lines = [line.split(",")[0] for line in (folder / "pairs.csv").read_text(encoding="utf-8").splitlines()[1:]]
    (folder / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    write_pairs(folder / "scored.csv", scored=True)
    return folder


def test_a_tuned_run_finds_and_is_used(place: Path, tmp_path: Path):
    run = cut.tune(place / "bert", data=place / "pairs.csv", epochs=8, out=tmp_path / "run", **QUICK)
    before = run.about["data"]["baseline"]["metrics"]
    assert run.about["data"]["baseline"]["rule"].endswith("which chooses among the same 12 second texts")
    after = [row for row in run.metrics if row["split"] == "validation-whole"][-1]
    assert after["mrr"] >= before["mrr"]
    assert after["loss"] < before["loss"]
    again = cut.load(run.path)
    assert again.embed(["the film", "a story"]).shape == (2, 16)
    assert again.model.spec.sentence.pooling == ("mean",)
    assert again.nearest("the film", among=["film the", "very so"], k=1)[0][0] == "film the"
    answers = again.predict({"anchor": ["the film"], "positive": ["film the"]})
    assert answers[0]["cosine"] == pytest.approx(float(again.embed("the film") @ again.embed("film the")), abs=1e-5)
    assert {"mrr", "recall@1", "baseline_mrr"} <= set(again.test())
    cut.save_pretrained(again.model, tmp_path / "out")
    back = cut.from_pretrained(tmp_path / "out")
    torch.testing.assert_close(back.embed(["the film"]), again.embed(["the film"]))


@pytest.mark.parametrize("way", ["lora", "adapter"])
def test_a_run_of_bert_loses_its_head_and_learns_beside_it(trained, place: Path, tmp_path: Path, way: str):
    """What was put beside the weights learns alone: the head for masked tokens is not there any more."""
    base = trained("bert")
    assert cut.load(base).model.head is not None
    settings = QUICK | {"full": False, way: 2}
    run = cut.tune(base, data=place / "pairs.csv", steps=2, out=tmp_path / "run", **settings)
    assert run.model.head is None
    again = cut.load(run.path)
    assert again.about["data"]["tuning"]["way"] == way
    torch.testing.assert_close(again.embed(["the film"]), run.embed(["the film"]))
    with pytest.raises(ValueError, match="head_only trains a head of labels or one that is new, got the task 'pairs'"):
        cut.tune(base, data=place / "pairs.csv", out=tmp_path / "no", **QUICK | dict(full=False, head_only=True))


def test_pairs_to_compare_come_in_a_table(place: Path, tmp_path: Path):
    run = cut.tune(place / "bert", data=place / "pairs.csv", steps=1, out=tmp_path / "run", **QUICK)
    for given in ("the", tmp_path / "nowhere.csv"):
        with pytest.raises(ValueError, match=r"pairs to compare come in a table, got '.*', which is no file; give"):
            run.predict(given)
    (tmp_path / "one.csv").write_text("anchor\nthe film\na story\n", encoding="utf-8")
    with pytest.raises(ValueError, match="pairs need two columns of texts, got 'anchor' alone"):
        run.predict(tmp_path / "one.csv")
    assert run.predict(place / "pairs.csv")[0].keys() == {"anchor", "positive", "cosine"}


@pytest.mark.parametrize("source", ["pairs.csv", "texts.txt"])
def test_lora_killed_and_resumed(place: Path, tmp_path: Path, source: str):
    settings = dict(base=str(place / "bert"), data=str(place / source), lora=2, batch=16, rate=1e-2)
    settings |= dict(steps=8, evaluate_every=4, checkpoint_every=3, final="last")
    whole, _ = expect_same_after_death(tmp_path, "tuned-pairs", settings)
    run = cut.load(whole)
    assert run.about["data"]["tuning"]["way"] == "lora"
    assert (whole / "adapter" / "adapter_model.safetensors").is_file()
    base = cut.from_pretrained(place / "bert")
    assert not torch.allclose(run.embed("the film"), base.embed("the film"), atol=1e-4)


def test_texts_without_a_partner(place: Path, tmp_path: Path):
    """SimCSE: the two views differ by dropout, so that other texts move away from each other."""
    settings = QUICK | dict(data=place / "texts.txt", final="last")
    run = cut.tune(place / "still", epochs=8, out=tmp_path / "run", **settings)
    assert "each a pair with itself under two dropout masks (SimCSE)" in run.about["data"]["summary"]
    assert run.model.spec.dropout == run.model.spec.attention.dropout == 0.1  # the base has none
    texts = ["the film was so", "very plot it and", "a story so", "was the very"]
    base = cut.from_pretrained(place / "still").embed(texts)
    tuned = run.embed(texts)
    assert (tuned @ tuned.T).mean() < (base @ base.T).mean() - 0.05
    assert run.test()["mrr"] > 0
    kept = cut.tune(place / "bert", steps=1, out=tmp_path / "kept", **settings | {"dropout": 0.3})
    assert kept.model.spec.dropout == 0.3


def test_scores(place: Path, tmp_path: Path):
    run = cut.tune(place / "bert", data=place / "scored.csv", epochs=6, out=tmp_path / "run", **QUICK)
    after = [row for row in run.metrics if row["split"] == "validation-whole"][-1]
    assert after["loss"] < run.about["data"]["baseline"]["metrics"]["loss"]
    assert -1 <= after["spearman"] <= 1


def test_the_task_is_found_by_the_columns(place: Path):
    from cutaway.tuning.task_choice import find_task

    assert find_task(str(place / "bert"), str(place / "pairs.csv")).kind.task == "pairs"
    assert find_task(str(place / "bert"), str(place / "scored.csv")).kind.task == "pairs"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(batch=1), "batch must be at least 2, as pairs are told from each other, got 1"),
        (dict(scale=0.0), "scale must be above 0, got 0.0; try scale=20"),
        (dict(columns="a,b,c,d"), "columns must name one to three columns, got 'a,b,c,d'"),
        (dict(dropout=1.5), "dropout must be .* got 1.5"),
        (dict(columns="anchor,postive"), "got 'postive'; try 'positive'"),
        (
            dict(full=False, head_only=True),
            "head_only trains a head of labels or one that is new, got the task 'pairs'",
        ),
    ],
)
def test_mistakes(place: Path, tmp_path: Path, settings, message):
    with pytest.raises(ValueError, match=message):
        cut.tune(place / "bert", data=place / "pairs.csv", out=tmp_path / "run", **QUICK | settings)
