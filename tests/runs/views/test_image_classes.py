"""Views of a run that classifies images: every picture, its words, and what an address adds."""

from pathlib import Path

import pytest

import cutaway as cut
from cutaway.runs.pages import make_page
from cutaway.runs.views.image_classes import has_feature_maps, has_filters


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    return cut.train("cnn", width=4, depth=1, steps=15, out=tmp_path_factory.mktemp("runs") / "run", show="quiet")


def test_every_picture_has_its_words(run: cut.runs.Run):
    _, placed = make_page(run, run.recipe.subject(run))
    ours = {one.source: one.picture for one in placed}
    names = ("image_mistakes", "hardest_images", "image_evidence", "first_filters", "feature_maps", "receptive_fields")
    for name in names:
        assert ours[name].caption.endswith((".", "?")), name
        assert ours[name].alt
    report = (run.path / "report.html").read_text(encoding="utf-8")
    for title in ("The hardest held-out images", "What a class depends on", "What a unit in the middle of each layer"):
        assert title in report


def test_an_address_shows_what_a_unit_there_sees(run: cut.runs.Run):
    _, placed = make_page(run, run.recipe.subject(run), "stages.0.0.output")
    titles = [one.picture.title for one in placed]
    assert "What a unit in the middle of stages.0.0.output sees" in titles


@pytest.mark.long
def test_a_transformer_has_filters_but_no_feature_maps(tmp_path: Path):
    vit = cut.train("vit", width=8, heads=2, depth=1, steps=2, out=tmp_path / "run", show="quiet")
    assert has_filters(vit)
    assert not has_feature_maps(vit)
    _, placed = make_page(vit, vit.recipe.subject(vit))
    sources = {one.source for one in placed}
    assert {"image_mistakes", "hardest_images", "image_evidence", "first_filters", "attention"} <= sources
    assert tuple(vit.model.pixel_filters().shape) == (8, 1, 2, 2)
