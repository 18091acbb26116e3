"""Draws are functions of their arguments, even, and independent of each other."""

import numpy as np
import pytest

from cutaway.data.seeded_draws import draw_bits, draw_integers, draw_permutation, draw_uniform


def test_the_bits_are_those_of_philox():
    # purpose "ab" is the number 0x6261: its letters as a little-endian number
    peer = np.random.Philox(key=np.array([7, 0x6261], np.uint64), counter=np.array([0, 0, 0, 5], np.uint64))
    assert np.array_equal(draw_bits(7, "ab", 5, 9), peer.random_raw(9))


def test_each_argument_counts_and_more_draws_begin_the_same():
    base = draw_bits(1, "a", 0, 64)
    assert np.array_equal(base, draw_bits(1, "a", 0, 100)[:64])
    for other in (draw_bits(2, "a", 0, 64), draw_bits(1, "b", 0, 64), draw_bits(1, "a", 1, 64)):
        assert not np.intersect1d(base, other).size
    assert np.array_equal(draw_bits(-1, "a", 0, 3), draw_bits(2**64 - 1, "a", 0, 3))


def test_integers_are_even_and_in_range():
    n, below = 70_000, 7
    counts = np.bincount(draw_integers(0, "x", 0, n, below), minlength=below)
    assert len(counts) == below
    # each count is binomial(n, 1/7): five deviations from its mean happen once in a million
    assert np.abs(counts - n / below).max() < 5 * np.sqrt(n / below * (1 - 1 / below))


def test_uniform():
    u = draw_uniform(0, "x", 0, 100_000)
    assert 0 <= u.min() < 1e-3
    assert 1 - 1e-3 < u.max() < 1
    assert u.mean() == pytest.approx(0.5, abs=5 * np.sqrt(1 / 12 / 100_000))


def test_permutations():
    first, second = draw_permutation(0, "x", 0, 1000), draw_permutation(0, "x", 1, 1000)
    assert np.array_equal(np.sort(first), np.arange(1000))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, draw_permutation(0, "x", 0, 1000))
