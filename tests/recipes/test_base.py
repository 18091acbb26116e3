"""What every recipe has: settings that are checked before anything is begun."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from cutaway.recipes.base import Recipe, memory_advice
from cutaway.recipes.imported import ImportedRecipe
from cutaway.recipes.index import RECIPES, find_recipe
from cutaway.recipes.texts.bert import BERTRecipe
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.tasks.abilities.index import find_ability


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"steps": -5}, "steps must be at least 1, got -5; try steps=1000"),
        ({"steps": 0}, "steps must be at least 1, got 0; try steps=1000"),
        ({"batch": 0}, "batch must be at least 1, got 0; try batch=32"),
        ({"seed": -1}, "seed must be at least 0, got -1; try seed=0"),
        ({"rate": 0.0}, "rate must be above 0, got 0.0; try rate=0.001"),
        ({"muon_rate": -1.0}, "muon_rate must be above 0, got -1.0"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0, got -0.1; try weight_decay=0.0"),
        ({"beta": 1.0}, "beta must be from 0 to below 1, got 1.0"),
        ({"ema": 1.0}, "ema must be from 0 to below 1, got 1.0; 0 switches it off"),
        ({"warmup": 10, "steps": 10}, "warmup must be from 0 to below steps=10, got 10; try warmup=0"),
        ({"floor": 1.5}, "floor must be from 0 to 1, got 1.5; it is a share of the full rate"),
        ({"batch_growth": 3}, "batch_growth must be a power of 2, got 3; try batch_growth=4"),
        ({"batch_growth": 8, "steps": 3}, "needs a step, got batch_growth=8, steps=3; try batch_growth=4"),
        ({"seed": 1 << 63}, "seed must be below 2⁶³, got 9223372036854775808; try seed=0"),
        ({"keep": 0}, "keep must be at least 1, got 0; try keep=2"),
        ({"patience": -1}, "patience must be at least 0, got -1; try patience=0"),
    ],
)
def test_wrong_settings(settings: dict, told: str):
    with pytest.raises(ValueError, match=told):
        Recipe(**settings)


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"optimizer": "adamv"}, "optimizer must be one of muon, adamw, .*, got 'adamv'; did you mean adamw?"),
        ({"schedule": "cosin"}, "schedule must be one of constant, .*, got 'cosin'; did you mean cosine?"),
        ({"final": "first"}, "final must be one of best, last, got 'first'"),
    ],
)
def test_wrong_choices(settings: dict, told: str):
    with pytest.raises(ValueError, match=told):
        Recipe(**settings)


def test_presets_and_settings():
    made = GPTRecipe.make("small", steps=5)
    assert (made.context, made.steps) == (64, 5)
    assert GPTRecipe.make() == GPTRecipe()
    with pytest.raises(ValueError, match="preset must be one of small, got 'large'; leave it out for the defaults"):
        GPTRecipe.make("large")
    with pytest.raises(ValueError, match="preset must be one of none, got 'small'"):
        ImportedRecipe.make("small")
    with pytest.raises(
        ValueError, match=r"a setting must be one that the recipe has, got 'widht'; did you mean width?"
    ):
        GPTRecipe.make(widht=4)


@pytest.mark.parametrize(("recipe", "preset"), [(name, p) for name in RECIPES for p in find_recipe(name).presets])
def test_every_preset_can_be_made(recipe: str, preset: str):
    assert find_recipe(recipe).make(preset)


def test_what_a_recipe_cannot_do_it_says():
    recipe = ImportedRecipe()
    with pytest.raises(ValueError, match="a run of 'imported' cannot be trained; `cutaway list recipes`"):
        recipe.job()
    run = SimpleNamespace(recipe=recipe, path="runs/x")
    told = "a run of 'imported' cannot be tested; `cutaway list abilities runs/x` tells what it can do"
    assert find_ability("test").refuses(run) == told  # without a look at its weights


def test_a_short_run_lowers_a_warmup_that_nobody_chose():
    def warmup(recipe: Any) -> int:
        return recipe.rate_schedule().warmup

    assert warmup(BERTRecipe()) == warmup(BERTRecipe(steps=51)) == 50
    assert warmup(BERTRecipe.make(steps=20)) == warmup(BERTRecipe(steps=20)) == 10
    assert warmup(dataclasses.replace(BERTRecipe(), steps=20)) == 10
    assert warmup(BERTRecipe.make(steps=1)) == 0
    assert warmup(BERTRecipe.make(steps=20, warmup=19)) == 19
    for chosen in (50, 20):  # the usual one too, if it is asked for
        with pytest.raises(ValueError, match=f"warmup must be from 0 to below steps=20, got {chosen}; try warmup=0"):
            BERTRecipe.make(steps=20, warmup=chosen)


def test_what_to_lower_when_memory_runs_out():
    """A batch of 1 cannot be lowered, and before the first batch no batch helps."""
    from cutaway.tuning.tasks.classify import TunedClassesRecipe

    for name in RECIPES:
        kind = find_recipe(name)
        if name == "contrastive":  # whose batches need two images
            continue
        told = memory_advice(dataclasses.replace(kind(), batch=1))
        assert "batch=" not in told, name
        assert told.split()[0] in ("lower", "raise", "the", "turn"), told
        assert not told.endswith(("lower", "or", ","))
        before = dataclasses.replace(kind(), batch=7).smaller_before()
        assert "batch" not in before, name
        assert before.split()[0] in ("lower", "raise", "use", "take"), before
    lora = TunedClassesRecipe(base="x", lora=8, batch=4)
    assert memory_advice(lora) == (
        "lower batch=4 (a higher accumulate=1 makes up for it), or train the head alone: head_only=True"
    )
    assert "the batch is 1 already: train less of the model: lora=8" in memory_advice(
        dataclasses.replace(lora, lora=0, full=True, batch=1)
    )
    assert "features_memory=1024" in memory_advice(dataclasses.replace(lora, lora=0, head_only=True))
