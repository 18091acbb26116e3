"""What is counted at a layer: sums, units and steps, put together over calls."""

import math

import pytest
import torch
from torch import nn

from cutaway.look.gradient_flow.layers import Axes, default_places
from cutaway.look.gradient_flow.tallies import Layer, Ledger, Tally, squares


def test_squares_over_all_axes_but_one():
    x = torch.tensor([[[1.0, 2.0], [0.0, 3.0]], [[2.0, 0.0], [4.0, 0.0]]])  # (batch, time, width)
    assert squares(x).item() == pytest.approx(34)
    assert squares(x, 1).tolist() == pytest.approx([9, 25])
    assert squares(torch.full((4,), 1e-30)).item() == pytest.approx(4e-60)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float64(dtype: torch.dtype):
    x = torch.full((70_000,), 2.0, dtype=dtype)
    assert squares(x).item() == pytest.approx(
        280_000, rel=1e-12
    )  # beyond what float16 holds, and what bfloat16 counts to


def test_a_ledger_reads_all_at_once_and_again():
    ledger = Ledger()
    first, second = ledger.add(torch.tensor([1.0, 2.0])), ledger.add(torch.tensor(3, dtype=torch.int64))
    read = ledger.read()
    assert (read[first], read[second]) == ([1.0, 2.0], [3.0])
    third = ledger.add(torch.tensor([True, False]))
    empty = ledger.add(torch.zeros(0))
    read = ledger.read()
    assert (read[first], read[third], read[empty]) == ([1.0, 2.0], [1.0, 0.0], [])


def tally(module: nn.Module) -> Tally:
    return Tally(default_places(module)[0], Ledger())


def layer_of(counted: Tally) -> Layer:
    counted.settle()
    return counted.layer(counted.ledger.read())


def test_passes_of_different_length_are_put_together_by_step():
    counted = tally(nn.Linear(2, 1))
    for turn, (length, value) in enumerate([(3, 1.0), (2, 3.0)]):
        call = counted.take(torch.full((4, length, 1), value), Axes(2, 1), turn)
        call.take(torch.full((4, length, 1), 2 * value))
    times = counted.times(counted.ledger.read())
    both = math.sqrt((1 + 9) / 2)
    assert times.activation == pytest.approx([both, both, 1.0])
    assert times.delta == pytest.approx([2 * both, 2 * both, 2.0])
    assert layer_of(counted).activation == pytest.approx(math.sqrt((12 + 8 * 9) / 20))


def test_dead_is_what_never_lived_saturated_what_always_was():
    rectified = tally(nn.ReLU())
    rectified.take(torch.tensor([[0.0, 1.0, 0.0]]), Axes(1, None), 0)
    rectified.take(torch.tensor([[0.0, 0.0, 2.0]]), Axes(1, None), 1)
    assert layer_of(rectified).dead_units == (0,)
    squashed = tally(nn.Tanh())
    squashed.take(torch.tensor([[1.0, 1.0, 0.0]]), Axes(1, None), 0)
    squashed.take(torch.tensor([[-1.0, 0.0, 0.0]]), Axes(1, None), 1)
    row = layer_of(squashed)
    assert (row.saturated, row.saturated_units) == (0.5, (0,))


def test_units_of_another_width_are_counted_anew():
    counted = tally(nn.ReLU())
    counted.take(torch.zeros(2, 3), Axes(1, None), 0)
    counted.take(torch.tensor([[0.0, 1.0]]), Axes(1, None), 1)
    row = layer_of(counted)
    assert (row.units, row.dead_units) == (2, (0,))


def test_a_value_without_axes():
    counted = tally(nn.ReLU())
    counted.take(torch.tensor(0.0), Axes(-1, None), 0)
    row = layer_of(counted)
    assert (row.units, row.dead_units, row.activation) == (1, (0,), 0.0)
