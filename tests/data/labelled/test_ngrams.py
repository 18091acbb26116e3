"""N-grams of texts, against scikit-learn's counts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from cutaway.data.labelled.ngrams import Ngrams, features_of, letter_groups, parts_of
from cutaway.data.text.word_tokens import split_words

TEXTS = ["not bad, not bad at all", "a bad film", "so tedious", "tedious and a bit bad"]


def test_features_of_a_text():
    found = features_of("Not bad", letters=False)
    assert found == {"word not", "word bad", "pair ^ not", "pair not bad", "pair bad $"}
    assert features_of("") == set()
    assert {parts_of(name)[0] for name in features_of("Not bad")} == {"word", "pair", "letters"}


@pytest.mark.parametrize("word", ["a", "bad", "tedious", "été"])
def test_letter_groups_are_those_of_a_sliding_window(word):
    ends = f"_{word}_"
    windows = {ends[i:j] for i in range(len(ends)) for j in range(i + 3, min(i + 5, len(ends)) + 1)}
    assert set(letter_groups(word)) == {f"letters {window}" for window in windows}


def test_counts_against_scikit_learn():
    labels = np.array([0, 1, 1, 0])
    ngrams = Ngrams.of(TEXTS, 1000, letters=False)
    counts = ngrams.counts(ngrams.encode_each(TEXTS), labels, 2)
    peer = CountVectorizer(analyzer=split_words, binary=True)
    x = peer.fit_transform(TEXTS).toarray()
    for word, column in peer.vocabulary_.items():
        row = ngrams.names.index(f"word {word}")
        assert counts[row].tolist() == [x[labels == label, column].sum() for label in (0, 1)]
    assert not counts[0].any()


def test_letter_groups_must_come_twice_and_count_half():
    ngrams = Ngrams.of(TEXTS, 1000)
    assert "letters _ted" in ngrams.names  # in two texts
    assert "letters _fil" not in ngrams.names
    assert "word film" in ngrams.names
    strengths = dict(zip(ngrams.names, ngrams.strengths()))
    assert (strengths["letters _ted"], strengths["word film"]) == (0.5, 1.0)


def test_the_most_frequent_are_kept():
    assert Ngrams.of(TEXTS, 1, letters=False).names == ("", "word bad")


def test_encoding_and_the_way_through_a_file(tmp_path):
    ngrams = Ngrams.of(TEXTS, 1000)
    ngrams.save(tmp_path / "ngrams.txt")
    again = Ngrams.load(tmp_path / "ngrams.txt")
    assert again.names == ngrams.names
    assert again.encode("a bad unseen film").tolist() == ngrams.encode("a bad unseen film").tolist()
    assert ngrams.encode("zzz").tolist() == []
    assert {ngrams.names[i] for i in ngrams.encode("bad")} >= {"word bad", "pair bad $", "letters bad"}
