"""Views of a run that classifies images: every picture, its words, and what an address adds."""

from collections.abc import Callable
from pathlib import Path

import pytest

import cutaway as cut
from cutaway.registry import views
from cutaway.runs.pages import make_page
from cutaway.runs.views.image_classes import has_feature_maps, has_filters
from cutaway.tasks.subjects import subject_of


@pytest.fixture
def run(trained: Callable[[str], Path]) -> cut.runs.Run:
    return cut.load(trained("cnn"))


def test_every_picture_has_its_words(run: cut.runs.Run):
    _, placed = make_page(run, subject_of(run))
    ours = {one.source: one.picture for one in placed}
    names = ("image_mistakes", "hardest_images", "image_evidence", "first_filters", "feature_maps", "receptive_fields")
    for name in names:
        assert ours[name].caption.endswith((".", "?")), name
        assert ours[name].alt
    marked = {view.name for view in views() if view.report and view.fits(run)}
    assert set(names) <= marked


def test_an_address_shows_what_a_unit_there_sees(run: cut.runs.Run):
    _, placed = make_page(run, subject_of(run), "stages.0.0.output")
    titles = [one.picture.title for one in placed]
    assert "What a unit in the middle of stages.0.0.output sees" in titles


@pytest.mark.long
def test_a_transformer_has_filters_but_no_feature_maps(tmp_path: Path):
    vit = cut.train("vit", width=8, heads=2, depth=1, steps=2, out=tmp_path / "run", show="quiet")
    assert has_filters(vit)
    assert not has_feature_maps(vit)
    _, placed = make_page(vit, vit.recipe.subject(vit))
    sources = {one.source for one in placed}
    assert {"image_mistakes", "hardest_images", "image_evidence", "first_filters", "patches_looked_at"} <= sources
    assert not {"attention", "telling_heads", "rollout"} & sources  # those are for texts
    assert tuple(vit.model.pixel_filters().shape) == (8, 1, 2, 2)
