"""Views of a classifier: the words that give a text away are those that are shown."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from cutaway.runs.views import text_classes
from cutaway.tasks.subjects import subject_of


def test_the_telling_word_is_the_one_that_tells(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    subject = subject_of(run, "a good film number 7")
    without = text_classes.hidden_one_by_one(run, subject)
    assert without.shape == (5, 2)
    logits = subject.output(run.model)[0]
    effect = (logits[1] - logits[0]) - (without[:, 1] - without[:, 0])
    assert subject.tokens[int(effect.argmax())] == " good"
    picture = text_classes.telling_words(run, subject)
    assert picture.title.startswith("What speaks for good")
    assert [row["word"] for row in picture.spec()["datasets"]["rows"]] == ["a", "good", "film", "number", "7"]


def test_hiding_a_word_hides_its_ngrams(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    subject = subject_of(run, "good film")
    hidden = text_classes.hidden_one_by_one(run, subject)
    alone = subject_of(run, "film").arguments[1]
    tokens = torch.tensor([[1, int(subject.arguments[0][0, 1])]])
    torch.testing.assert_close(hidden[0], run.model(tokens, alone)[0].detach())


def test_ngrams_and_results(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    subject = subject_of(run)
    rows = text_classes.telling_ngrams(run, subject).spec()["datasets"]["rows"]
    first = {row["group"]: row["name"] for row in rows if row["at"] == 0}
    assert "bad" in first["bad"]
    assert "good" in first["good"]
    confusion = text_classes.text_results(run, subject)[0]
    counts = np.array([row["count"] for row in confusion.spec()["datasets"]["rows"]])
    assert counts.sum() == run.recipe.dataset(run).counts["validation"]
    weights = text_classes.attended_words(run, subject).spec()["datasets"]["rows"]
    assert sum(row["value"] for row in weights) > 0.99


def test_which_runs(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    assert text_classes.has_votes(run)
    assert text_classes.has_ngrams(run)
    assert text_classes.has_readers(run)
    assert not text_classes.has_votes(own_run("gpt"))
