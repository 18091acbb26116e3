"""Language models that go on learning."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_bases import GOOD, OTHERS, reviews, tiny_bert, tiny_gpt, word_tokenizer

import cutaway as cut
from cutaway.data.text.token_files import Tokens
from cutaway.hub import save_pretrained
from cutaway.models import HeadSpec
from cutaway.models.specs.parts import SentenceSpec
from cutaway.tuning.masked_heads import with_masked_head

QUICK = dict(show="quiet", context=16, batch=4, epochs=3, validation=0.1, test=0.1, sample_tokens=3, evaluate_every=25)

SENTENCE = SentenceSpec(pooling=("max",), normalize=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    tiny_gpt(folder / "gpt")
    tiny_gpt(folder / "llama", llama=True)
    tiny_bert(folder / "bert", head=HeadSpec("masked"))
    tiny_bert(folder / "bare", sentence=SENTENCE, pooler=True)
    classes = cut.from_pretrained(folder / "gpt").with_labels(("a", "b"))
    save_pretrained(classes, folder / "classes")
    (folder / "text.txt").write_text(" ".join([*OTHERS, *GOOD] * 60))
    return folder


@pytest.mark.parametrize("base", ["gpt", "llama", "bert"])
def test_it_goes_on_learning(place: Path, base: str):
    run = cut.tune(place / base, data=place / "text.txt", lora=4, rate=3e-2, out=place / f"run-{base}", **QUICK)
    rows = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert run.recipe.name == "tuned-language"
    assert min(rows) < rows[0] - (0.02 if base == "bert" else 0.1)
    assert run.test()["loss"] < rows[0]
    again = cut.load(run.path)
    if base == "bert":
        assert len(again.predict("the [MASK] was so")) == 5
    else:
        assert again.generate("the film", tokens=3, temperature=0)
        with pytest.raises(ValueError, match=r"a model of next tokens writes"):
            again.predict("the film")


def test_a_bert_without_a_head_for_tokens_is_given_one(place: Path):
    """It learns beside LoRA, the table that it is tied to does not; texts are pooled as the base pools them."""
    run = cut.tune(place / "bare", data=place / "text.txt", lora=4, rate=1e-2, out=place / "new-head", **QUICK)
    assert "head: new, for masked tokens, tied to the embeddings" in run.about["data"]["summary"]
    rows = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert min(rows) < rows[0] - 0.02
    assert run.test()["loss"] < rows[0]
    again = cut.load(run.path)
    learning = {name for name, p in again.model.named_parameters() if p.requires_grad}
    head = {f"head.{name}" for name, _ in again.model.head.named_parameters()}
    assert head <= learning
    assert not [name for name in learning - head if ".lora." not in name]
    assert torch.equal(again.model.embed.weight, cut.from_pretrained(place / "bare").embed.weight)
    assert again.model.spec.sentence == cut.from_pretrained(place / "bare").spec.sentence
    assert len(again.predict("the [MASK] was so")) == 5
    assert again.model.pooler is None  # which no head for tokens reads
    z = again.model.encode(torch.tensor([[1, 5, 6, 2]]))[0]
    assert torch.allclose(again.embed(["the film"])[0], z.max(0).values, atol=1e-5)


def test_a_new_head_begins_with_the_counts_of_tokens(place: Path):
    """By hand: with the layer before it at 0, the logits are log p(v) but for a constant."""
    text = Tokens(np.array([5, 5, 5, 7]))
    model = with_masked_head(cut.from_pretrained(place / "bare"), text)
    counts = np.ones(model.spec.vocabulary)
    counts[[5, 7]] += [3, 1]
    assert torch.equal(model.head.transform.linear.weight, torch.eye(16))
    with torch.no_grad():
        model.head.norm.weight.zero_()
    p = model(torch.tensor([[1, 3, 2]])).softmax(-1)[0, 1].detach().numpy()
    np.testing.assert_allclose(p, counts / counts.sum(), rtol=1e-5)


def test_a_head_that_the_base_has_does_not_learn(place: Path):
    run = cut.tune(place / "bert", data=place / "text.txt", lora=2, out=place / "old-head", **QUICK | {"epochs": 1})
    before, after = cut.from_pretrained(place / "bert").state_dict(), run.model.state_dict()
    assert "head: new" not in run.about["data"]["summary"]
    for name in [name for name in before if name.startswith("head.")]:
        assert torch.equal(after[name], before[name]), name


@pytest.mark.parametrize("way", [{"adapter": 3}, {"head_only": True}, {"last": 1}, {"full": True}])
def test_a_new_head_learns_in_every_way(place: Path, tmp_path: Path, way: dict[str, Any]):
    settings = QUICK | {"epochs": 1, "final": "last", "rate": 1e-2}
    run = cut.tune(place / "bare", data=place / "text.txt", out=tmp_path / "run", **settings, **way)
    moved = run.model.head.norm.weight - 1
    assert moved.abs().min() > 0
    again = cut.load(run.path).model
    tokens = torch.tensor([[1, 5, 3, 6, 2]])
    assert torch.equal(again(tokens), run.model(tokens))


def test_a_tuned_encoder_is_tuned_again_with_the_head_that_it_has_then(place: Path, tmp_path: Path):
    settings = QUICK | {"epochs": 1}
    first = cut.tune(place / "bare", data=place / "text.txt", lora=2, out=tmp_path / "first", **settings)
    second = cut.tune(first, data=place / "text.txt", lora=2, out=tmp_path / "second", **settings | {"rate": 1e-12})
    assert "head: new" not in second.about["data"]["summary"]
    assert torch.equal(second.model.head.bias, first.model.head.bias)
    labels = cut.tune(first, data=reviews(tmp_path / "r.csv"), lora=2, out=tmp_path / "third", epochs=1, show="quiet")
    assert labels.model.spec.head.kind == "classes"


@pytest.mark.parametrize("mask", ["words", "spans"])
def test_whole_words_and_spans_are_masked(place: Path, tmp_path: Path, mask: str):
    settings = QUICK | {"epochs": 1, "masked": 0.4}
    run = cut.tune(place / "bert", data=place / "text.txt", lora=2, mask=mask, out=tmp_path / "run", **settings)
    masking = cut.load(run.path).learner.masking
    assert masking.kind == mask
    assert masking.words is not None
    assert "loss" in run.test()


def test_what_cannot_go_on_is_told(place: Path, tmp_path: Path):
    text = place / "text.txt"
    with pytest.raises(ValueError, match=r"needs a head for next tokens, got .*classes, a GPT without one"):
        cut.tune(place / "classes", data=text, task="language")
    for base in ("gpt", "bert"):
        with pytest.raises(ValueError, match=r"a head of labels or one that is new, got the task 'language'"):
            cut.tune(place / base, data=text, head_only=True, out=tmp_path / "a")
    for setting in ({"mask": "words"}, {"masked": 0.3}):
        told = r"for models that guess masked tokens, got mask(ed)?=('words'|0.3) for .*gpt, a GPT that guesses next"
        with pytest.raises(ValueError, match=told):
            cut.tune(place / "gpt", data=text, out=tmp_path / "b", **setting)
    assert not any(tmp_path.iterdir())


def test_a_text_that_does_not_fit_is_told(place: Path, tmp_path: Path):
    for content, told in (
        ("", "at least one character, got .*few.txt which is empty"),
        ("the film", "more tokens than the context, got 2"),
    ):
        (tmp_path / "few.txt").write_text(content)
        with pytest.raises(ValueError, match=told):
            cut.tune(place / "bare", data=tmp_path / "few.txt", task="language", out=tmp_path / "a", context=16)
    word_tokenizer(("more", "words")).save(shutil.copytree(place / "bare", tmp_path / "other") / "tokenizer.json")
    (tmp_path / "more.txt").write_text("the film was more " * 100)
    with pytest.raises(ValueError, match=r"every token of more.txt, got token 23 and a vocabulary of 23; bring"):
        cut.tune(tmp_path / "other", data=tmp_path / "more.txt", task="language", out=tmp_path / "b", context=16)
    tiny_bert(tmp_path / "maskless")
    tokenizer = (tmp_path / "maskless" / "tokenizer.json").read_text()
    (tmp_path / "maskless" / "tokenizer.json").write_text(tokenizer.replace("[MASK]", "[GAP]"))
    with pytest.raises(ValueError, match=r"must have the tokens \[CLS\], \[SEP\], \[MASK\], got one without"):
        cut.tune(tmp_path / "maskless", data=place / "text.txt", task="language", out=tmp_path / "c")
