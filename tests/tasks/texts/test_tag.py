"""What taggers are measured by: by hand, beside scikit-learn, whole names, the most frequent tag."""

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import EncodedSentences
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.models import Tagger
from cutaway.tasks.texts.tag import (
    Answers,
    FrequentTags,
    answers,
    are_spans,
    span_f1,
    spans,
    tag_cost,
    tag_f1,
    tag_metrics,
    tag_probabilities,
    whole_metrics,
)

TRAIN = [Tagged(("the", "dog", "barks"), ("D", "N", "V")), Tagged(("the", "barks", "of", "dogs"), ("D", "N", "P", "N"))]
LEXICON = Lexicon.from_sentences([s.words for s in TRAIN], [s.tags for s in TRAIN])


@pytest.fixture
def model() -> Tagger:
    torch.manual_seed(0)
    sizes = dict(word_width=4, letter_width=3, filters=5, affix_width=2, width=6)
    return Tagger(tags=len(LEXICON.tags), **{k: v for k, v in LEXICON.sizes.items() if v}, **sizes).eval()


def test_the_cost_is_the_mean_over_words_with_a_tag(model):
    sentences = EncodedSentences([Tagged(("the", "dog"), ("D", None)), TRAIN[0]], LEXICON)
    batch = sentences.batch(np.array([0, 1]))
    p = tag_probabilities(model, sentences)
    ids = LEXICON.tag_ids
    expected = -np.mean(np.log([p[0][0, ids["D"]], *(p[1][t, ids[tag]] for t, tag in enumerate("DNV"))]))
    assert tag_cost(model, batch).item() == pytest.approx(expected, rel=1e-5)


def test_training_hides_rare_words(model):
    """With hide → ∞ every word is hidden: as if all were unknown."""
    hidden = EncodedSentences(TRAIN, LEXICON, hide=1e9).batch(np.array([0]))
    model.train()
    model.spec = model.spec.but(dropout=0.0)
    unknown = hidden._replace(words=np.zeros_like(hidden.words), hide=np.zeros_like(hidden.hide))
    assert tag_cost(model, hidden).item() == pytest.approx(tag_cost(model, unknown).item())
    assert tag_cost(model.eval(), hidden).item() != pytest.approx(tag_cost(model, unknown).item())


def test_metrics_count_tags_never_seen_as_wrong(model):
    validation = [Tagged(("the", "cat", "dog"), ("D", "X", None)), Tagged(("zebra",), ("N",))]
    encoded = EncodedSentences(validation, LEXICON)
    found = answers(model, encoded)
    assert found.unknown.tolist() == [False, True, True]
    assert found.truth.tolist() == [0, len(LEXICON.tags), 1]
    p = np.concatenate(tag_probabilities(model, encoded))
    right = [p[0].argmax() == 0, False, p[3].argmax() == 1]
    metrics = tag_metrics(model, encoded)
    assert metrics["accuracy"] == pytest.approx(np.mean(right))
    assert metrics["error"] == pytest.approx(1 - np.mean(right))
    assert metrics["accuracy_on_unknown_words"] == pytest.approx(np.mean(right[1:]))
    assert metrics["loss"] == pytest.approx(-np.mean(np.log([p[0, 0], p[3, 1]])), rel=1e-5)
    assert "error" not in whole_metrics(model, encoded)
    assert tag_metrics(model, None) == whole_metrics(model, None) == {}


def test_one_tag_only():
    one = [Tagged(("a", "b"), ("X", "X"))]
    lexicon = Lexicon.from_sentences([s.words for s in one], [s.tags for s in one])
    model = Tagger(tags=1, **{k: v for k, v in lexicon.sizes.items() if v}, width=2).eval()
    assert whole_metrics(model, EncodedSentences(one, lexicon)) == {"loss": 0.0, "accuracy": 1.0, "macro_f1": 1.0}


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
