"""Bins of numbers: edges, what falls where, and the numbers that probabilities of bins expect."""

import numpy as np
import pytest
import torch

from cutaway.blocks.embeddings.number_bins import NumberBins, choose_edges

VALUES = torch.tensor([0.0, 0.0, 0.0, 2.0, 3.0, 10.0], dtype=torch.float64)


def bins(values: torch.Tensor = VALUES, count: int = 3) -> tuple[NumberBins, torch.Tensor]:
    edges = choose_edges(values, count)
    made = NumberBins((len(edges) + 1,)).double()
    made.set_bins([values], [edges])
    return made, edges


def test_by_hand():
    made = NumberBins((3,)).double()
    made.set_bins([VALUES], [torch.tensor([2.0, 5.0], dtype=torch.float64)])
    assert made(VALUES[:, None])[:, 0].tolist() == [0, 0, 0, 1, 1, 2]  # an edge belongs to the bin above it
    assert made.means.tolist() == [0.0, 2.5, 10.0]
    p = torch.tensor([0.5, 0.4, 0.1], dtype=torch.float64)
    assert made.expected(p, 0).item() == pytest.approx(2.0)
    assert [made.quantile(p, 0, level).item() for level in (0.1, 0.5, 0.6, 0.95)] == [0.0, 0.0, 2.5, 10.0]


def test_few_values_have_a_bin_each():
    made, edges = bins(count=8)
    assert edges.tolist() == [1.0, 2.5, 6.5]
    assert made.means.tolist() == [0.0, 2.0, 3.0, 10.0]
    assert choose_edges(torch.ones(5), 4).tolist() == []


def test_many_values_have_equally_frequent_bins_with_numpys_means():
    values = torch.randn(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).exp()
    made, edges = bins(values, 10)
    place = np.digitize(values.numpy(), edges.numpy())
    assert np.bincount(place).min() >= 95
    assert np.bincount(place).max() <= 105
    assert made(values[:, None])[:, 0].numpy().tolist() == place.tolist()
    want = [values.numpy()[place == b].mean() for b in range(10)]
    np.testing.assert_allclose(made.means.numpy(), want)


def test_a_frequent_value_has_its_own_bin():
    values = torch.cat([torch.zeros(90), torch.arange(1.0, 101.0)])
    edges = choose_edges(values, 4)
    assert (torch.bucketize(values, edges, right=True) == 0).sum() == 90


def test_frequencies_expect_the_mean():
    values = torch.randn(300, dtype=torch.float64)
    made, _ = bins(values, 7)
    p = torch.bincount(made(values[:, None])[:, 0], minlength=7).double() / 300
    assert made.expected(p, 0).item() == pytest.approx(values.mean().item())


def test_bad_bins():
    with pytest.raises(ValueError, match="bins must be above 1, got 1; try bins=32"):
        choose_edges(VALUES, 1)
    with pytest.raises(ValueError, match="edges need finite values, at least one, got 0 finite of 0"):
        choose_edges(torch.empty(0), 4)
    with pytest.raises(ValueError, match=r"edges must make the bins \(3,\), got edges for \(2,\)"):
        NumberBins((3,)).set_bins([VALUES], [torch.zeros(1)])
    with pytest.raises(ValueError, match=r"every number must have a bin, got bins=\(0,\)"):
        NumberBins((0,))
