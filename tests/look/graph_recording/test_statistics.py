"""A tensor in a few numbers: by hand, of every kind, and what is not finite counted apart."""

import math

import pytest
import torch

from cutaway.look.graph_recording.statistics import Statistics


def test_by_hand():
    found = Statistics.of(torch.tensor([0.0, 3.0, -4.0, 1.0]))
    assert found == (0.0, pytest.approx(math.sqrt(26 / 4)), -4.0, 3.0, pytest.approx(math.sqrt(26)), 0.25, 0, 0)


def test_what_is_not_finite_is_counted_apart():
    found = Statistics.of(torch.tensor([torch.nan, torch.inf, -torch.inf, 2.0]))
    assert (found.mean, found.std, found.min, found.max, found.norm) == (2.0, 0.0, 2.0, 2.0, 2.0)
    assert (found.zeros, found.nans, found.infinities) == (0.0, 1, 2)


@pytest.mark.parametrize("x", [torch.zeros(0), torch.tensor([torch.nan])], ids=["empty", "no finite number"])
def test_where_there_are_no_numbers(x: torch.Tensor):
    assert Statistics.of(x)[:5] == (None,) * 5


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.bfloat16, torch.float64, torch.complex64])
def test_of_every_kind(dtype: torch.dtype):
    found = Statistics.of(torch.tensor([0, 1, 1, 0]).to(dtype))
    assert (found.mean, found.std, found.min, found.max, found.zeros) == (0.5, 0.5, 0.0, 1.0, 0.5)


def test_squares_do_not_overflow():
    assert Statistics.of(torch.full((4,), 1e30)).norm == pytest.approx(2e30)


def test_rounded_for_json():
    rounded = Statistics.of(torch.tensor([1 / 3, torch.inf])).rounded(3)
    assert rounded == dict(mean=0.333, std=0.0, min=0.333, max=0.333, norm=0.333, zeros=0.0, nans=0, infinities=1)
    assert Statistics.of(torch.zeros(0)).rounded()["mean"] is None
