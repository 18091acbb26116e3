from types import SimpleNamespace
from typing import Any

import torch

from cutaway.recipes.images.classifier_settings import ImageClassifierRecipe
from cutaway.runs.views.augmented_images import augmented, changes_images
from cutaway.tasks.subjects import Subject


def run_of(augment: str) -> Any:
    return SimpleNamespace(recipe=ImageClassifierRecipe(augment=augment))


def test_images_above_what_becomes_of_them():
    run = run_of("mixup,shift")
    assert changes_images(run)
    images = torch.rand(10, 1, 8, 8)
    before = torch.get_rng_state()
    (picture,) = augmented(run, Subject((images,), "x"))
    assert torch.equal(torch.get_rng_state(), before)
    sets = picture.spec()["datasets"]
    assert len(sets["rows"]) == 8 * 4
    assert picture.note == "Shift keeps shape and size; mixup keeps the shares of classes."
    assert [row["text"] for row in sets["words"]] == ["as it is", "draw 1", "draw 2", "draw 3"]


def test_only_where_images_are_changed():
    assert not changes_images(run_of(""))
    assert not changes_images(run_of("shift:0"))
