"""Chunks of text and what is drawn with them: a function of place and seed, with the stated probabilities."""

from itertools import pairwise

import numpy as np
import pytest

from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import WindowDraws, WordChunk, WordPasses, keep_probabilities, negatives_table
from cutaway.data.words.word_streams import LinedTokens

COUNTS = np.array([60_000, 30_000, 9_000, 1_000])


def draws(seed=0, sample=1e-2):
    ids = np.random.default_rng(0).choice(4, 100_000, p=COUNTS / COUNTS.sum()).astype(np.uint32)
    return WindowDraws(Tokens(ids), COUNTS, window=5, sample=sample, seed=seed)


def test_chunks_cover_all_passes():
    passes = WordPasses(1003, 2.5, 7)
    chunks = [passes.at(step) for step in range(7)]
    assert chunks[0].begin == 0
    assert chunks[-1].end == 2508  # 1003 · 2.5, rounded
    assert all(a.end == b.begin for a, b in pairwise(chunks))
    assert WordPasses(3, 1.0, 10).at(9).end == 10  # a text of few words is read more often
    with pytest.raises(ValueError, match="one process, got 2"):
        WordPasses(10, 1.0, 1, world=2)


def test_draws_depend_on_place_and_seed_alone():
    one = list(draws().stretches(WordChunk(50_000, 150_000)))  # beyond the end: the text begins again
    two = list(draws().stretches(WordChunk(50_000, 150_000)))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.words, b.words)
        assert np.array_equal(a.reaches, b.reaches)
        assert np.array_equal(draws().negatives(a.place, 99), draws().negatives(b.place, 99))
    other = next(draws(seed=1).stretches(WordChunk(50_000, 150_000)))
    assert not np.array_equal(one[0].words[:100], other.words[:100])


def test_frequent_words_are_thinned_out_as_stated():
    found = np.concatenate([s.words for s in draws().stretches(WordChunk(0, 100_000))])
    shares = np.bincount(found, minlength=4) / np.bincount(draws().tokens[:], minlength=4)
    assert shares == pytest.approx(keep_probabilities(COUNTS, 1e-2), abs=0.02)
    assert keep_probabilities(COUNTS, 0.0).tolist() == [1, 1, 1, 1]
    # by hand: f = .6, t = .01: √(1/60) + 1/60
    assert keep_probabilities(COUNTS, 1e-2)[0] == pytest.approx((1 / 60) ** 0.5 + 1 / 60)


def test_reaches_are_uniform_and_negatives_have_their_shares():
    reaches = np.concatenate([s.reaches for s in draws().stretches(WordChunk(0, 100_000))])
    assert np.bincount(reaches) / len(reaches) == pytest.approx([0.2] * 5, abs=0.02)
    q = COUNTS**0.75 / (COUNTS**0.75).sum()
    assert np.bincount(negatives_table(COUNTS)) / len(negatives_table(COUNTS)) == pytest.approx(q, abs=2e-6)
    drawn = draws().negatives(7, 50_001)
    assert np.bincount(drawn) / len(drawn) == pytest.approx(q, abs=0.01)


def test_windows_end_where_a_line_does():
    tokens = LinedTokens(np.arange(10, dtype=np.uint32))
    tokens.lines = Tokens(np.array([0, 3, 4, 9], np.uint64))
    draws = WindowDraws(tokens, np.ones(10, np.int64), window=5, sample=0.0)
    (stretch,) = draws.stretches(WordChunk(0, 10))
    assert stretch.lines.tolist() == [3, 4, 9]
    left, right = stretch.sides()
    line = np.array([0, 0, 0, 1, 2, 2, 2, 2, 2, 3])
    for i in range(10):
        reach = int(stretch.reaches[i]) + 1
        window = [j for j in range(10) if j != i and abs(i - j) <= reach and line[i] == line[j]]
        assert list(range(i - left[i], i)) + list(range(i + 1, i + right[i] + 1)) == window
    (part,) = draws.stretches(WordChunk(14, 19))  # the second time, from the middle on
    assert part.words.tolist() == [4, 5, 6, 7, 8]
    assert part.lines.tolist() == []


def test_a_line_whose_words_are_all_thinned_out_leaves_no_trace():
    tokens = LinedTokens(np.array([0, 1, 1, 0, 0], np.uint32))
    tokens.lines = Tokens(np.array([0, 1, 3], np.uint64))
    draws = WindowDraws(tokens, np.array([3, 2]), window=1, sample=0.0)
    draws.keep = np.array([1.0, 0.0])  # word 1 is never kept
    (stretch,) = draws.stretches(WordChunk(0, 5))
    assert stretch.words.tolist() == [0, 0, 0]
    assert stretch.lines.tolist() == [1]
