"""The learner of series-classifier: batches by their step, and series that are changed a little."""

import numpy as np
import torch

from cutaway.data.series.labelled_series import SeriesRows
from cutaway.tasks.series.classifier_learner import SeriesBatches, changed


def test_batches_are_a_function_of_the_step():
    values = np.arange(10, dtype=np.float32)[:, None, None] + np.zeros((10, 4, 1), np.float32)
    rows = SeriesRows(values, np.array([4, 2] * 5), np.arange(10) % 2)
    one, other = SeriesBatches(rows, 4, seed=3), SeriesBatches(rows, 4, seed=3)
    third = [next(one) for _ in range(3)][2]
    np.testing.assert_array_equal(third.values, other.at(2).values)
    seen = np.concatenate([other.at(i).values[:, 0, 0] for i in range(5)])
    assert sorted(seen.tolist()) == sorted([*range(10)] * 2)


def test_augmentation_changes_values_but_not_lengths_or_padding():
    torch.manual_seed(0)
    values, lengths = torch.randn(3, 9, 2), torch.tensor([9, 5, 7])
    values = torch.where(torch.arange(9)[:, None] < lengths[:, None, None], values, 0.0)
    new = changed(values, lengths, 1.0)
    assert new.shape == values.shape
    assert (new[1, 5:] == 0).all()
    assert not torch.allclose(new[1, :5], values[1, :5])
    correlation = torch.corrcoef(torch.stack([new[0, :, 0], values[0, :, 0]]))[0, 1]
    assert correlation > 0.7
