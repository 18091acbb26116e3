import numpy as np

from cutaway.data.series.labelled_series import SeriesRows
from cutaway.tasks.series.classify import choose_each, neighbour_baseline


def rows(values: list[list[float]], targets: list[int]) -> SeriesRows:
    lengths = np.array([len(x) for x in values])
    padded = np.zeros((len(values), lengths.max(), 1), np.float32)
    for i, x in enumerate(values):
        padded[i, : len(x), 0] = x
    return SeriesRows(padded, lengths, np.array(targets))


def test_the_nearest_training_series_by_hand():
    train = rows([[0, 0, 0], [5, 5, 5]], [0, 1])
    found = neighbour_baseline(train, rows([[1, 0, 1], [4, 4, 4], [3, 4, 3]], [0, 1, 0]))
    assert found["metrics"]["accuracy"] == 2 / 3


def test_series_of_different_lengths_are_stretched():
    train = rows([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], [0, 1])
    assert neighbour_baseline(train, rows([[0, 2, 4], [4, 0]], [0, 1]))["metrics"]["accuracy"] == 1


def test_one_of_each_class():
    assert choose_each(np.array([2, 2, 0, 1, 0])).tolist() == [2, 3, 0]
