import numpy as np
import pytest
import torch

from cutaway.look.images.image_grids import image_grid


def test_every_image_has_its_place_and_name():
    images = torch.rand(5, 1, 4, 6)
    picture = image_grid(images, title="Five", columns=3, names=[f"n{i}" for i in range(5)], rows=["a", "b"], cell=48)
    sets = picture.spec()["datasets"]
    assert [row["told"] for row in sets["rows"]] == ["n0", "n1", "n2", "n3", "n4"]
    places = {(row["x"], row["y"]) for row in sets["rows"]}
    assert len(places) == 5
    assert len({x for x, _ in places}) == 3
    assert {row["text"] for row in sets["words"]} == {"n0", "n1", "n2", "n3", "n4", "a", "b"}
    assert picture.alt == "Grid of 5 images of 4×6 pixels."
    assert picture.to_png().startswith(b"\x89PNG")


def test_frames_and_empty_places():
    x = np.zeros((3, 5, 5), np.uint8)
    picture = image_grid([x, None, x], title="Two", framed=[True, False, False])
    rows = picture.spec()["datasets"]["rows"]
    assert [row["frame"] for row in rows] == [True, False]
    assert picture.alt.startswith("Grid of 2 images")


@pytest.mark.parametrize(
    ("images", "more", "message"),
    [
        ([], {}, "a grid needs an image, got none"),
        (np.zeros((401, 2, 2)), {}, "at most 400 images can be shown, got 401"),
        (np.zeros((2, 2, 2)), {"names": ["a"]}, "names must be one for each of 2, got 1"),
    ],
)
def test_grids_that_cannot_be(images, more, message):
    with pytest.raises(ValueError, match=message):
        image_grid(images, title="x", **more)


def test_a_share_below_an_image_is_never_cut():
    picture = image_grid(
        [np.zeros((4, 4))] * 3, title="Classes", columns=3, names=["a very long class 98%", "b 7%", "c"]
    )
    shown = [row["text"] for row in picture.spec()["datasets"]["words"]]
    assert shown[0].startswith("a very")
    assert shown[0].endswith("… 98%")
    assert shown[1:] == ["b 7%", "c"]
