"""Views of pretrained image models: what they show, on runs as small as they come."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutaway as cut
from cutaway.look.pages.picture import Picture
from cutaway.runs.views.pretraining import pretrained_images as views
from cutaway.tasks.subjects import subject_of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def masked(place: Path) -> cut.runs.Run:
    sizes: dict[str, Any] = dict(width=8, depth=1, heads=2, decoder_width=8, steps=2, batch=16)
    return cut.train("masked-image", out=place / "masked", show="quiet", **sizes)


@pytest.fixture(scope="module")
def contrasted(place: Path) -> cut.runs.Run:
    return cut.train("contrastive", out=place / "views", width=4, depth=1, steps=2, batch=16, show="quiet")


def sentence(picture: Picture) -> None:
    assert picture.caption.endswith(".")
    assert picture.alt


def test_filled_images(masked: cut.runs.Run):
    assert views.fills_patches(masked)
    assert not views.contrasts_views(masked)
    picture = views.filled_images(masked, masked.recipe.subject(masked))
    sentence(picture)
    assert len(picture.spec()["datasets"]["rows"]) == 40  # four lines of ten classes
    assert {word["text"] for word in picture.spec()["datasets"]["words"]} == {
        "image",
        "what it sees",
        "filled in",
        "only blurred",
    }


def test_pairs_of_views(contrasted: cut.runs.Run):
    assert views.contrasts_views(contrasted)
    (picture,) = views.contrasted_pairs(contrasted, contrasted.recipe.subject(contrasted))
    sentence(picture)
    assert len(picture.spec()["datasets"]["rows"]) == 30


def test_alike_images_and_the_map(masked: cut.runs.Run, contrasted: cut.runs.Run):
    for run in (masked, contrasted):
        assert views.learns_from_images_alone(run)
        subject = subject_of(run)
        (picture,) = views.alike_images(run, subject)
        sentence(picture)
        assert len(picture.spec()["datasets"]["rows"]) == 8 * 7
        (picture,) = views.map_of_vectors(run, subject)
        sentence(picture)


def test_the_report_has_them(masked: cut.runs.Run):
    page = (masked.path / "report.html").read_text(encoding="utf-8")
    for title in ("Hidden patches, filled in", "The most alike training images", "Map of the images by their vectors"):
        assert title in page
    assert "untrained model" in page  # the baseline


def test_without_labels_and_with_few_images(place: Path):
    x = np.random.default_rng(0).integers(0, 255, (12, 8, 8), dtype=np.uint8)
    np.savez(place / "few.npz", images=x)
    sizes: dict[str, Any] = dict(width=8, depth=1, heads=2, decoder_width=8, steps=2, validation=0.0, test=0.0)
    run = cut.train("masked-image", data=str(place / "few.npz"), out=place / "few", show="quiet", **sizes)
    (picture,) = views.alike_images(run, subject_of(run))
    assert "class" not in picture.caption
