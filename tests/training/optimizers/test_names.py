"""One list of optimizers: what a recipe offers is what can be built."""

import typing

import pytest
import torch
from little import Net

from cutaway.recipes.base import Recipe
from cutaway.training.optimizers.groups import build_optimizers
from cutaway.training.optimizers.names import NAMES
from cutaway.training.optimizers.schedules import SHAPES, Schedule


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_built(name: str):
    assert all(isinstance(made, torch.optim.Optimizer) for made in build_optimizers(Net(), name, 0.01))


def test_recipes_offer_the_names_of_training():
    hints = typing.get_type_hints(Recipe)
    assert typing.get_args(hints["optimizer"]) == NAMES
    assert typing.get_args(hints["schedule"]) == SHAPES
    assert [Schedule(3, shape)(0) for shape in SHAPES] == [1.0] * len(SHAPES)
