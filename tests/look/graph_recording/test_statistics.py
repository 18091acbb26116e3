"""A tensor in a few numbers: by hand, of every kind, and what is not finite counted apart."""

import math

import pytest
import torch
from torch import Tensor

from cutaway.look.graph_recording.statistics import LARGE, Statistics, flat, norm


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


# Large tensors: sums by rows, in the tensor's own type, against float64.


def by_hand(x: Tensor) -> tuple[float, ...]:
    x = x.double()
    ends = (x.min().item(), x.max().item(), x.square().sum().sqrt().item(), (x == 0).double().mean().item())
    return (x.mean().item(), x.std(correction=0).item(), *ends)


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(LARGE + 777, generator=torch.Generator().manual_seed(0)),
        torch.randn(300, 400, generator=torch.Generator().manual_seed(1)).T + 3,
        torch.ones(LARGE),
        1e4 + torch.linspace(0, 1, LARGE),
        torch.zeros(LARGE),
        torch.randn(LARGE, generator=torch.Generator().manual_seed(2)).relu() * 1e-20,
        torch.randn(LARGE, generator=torch.Generator().manual_seed(3)) * 1e25,
        torch.arange(LARGE),
        torch.randn(LARGE, generator=torch.Generator().manual_seed(4)).bfloat16(),
        torch.randn(LARGE, generator=torch.Generator().manual_seed(5)).double(),
    ],
    ids=["odd", "transposed", "constant", "far from 0", "zeros", "tiny", "huge", "whole", "bfloat16", "float64"],
)
def test_large_tensors_as_by_hand(x: Tensor):
    known = Statistics.of(x)
    assert known[:6] == pytest.approx(by_hand(x), rel=1e-4, abs=1e-4 * abs(known.std))
    assert (known.nans, known.infinities) == (0, 0)
    assert norm(x) == pytest.approx(by_hand(x)[4], rel=1e-5)


def test_large_tensors_with_numbers_that_are_none():
    x = torch.ones(LARGE)
    x[3], x[4], x[5] = math.nan, math.inf, -math.inf
    known = Statistics.of(x)
    assert (known.mean, known.std, known.nans, known.infinities) == (1.0, 0.0, 1, 2)
    assert known.norm == pytest.approx(math.sqrt(LARGE - 3))


def test_the_order_of_memory_takes_no_copy():
    x = torch.randn(3, 4)
    assert flat(x.T).data_ptr() == x.data_ptr()
    assert sorted(flat(x[:, ::2]).tolist()) == sorted(x[:, ::2].flatten().tolist())
    assert flat(torch.tensor(2.0)).tolist() == [2.0]


def test_the_norm_of_every_kind():
    assert norm(torch.tensor([3 + 4j, 0])) == pytest.approx(5.0)
    assert norm(torch.tensor([3, 4])) == 5.0
    assert norm(torch.eye(4).to_sparse()) == 2.0
    assert norm(torch.zeros(0)) == 0.0
