"""Schedules of the learning rate and of the batch size: values by hand, and laws."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.training import BatchSizes, Schedule, growing_batch
from cutaway.training.optimizers.schedules import SHAPES, batches_per_step


@pytest.mark.parametrize(
    ("shape", "half", "last", "end"),
    [
        ("constant", 1, 1, 1),
        ("linear", 1 / 2, 1 / 10, 0),
        ("cosine", 1 / 2, (1 + math.cos(0.9 * math.pi)) / 2, 0),
        ("step", 0.1, 0.01, 0.01),  # thirds of 10, rounded up: falls at 4 and 8
        ("wsd", 1, 1 / 2, 0),  # the last fifth of 10: from step 8, half of it gone at 9
    ],
)
def test_values_by_hand(shape, half, last, end):
    """Ten steps after a warm-up of four: (t + 1)/5 up to 4/5, then 1 at step 4, half-way at 9, the last at 13."""
    schedule = Schedule(14, shape, warmup=4)
    shares = [schedule(t) for t in (0, 1, 2, 3, 4, 9, 13, 14)]
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, half, last, end])


@pytest.mark.parametrize(
    ("shape", "half", "last", "end"),
    [
        ("constant", 1, 1, 1),
        ("linear", 0.6, 0.2 + 0.8 / 10, 0.2),
        ("cosine", 0.6, 0.2 + 0.4 * (1 + math.cos(0.9 * math.pi)), 0.2),
        ("step", 0.2 + 0.8 * 0.1, 0.2 + 0.8 * 0.01, 0.2 + 0.8 * 0.01),
        ("wsd", 1, 0.6, 0.2),
    ],
)
def test_a_floor_is_where_it_ends(shape, half, last, end):
    schedule = Schedule(10, shape, floor=0.2)
    assert [schedule(t) for t in (0, 5, 9, 10)] == pytest.approx([1, half, last, end])


def test_settings_of_step_and_wsd():
    steps = Schedule(100, "step", warmup=2, every=10, factor=0.5)
    assert [steps(t) for t in (2, 11, 12, 21, 22, 99)] == [1, 1, 0.5, 0.5, 0.25, 0.5**9]
    wsd = Schedule(100, "wsd", decay=0.5)
    assert [wsd(t) for t in (0, 50, 75, 99)] == pytest.approx([1, 1, 0.5, 0.02])
    assert [Schedule(8, "wsd", decay=1)(t) for t in range(9)] == [Schedule(8, "linear")(t) for t in range(9)]


@given(data=st.data(), shape=st.sampled_from(SHAPES), steps=st.integers(1, 60))
def test_laws(data, shape, steps):
    """In [0, 1]; never 0 while running; up by equal steps, then never up again; without a jump, but for "step"."""
    warmup = data.draw(st.integers(0, steps - 1))
    floor = data.draw(st.floats(0, 1))
    decay = data.draw(st.floats(0.05, 1))
    schedule = Schedule(steps, shape, warmup, floor, decay=decay)
    shares = [schedule(t) for t in range(steps + 5)]
    assert all(0 < share <= 1 for share in shares[:steps])
    assert all(share >= floor - 1e-12 for share in shares[warmup:])
    rises = [b - a for a, b in zip([0, *shares[:warmup]], shares[: warmup + 1])]
    assert rises == pytest.approx([1 / (warmup + 1)] * (warmup + 1))
    falls = [a - b for a, b in zip(shares[warmup:], shares[warmup + 1 :])]
    assert all(fall >= -1e-12 for fall in falls)
    steepest = {"constant": 0, "linear": 1, "cosine": math.pi / 2, "wsd": 1 / decay}
    if shape in steepest:
        assert max(falls) <= steepest[shape] * (1 - floor) / (steps - warmup) + 1e-9
    assert len(set(shares[steps:])) == 1  # whoever goes on has what it ended with


def test_a_step_falls_within_any_run():
    """The rate falls twice by default, however short the run."""
    for steps in (3, 10, 500, 5000):
        schedule = Schedule(steps, "step")
        assert sorted({round(schedule(t), 9) for t in range(steps)}) == [0.01, 0.1, 1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"shape": "sine"},
            "schedule must be one of constant, linear, cosine, step, wsd, got 'sine'; pick one of these",
        ),
        ({"steps": 0}, "steps must be above 0, got 0; try steps=1000"),
        ({"warmup": 10}, "warmup must be from 0 to below steps=10, got 10; try warmup=0"),
        ({"warmup": -1}, "warmup must be from 0 to below steps=10, got -1; try warmup=0"),
        ({"floor": 1.5}, "floor must be from 0 to 1, got 1.5; it is a share of the full rate"),
        ({"every": 0}, "every must be above 0, got 0; try every=3"),
        ({"factor": 0.0}, "factor must be above 0 and at most 1, got 0.0; try factor=0.1"),
        ({"decay": 1.5}, "decay must be above 0 and at most 1, got 1.5; try decay=0.1"),
    ],
)
def test_bad_schedules(how, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**{"steps": 10} | how)


# Batch sizes --------------------------------------------------------------------------------------------------------


def test_a_batch_grows_by_hand():
    assert [growing_batch(8, 32, 9)(t) for t in range(9)] == [8] * 3 + [16] * 3 + [32] * 3
    assert [growing_batch(8, 20, 9)(t) for t in range(9)] == [8] * 3 + [16] * 3 + [20] * 3  # the end is reached
    assert [growing_batch(2, 50, 6, factor=5)(t) for t in range(6)] == [2, 2, 10, 10, 50, 50]
    assert [growing_batch(4, 4, 3)(t) for t in range(3)] == [4, 4, 4]


@given(start=st.integers(1, 20), times=st.integers(1, 100), factor=st.integers(2, 5), steps=st.integers(10, 60))
def test_a_batch_only_grows(start, times, factor, steps):
    batch = growing_batch(start, start * times, steps, factor)
    sizes = [batch(t) for t in range(steps + 5)]
    assert sizes[0] == start
    assert sizes[steps - 1] == sizes[-1] == start * times
    assert all(a <= b <= factor * a for a, b in pairwise(sizes))
    assert [batch.before(t) for t in range(steps + 5)] == [sum(sizes[:t]) for t in range(steps + 5)]
    lengths = [sizes[:steps].count(size) for size in sorted(set(sizes))]
    assert max(lengths) - min(lengths) <= 1


def test_sizes_of_ones_own():
    batch = BatchSizes(starts=(0, 2, 5), sizes=(3, 1, 4))
    assert [batch(t) for t in range(7)] == [3, 3, 1, 1, 1, 4, 4]
    assert [batch.before(t) for t in range(7)] == [0, 3, 6, 7, 8, 9, 13]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: growing_batch(0, 8, 10), "a batch must grow from above 0, got start=0, end=8; try start=8, end=32"),
        (lambda: growing_batch(16, 8, 10), "a batch must grow from above 0, got start=16, end=8"),
        (
            lambda: growing_batch(1, 8, 10, factor=1),
            "factor must be 2 or more for a batch to grow, got 1; try factor=2",
        ),
        (lambda: growing_batch(1, 8, 0), "steps must be above 0, got 0"),
        (lambda: batches_per_step(1, 6, 100), "batch_growth must be a power of 2, got 6; try batch_growth=8"),
        (lambda: batches_per_step(1, 8, 3), "needs a step, got batch_growth=8, steps=3; try batch_growth=4"),
        (lambda: batches_per_step(1, 0, 3), "batch_growth must be at least 1, got 0; try batch_growth=1"),
        (lambda: batches_per_step(0, 1, 3), "accumulate must be at least 1, got 0; try accumulate=1"),
        (lambda: growing_batch(1, 8, 3), "each batch size needs a step, got steps=3 for sizes 1, 2, 4, 8; try steps=4"),
        (
            lambda: BatchSizes((0, 5), (1,)),
            r"starts must rise from 0, one for each size, got starts=\(0, 5\), sizes=\(1,\)",
        ),
        (lambda: BatchSizes((1,), (1,)), r"starts must rise from 0, one for each size, got starts=\(1,\)"),
        (lambda: BatchSizes((0, 5, 3), (1, 2, 3)), r"starts must rise from 0, .* got starts=\(0, 5, 3\)"),
        (lambda: BatchSizes((), ()), r"starts must rise from 0, .* got starts=\(\)"),
        (lambda: BatchSizes((0,), (0,)), r"a batch must hold at least one example, got sizes=\(0,\)"),
    ],
)
def test_bad_batches(make, message):
    with pytest.raises(ValueError, match=message):
        make()
