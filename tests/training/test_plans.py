"""How long and how to train."""

import pytest

from cutaway.training.optimizers.schedules import Schedule
from cutaway.training.plans import Plan


def test_a_step_sums_as_many_batches_as_the_plan_says():
    assert [Plan(Schedule(6), accumulate=3).batches(step) for step in range(6)] == [3] * 6
    # 2 → 4 → 8, each for a third of the steps
    assert [Plan(Schedule(6), accumulate=2, growth=4).batches(step) for step in range(6)] == [2, 2, 4, 4, 8, 8]


def test_growth_is_checked_when_the_plan_is_made():
    with pytest.raises(ValueError, match="growth must be a power of 2, got 6; try growth=8"):
        Plan(Schedule(100), growth=6)
    # 1 → 2 → 4 → 8 are four sizes, for which three steps do not suffice; 1 → 2 → 4 fit
    with pytest.raises(ValueError, match="each doubling of growth needs a step, got growth=8, steps=3; try growth=4"):
        Plan(Schedule(3), growth=8)
    assert [Plan(Schedule(3), growth=4).batches(step) for step in range(3)] == [1, 2, 4]
    with pytest.raises(ValueError, match="growth must be above 0, got 0"):
        Plan(Schedule(3), growth=0)
