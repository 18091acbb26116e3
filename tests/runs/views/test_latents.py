"""Views of runs that make images: each draws something for the runs that it suits, with a caption."""

import generative
import pytest

import cutaway as cut
from cutaway.registry import views
from cutaway.tasks.images.image_task import image_subject

EXPECTED = {
    "autoencoder": {"samples", "nearest_images", "reconstructions", "interpolation", "latent_map"},
    "vae": {
        "samples",
        "nearest_images",
        "reconstructions",
        "interpolation",
        "latent_map",
        "latent_walk",
        "code_spread",
    },
    "diffusion": {"samples", "nearest_images", "denoising", "guidance_table"},
}
OURS = set().union(*EXPECTED.values())


@pytest.mark.parametrize("recipe", EXPECTED)
@pytest.mark.parametrize(("labelled", "channels"), [(True, 1), (False, 3)])
def test_every_view_that_suits_draws(recipe: str, labelled: bool, channels: int):
    run = generative.little_run(recipe, labelled, channels)
    subject = run.subject()
    fitting = {view.name: view for view in views() if view.name in OURS and view.fits(run)}
    assert set(fitting) == EXPECTED[recipe]
    for name, view in fitting.items():
        pictures = view.pictures(run, subject)
        assert pictures or (name, labelled) == ("guidance_table", False)
        for picture in pictures:
            assert picture.caption.endswith(".")
            assert picture.spec()


@pytest.mark.parametrize("recipe", EXPECTED)
def test_three_images_are_enough_for_a_report(recipe: str, tmp_path):
    """One to train on, one for validation, one for the test."""
    data = generative.shapes_file(3)
    run = cut.train(recipe, data=data, out=tmp_path / "run", **generative.SMALL | generative.KINDS[recipe])
    assert (run.path / "report.html").stat().st_size > 10_000


def test_your_own_images_go_in():
    run = generative.little_run("vae")
    images, _ = generative.shapes(3)
    subject = image_subject(run.model, *run.task.images_to_show(images))
    (picture,) = next(view for view in views() if view.name == "reconstructions").pictures(run, subject)
    assert picture.note == "Your images."
