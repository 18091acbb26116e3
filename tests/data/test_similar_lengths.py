"""Batches of rows of similar length."""

import numpy as np
import pytest

from cutaway.data.similar_lengths import SimilarLengths, by_length

LENGTHS = np.random.default_rng(0).integers(1, 100, 1003)


def test_every_row_comes_once_in_an_epoch():
    batches = SimilarLengths(LENGTHS, 17, seed=3)
    seen = np.concatenate([batches.at(step) for step in range(batches.per_epoch)])
    assert set(seen) == set(range(1003))
    assert len(seen) == 59 * 17  # made up to a whole batch
    assert not np.array_equal(batches.at(0), batches.at(59)), "the next epoch has another order"


def test_a_batch_is_a_function_of_seed_and_step():
    once, again = SimilarLengths(LENGTHS, 17, seed=3), SimilarLengths(LENGTHS, 17, seed=3)
    assert np.array_equal(once.at(80), again.at(80))
    assert not np.array_equal(once.at(80), SimilarLengths(LENGTHS, 17, seed=4).at(80))


def test_lengths_of_a_batch_are_near_and_shares_make_the_whole():
    batches = SimilarLengths(LENGTHS, 16)
    spread = np.mean([np.ptp(LENGTHS[batches.at(step)]) for step in range(batches.per_epoch)])
    assert spread < 12, "of 99"
    shares = [SimilarLengths(LENGTHS, 16, rank=rank, world=2).at(5) for rank in range(2)]
    assert np.array_equal(np.concatenate(shares), batches.at(5))
    assert sorted(np.concatenate(list(by_length(LENGTHS, 64)))) == list(range(1003))


def test_no_rows_are_told():
    with pytest.raises(ValueError, match="at least one row, got none"):
        SimilarLengths(np.array([], np.int64), 4)
