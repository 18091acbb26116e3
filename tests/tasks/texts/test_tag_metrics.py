"""What taggers are measured by: by hand, beside scikit-learn, whole names, the most frequent tag."""

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import EncodedSentences
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.models import Tagger
from cutaway.tasks.texts.tag_metrics import (
    Answers,
    FrequentTags,
    are_spans,
    span_f1,
    spans,
    tag_f1,
    tag_metrics,
    whole_metrics,
    word_answers,
)
from cutaway.tasks.texts.word_tagger import tag_probabilities

TRAIN = [Tagged(("the", "dog", "barks"), ("D", "N", "V")), Tagged(("the", "barks", "of", "dogs"), ("D", "N", "P", "N"))]
LEXICON = Lexicon.from_sentences([s.words for s in TRAIN], [s.tags for s in TRAIN])


@pytest.fixture
def model() -> Tagger:
    torch.manual_seed(0)
    sizes = dict(word_width=4, letter_width=3, filters=5, affix_width=2, width=6)
    return Tagger(tags=len(LEXICON.tags), **{k: v for k, v in LEXICON.sizes.items() if v}, **sizes).eval()


def test_metrics_count_tags_never_seen_as_wrong(model):
    validation = [Tagged(("the", "cat", "dog"), ("D", "X", None)), Tagged(("zebra",), ("N",))]
    encoded = EncodedSentences(validation, LEXICON)
    said = tag_probabilities(model, encoded)
    found = word_answers(said, encoded)
    assert found.unknown.tolist() == [False, True, True]
    assert found.truth.tolist() == [0, len(LEXICON.tags), 1]
    p = np.concatenate(said)
    right = [p[0].argmax() == 0, False, p[3].argmax() == 1]
    metrics = tag_metrics(said, encoded)
    assert metrics["accuracy"] == pytest.approx(np.mean(right))
    assert metrics["error"] == pytest.approx(1 - np.mean(right))
    assert metrics["accuracy_on_unknown_words"] == pytest.approx(np.mean(right[1:]))
    assert metrics["loss"] == pytest.approx(-np.mean(np.log([p[0, 0], p[3, 1]])), rel=1e-5)
    assert "error" not in whole_metrics(said, encoded)


def test_one_tag_only():
    one = [Tagged(("a", "b"), ("X", "X"))]
    lexicon = Lexicon.from_sentences([s.words for s in one], [s.tags for s in one])
    model = Tagger(tags=1, **{k: v for k, v in lexicon.sizes.items() if v}, width=2).eval()
    encoded = EncodedSentences(one, lexicon)
    found = whole_metrics(tag_probabilities(model, encoded), encoded)
    assert found == {"loss": 0.0, "accuracy": 1.0, "macro_f1": 1.0}


def test_f1_is_scikit_learns():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 5, 200), rng.integers(0, 5, 200)
    found = Answers(truth, predicted, np.zeros(200, bool), np.zeros(200))
    assert [f for f, _ in tag_f1(found, 5)] == pytest.approx(f1_score(truth, predicted, average=None).tolist())
    assert [n for _, n in tag_f1(found, 5)] == np.bincount(truth).tolist()


def test_whole_names():
    assert spans(["O", "B-A", "I-A", "I-B", "E-B", "S-C", "B-C", "O"]) == {
        (1, 3, "A"),
        (3, 5, "B"),
        (5, 6, "C"),
        (6, 7, "C"),
    }
    truth, said = ["B-A", "I-A", "O", "B-B"], ["B-A", "O", "O", "B-B"]
    assert span_f1([truth], [said]) == pytest.approx(0.5)  # one of two names, both ways
    assert span_f1([["O"]], [["O"]]) == 1.0
    assert are_spans(["O", "B-A", "I-A"])
    assert not are_spans(["O"])
    assert not are_spans(["B", "NOUN"])


def test_the_most_frequent_tag():
    naive = FrequentTags(TRAIN)
    assert [naive.tag(w) for w in ("the", "barks", "cats", "zzz")] == ["D", "N", "N", "N"]
    metrics = naive.metrics([Tagged(("the", "cats", "barks"), ("D", "N", "V"))], LEXICON)
    assert metrics == {"accuracy": pytest.approx(2 / 3), "accuracy_on_unknown_words": 1.0}
