"""Phrases: by hand, and as gensim finds them with the same score."""

import random

import pytest

from cutaway.data.words.phrases import find_phrases, join_phrases, phrase_score


def text() -> list[list[str]]:
    rng = random.Random(0)
    words = [rng.choice("abcdefgh") for _ in range(3000)]
    for i in range(0, 2990, 30):
        words[i : i + 2] = ["new", "york"]
    for i in range(10, 2990, 60):
        words[i : i + 2] = ["of", "a"]
    return [words[i : i + 700] for i in range(0, len(words), 700)]


def score(worda_count, wordb_count, bigram_count, len_vocab, min_count, corpus_word_count):
    """Our score, called as gensim calls one."""
    return phrase_score(bigram_count, worda_count, wordb_count, corpus_word_count, min_count)


def test_gensim_finds_the_same():
    phrases = pytest.importorskip("gensim.models.phrases")
    joined = [word for stretch in text() for word in stretch]

    theirs = phrases.Phrases([joined], min_count=5, threshold=3.0, scoring=score, delimiter="_")
    ours = find_phrases(text(), least=5, threshold=3.0)
    assert {f"{a}_{b}" for a, b in ours} == set(theirs.export_phrases())
    assert ("new", "york") in ours
    found = [word for stretch in join_phrases(text(), ours) for word in stretch]
    assert found == theirs[joined]


def test_pairs_across_stretches_count():
    assert find_phrases([["x"], ["y", "a", "x"], ["y", "b"]], least=1, threshold=0.5) == {("x", "y")}


def test_nothing_is_lost():
    stretches = [["a"], [], ["b", "c"], ["d"]]
    assert [w for s in join_phrases(stretches, frozenset()) for w in s] == ["a", "b", "c", "d"]
    assert [w for s in join_phrases(stretches, {("a", "b"), ("c", "d")}) for w in s] == ["a_b", "c_d"]
