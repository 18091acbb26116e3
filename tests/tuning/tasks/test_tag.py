"""Tuned taggers: the first piece of a word bears its tag."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bases import BAD, GOOD, OTHERS, tiny_bert, word_tokenizer

import cutaway as cut
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.data.text.whole_texts import text_frame
from cutaway.tasks.frozen_features import KeptFeatures
from cutaway.tuning.tagged_rows import (
    TagRows,
    cut_sentence,
    encode_tagged,
    tagged_cost,
    tagged_features,
    word_probabilities,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tags")
    tiny_bert(folder / "bert")
    draw = np.random.default_rng(0)
    with (folder / "words.conll").open("w", encoding="utf-8") as file:
        for _ in range(60):
            for word in draw.choice([*OTHERS, *GOOD, *BAD], draw.integers(2, 12)):
                file.write(f"{word}\t{'ADJ' if word in GOOD + BAD else 'X'}\n")
            file.write("\n")
    return folder


def test_first_pieces_are_found_and_long_sentences_cut_by_hand():
    tokenizer = word_tokenizer()
    cls, sep, the, film = (tokenizer.id_of(word) for word in ("[CLS]", "[SEP]", "the", "film"))
    around = text_frame(tokenizer)
    (piece,) = cut_sentence(tokenizer, ["the", "film"], around, 10)
    assert piece.tokens.tolist() == [cls, the, film, sep]
    assert piece.firsts == [1, 2]
    pieces = cut_sentence(tokenizer, ["the", "film", "was", "so", "dull"], around, 4)
    assert [len(piece.firsts) for piece in pieces] == [2, 2, 1]
    rows = encode_tagged(tokenizer, [Tagged(("the", "film"), ("X", None))], {"X": 0, "Y": 1}, 10)
    assert rows.marks[0].tolist() == [0, 1, 0, 0]


def test_words_of_several_pieces_and_the_space_before_them():
    """Byte pairs hold the space before a word; a word counts where its own letters begin."""
    from cutaway.data.text.tokenizers import train_bpe

    tokenizer = train_bpe(["unaffable people ran"] * 3, 280)
    around = text_frame(tokenizer)
    (piece,) = cut_sentence(tokenizer, ["unaffable", "ran"], around, 100)
    whole = tokenizer.encode("unaffable ran").tolist()
    assert piece.tokens.tolist() == whole
    assert piece.firsts[0] == 0
    assert tokenizer.decode(piece.tokens[piece.firsts[1] :]).strip() == "ran"


def test_the_cost_is_that_of_the_words_alone(place: Path):
    tokenizer = word_tokenizer()
    model = cut.from_pretrained(place / "bert").with_labels(("ADJ", "X"), each="token").eval()
    sentences = [Tagged(("the", "film"), ("X", None)), Tagged(("a", "dull", "plot"), ("X", "ADJ", "X"))]
    rows = encode_tagged(tokenizer, sentences, {"ADJ": 0, "X": 1}, 16)
    cost = tagged_cost(model, TagRows(np.array([0, 1]), 4.0), rows)
    p = word_probabilities(model, rows)
    by_hand = -np.log([p[0][0, 1], p[1][0, 1], p[1][1, 0], p[1][2, 1]]).mean()
    assert cost.item() == pytest.approx(by_hand, rel=1e-5)


def test_a_tuned_tagger_learns_and_tags(place: Path):
    run = cut.tune(
        place / "bert",
        data=place / "words.conll",
        full=True,
        out=place / "run",
        rate=1e-2,
        epochs=12,
        batch=8,
        show="quiet",
    )
    assert run.recipe.name == "tuned-tag"
    last = [row for row in run.metrics if row["split"] == "validation-whole"][-1]
    assert last["accuracy"] > 0.9
    answer = cut.load(run.path).predict("the dull film")
    assert [row["tag"] for row in answer] == ["X", "ADJ", "X"]
    assert run.test()["accuracy"] > 0.8
    long = run.predict([["the", "dull", "film"] * 20])  # longer than the context
    assert len(long) == 60


def test_head_only_features_of_tokens_are_those_computed_again(place: Path):
    ends = []
    for memory in (100, 0):
        settings = dict(head_only=True, features_memory=memory, epochs=1, batch=8, show="quiet")
        run = cut.tune(place / "bert", data=place / "words.conll", out=place / f"head{memory}", **settings)
        ends.append(run.model.state_dict())
    for name, value in ends[0].items():
        assert torch.allclose(value, ends[1][name], atol=1e-5), name


def test_a_new_head_for_tags_is_fitted_before_the_rest_learns(place: Path, tmp_path: Path):
    """It begins at a lower loss than a random one, and the body is untouched by it."""
    first = {}
    for fit in (True, False):
        settings = dict(lora=2, fit_head=fit, steps=1, rate=1e-9, final="last", batch=8, show="quiet")
        run = cut.tune(place / "bert", data=place / "words.conll", out=tmp_path / f"fit-{fit}", **settings)
        first[fit] = next(row["loss"] for row in run.metrics if row["split"] == "validation")
        embed = cut.from_pretrained(place / "bert").state_dict()["embed.weight"]
        assert torch.equal(run.model.state_dict()["embed.weight"], embed)
    assert first[True] < first[False] - 0.05


def test_features_that_bear_a_tag_are_those_of_first_pieces():
    rows = encode_tagged(
        word_tokenizer(), [Tagged(("the", "film"), ("X", None)), Tagged(("dull",), ("Y",))], {"X": 0, "Y": 1}, 10
    )
    values = torch.arange(7.0)[:, None]  # [CLS] the film [SEP] [CLS] dull [SEP]
    kept, tags = tagged_features(KeptFeatures(values, torch.tensor([0, 4, 7])), rows)
    assert sorted(zip(kept.values[:, 0].tolist(), tags.tolist(), strict=True)) == [(1.0, 0), (5.0, 1)]
