"""Subjects: what goes into a model, by what it says that it takes, and values that are read once."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cutaway.data.tables.encoding import Encoded
from cutaway.data.text.tokenizers import Bytes
from cutaway.models import GPT, TableNet, Transformer
from cutaway.tasks.subjects import SHOWN, Subject, row_subject, subject_by_model, text_subject, token_names

SIZES = dict(width=8, depth=1, heads=2)


def a_run(model: nn.Module, tokenizer: Any = None) -> Any:
    return SimpleNamespace(model=model.eval(), tokenizer=tokenizer, recipe=SimpleNamespace(name="own"))


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 2)
        self.passes = 0

    def forward(self, x: Tensor) -> Tensor:
        self.passes += 1
        return self.second(self.first(x))


def test_what_is_remembered_is_read_once():
    model, plain = Counted(), Subject((torch.ones(1, 3),))
    kept = plain.remembering()
    before = kept.read(model, "first", "second")
    assert kept.read(model, "second").keys() == {"second"}
    assert torch.equal(kept.output(model), before["second"])
    assert model.passes == 1
    plain.read(model, "first")
    plain.read(model, "first")
    plain.output(model)
    assert model.passes == 4  # a subject that nobody asked to remember reads anew
    other = Counted()
    assert not torch.equal(kept.read(other, "first")["first"], before["first"])
    assert kept == plain


def test_a_text_goes_in_as_the_model_takes_it():
    run = a_run(GPT(vocabulary=256, context=9, **SIZES), Bytes())
    subject = subject_by_model(run, "the cat sat")
    assert ("".join(subject.tokens), subject.words) == ("the cat s", "the first 9 of 11 tokens of your text")
    assert subject_by_model(run, None).words.endswith("tokens of a sentence of ours")
    pair = subject_by_model(a_run(Transformer(vocabulary=256, context=9, **SIZES), Bytes()), "hm")
    assert pair.words == "your text, and what the model makes of it"
    assert (pair.tokens, len(pair.arguments)) == (("h", "m"), 2)
    with pytest.raises(ValueError, match="a text to look at must have a token, got none; give it some words"):
        subject_by_model(a_run(Transformer(vocabulary=256, context=9, **SIZES), Bytes()), "")


def test_a_model_that_says_nothing_gets_nothing():
    assert subject_by_model(a_run(nn.Linear(3, 2), Bytes()), None) == Subject()
    assert subject_by_model(a_run(GPT(vocabulary=256, context=9, **SIZES)), None) == Subject()  # no tokenizer
    with pytest.raises(ValueError, match="for runs that say what to make of it, got one for a run of 'own'; leave it"):
        subject_by_model(a_run(nn.Linear(3, 2), Bytes()), "words")


def test_rows_are_cut_to_what_a_page_shows():
    run = a_run(TableNet(task="regression", numbers=2))
    rows = Encoded(np.zeros((100, 2), np.float32), np.zeros((100, 0), np.int64), np.zeros((100, 1), np.float32))
    subject = row_subject(run, rows, "rows")
    assert subject.words == f"the first {SHOWN} of 100 rows"
    assert [len(x) for x in (*subject.arguments, *subject.rows)] == [SHOWN] * 5
    with pytest.raises(ValueError, match="a table to look at must have a row, got none"):
        row_subject(run, Encoded(rows.numbers[:0], rows.categories[:0], None), "rows")


def test_pieces_of_words_are_read_as_a_text():
    """A tokenizer of word pieces has no blanks in its tokens; its text has."""
    names = {1: "[CLS]", 2: "groove", 3: "##d", 4: "over"}
    inner = SimpleNamespace(id_to_token=names.get)
    pieces = lambda ids: " ".join(names[int(i)] for i in ids if int(i) > 1).replace(" ##", "")
    each = lambda rows: [names[row[0]] if row[0] > 1 else "" for row in rows]
    tokenizer = SimpleNamespace(decode=pieces, decode_each=each, inner=inner)
    run = a_run(GPT(vocabulary=5, context=8, **SIZES), tokenizer)
    assert text_subject(run, [1, 2, 3, 4], "a text").text == "[CLS] grooved over"
    letters = a_run(GPT(vocabulary=256, context=8, **SIZES), Bytes())
    assert text_subject(letters, [*b"a b"], "a text").text == "a b"


def test_special_tokens_go_by_their_names():
    assert token_names(Bytes(["<pad>"]), [104, 256, 105]) == ("h", "<pad>", "i")
