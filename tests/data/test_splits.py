"""Parts are disjoint, cover the data, have their shares, and the test part says when it was read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.splits import Splits, split_points, split_rows

SHARES = st.tuples(st.integers(0, 45), st.integers(0, 45)).map(lambda pair: (pair[0] / 100, pair[1] / 100))


def test_points_by_hand():
    assert split_points(1000, 0.1, 0.1) == (800, 900)
    assert split_points(10, 0.1, 0) == (9, 10)
    assert split_points(1_115_394, 0.1, 0) == (int(1_115_394 * 0.9), 1_115_394)  # as nanoGPT splits tiny Shakespeare
    assert split_points(0, 0.1, 0.1) == (0, 0)


@given(st.integers(0, 100), SHARES)
def test_decimals_are_taken_as_written(hundreds, shares):
    # of a round number of things each part has exactly its share, which 1 - 0.05 - 0.05 in floats would not give
    v, t = shares
    a, b = split_points(100 * hundreds, v, t)
    assert (b - a, 100 * hundreds - b) == (round(100 * v) * hundreds, round(100 * t) * hundreds)


@given(st.integers(1, 300), SHARES, st.integers(0, 5))
def test_rows_are_disjoint_and_cover(count, shares, seed):
    parts = split_rows(count, *shares, seed=seed)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(count))
    assert (len(parts[0]), len(parts[0]) + len(parts[1])) == split_points(count, *shares)
    again = split_rows(count, *shares, seed=seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again))


@given(st.lists(st.integers(0, 3), min_size=20, max_size=300), st.integers(0, 5))
def test_stratified_parts_have_each_class_in_its_share(classes, seed):
    classes = np.array(classes)
    parts = split_rows(len(classes), 0.2, 0.2, seed, classes)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(classes)))
    for label in np.unique(classes):
        size = (classes == label).sum()
        for part, share in zip(parts, (0.6, 0.2, 0.2)):
            assert abs((classes[part] == label).sum() - share * size) <= 2  # a row at each of its two borders
        if size == 1:
            assert label in classes[parts[0]]


def test_another_seed_is_another_split():
    classes = np.arange(100) % 2
    a, b = split_rows(100, 0.1, 0.1, 0, classes)[2], split_rows(100, 0.1, 0.1, 1, classes)[2]
    assert not np.array_equal(a, b)


def test_which_rows_of_a_class_are_held_out_is_chance():
    # over many seeds every row of a class is held out equally often: 1 in 5, within five deviations
    classes = np.arange(20) % 2
    times = np.bincount(
        np.concatenate([split_rows(20, 0.1, 0.1, seed, classes)[i] for seed in range(500) for i in (1, 2)])
    )
    assert np.abs(times - 100).max() < 5 * np.sqrt(500 * 0.2 * 0.8)


@pytest.mark.parametrize(("v", "t"), [(0.5, 0.5), (-0.1, 0.1), (1.0, 0.0), (10, 10), (float("nan"), 0.1)])
def test_shares_must_leave_something(v, t):
    with pytest.raises(ValueError, match=f"leave some for training, got validation={v}, test={t}; try validation=0.1"):
        split_points(100, v, t)


def test_the_test_part_is_made_when_asked_for_and_counted():
    made = []
    splits = Splits("mine", [1], [2], lambda: made.append(0) or [3])
    assert "closed" in repr(splits)
    assert made == []
    assert splits.test_reads == 0
    assert not any(value == [3] for value in vars(splits).values())
    assert splits.open_test() == [3]
    assert splits.test_reads == 1
    assert "read 1×" in repr(splits)


def test_no_test_part():
    splits = Splits("mine", [1], None, None)
    assert not splits.has_test
    with pytest.raises(
        ValueError, match="open_test needs a test split, got mine with none; open the data with test above 0"
    ):
        splits.open_test()
