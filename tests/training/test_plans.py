"""How long and how to train."""

import torch

from cutaway.recipes.base import Recipe
from cutaway.training.optimizers.schedules import Schedule
from cutaway.training.plans import Plan


def test_a_plan_takes_the_settings_of_its_names():
    recipe = Recipe(steps=6, accumulate=2, batch_growth=4, clip=0.5, keep=3, seed=9, log_every=4, final="last")
    made = dict(schedule=recipe.rate_schedule(), batches=recipe.batches_per_step(), precision=None)
    plan = Plan.of(recipe, **made)
    assert (plan.clip, plan.keep, plan.seed, plan.log_every, plan.final) == (0.5, 3, 9, 4, "last")
    assert plan.schedule == Schedule(6)
    assert [plan.batches(step) for step in range(6)] == [2, 2, 4, 4, 8, 8]
    assert Plan.of(recipe, **made | {"precision": torch.bfloat16}).precision is torch.bfloat16


def test_a_step_takes_one_batch_if_nothing_is_said():
    assert [Plan(Schedule(3)).batches(step) for step in range(3)] == [1, 1, 1]
