"""`contrastive`: a whole run on the digits with either encoder, killed and resumed, and its messages."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import expect_same_after_death

import cutaway as cut
from cutaway.models import CNN, ContrastiveEncoder
from cutaway.recipes.images.contrastive import ContrastiveRecipe

LITTLE: dict[str, Any] = dict(width=8, depth=1, batch=64, hidden=16, projected=8, augment="shift:1", show="quiet")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    place = tmp_path_factory.mktemp("runs") / "run"
    return cut.train("contrastive", steps=60, evaluate_every=30, out=place, **LITTLE)


def test_views_find_each_other(run: cut.runs.Run):
    assert isinstance(run.model, ContrastiveEncoder)
    first, *_, last = [row for row in run.metrics if row["split"] == "validation"]
    assert last["loss"] < first["loss"]
    assert last["found"] > 0.15  # by chance 1 of 127
    assert run.about["data"]["baseline"]["metrics"].keys() == {"found", "probe_accuracy"}
    found = run.test()
    assert found.keys() == {"loss", "found", "probe_accuracy", "baseline_found", "baseline_probe_accuracy"}
    assert found["probe_accuracy"] > 0.6


@pytest.mark.parametrize("encoder", ["cnn", "vit"])
def test_killed_and_resumed_it_ends_with_the_same_weights(encoder: str, tmp_path: Path):
    settings = LITTLE | dict(encoder=encoder, steps=8, batch=16, ema=0.9, evaluate_every=4, checkpoint_every=3)
    expect_same_after_death(tmp_path, "contrastive", settings, "before a checkpoint becomes the latest")


def test_vectors_and_alike_images(run: cut.runs.Run):
    x = np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8)
    assert run.encode(x).shape == (3, 16)
    assert run.predict(x)[0].keys() == {"image", "most_alike", "cosine", "class_of_nearest"}


def test_its_encoder_is_tuned_to_classes(run: cut.runs.Run, tmp_path: Path):
    """The classes of pretraining's own images are no head: a fresh one comes onto the encoder."""
    tuned = cut.tune(str(run.path), data="digits", head_only=True, epochs=5, out=tmp_path / "tuned", show="quiet")
    assert isinstance(tuned.model, CNN)
    assert tuned.model.spec.classes == 10
    assert tuned.metrics[-1]["accuracy"] > 0.4
    x = np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8)
    assert tuned.embed(x).shape == (3, 16)


def test_evaluation_draws_the_same_views_and_leaves_the_stream_alone(run: cut.runs.Run):
    import torch

    learner: Any = run.learner
    held = run.task.parts.validation
    torch.manual_seed(5)
    first = learner.measure(run.model, held)
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(1), drawn)
    assert learner.measure(run.model, held) == first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"augment": ""}, r"two views of an image must differ, got augment without a change"),
        ({"augment": "cutmix"}, r"augment must keep each image one, got cutmix, which mixes two"),
        ({"temperature": 0.0}, r"temperature must be above 0, got 0.0; try temperature=0.2"),
        ({"batch": 1}, r"batch must be at least 2, got 1"),
        ({"encoder": "vit", "heads": 5}, r"width must be a multiple of heads, got width=32, heads=5"),
        ({"projected": 0}, r"projected must be at least 1, got 0"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        ContrastiveRecipe.make(**settings)
