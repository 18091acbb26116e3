"""Maps with images at their points: none hides another, groups are coloured, wrong shapes are named."""

import numpy as np
import pytest

from cutaway.look.images.image_maps import _apart, image_map


def example(count: int = 300) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.Generator(np.random.Philox(0))
    return draw.normal(size=(count, 2)), draw.uniform(size=(count, 1, 4, 3))


def test_no_image_hides_another():
    place = example()[0] * 100
    kept = _apart(place, 40.0)
    near = np.abs(place[kept][:, None] - place[kept][None]).max(-1) + 1e9 * np.eye(len(kept))
    assert near.min() >= 40
    assert len(kept) > 10


def test_dots_and_images_are_drawn(tmp_path):
    points, images = example()
    picture = image_map(points, images, groups=["a", "b", "c"] * 100)
    spec = picture.spec()
    assert len(spec["datasets"]["rows"]) == 300
    shown = spec["datasets"]["images"]
    assert 10 < len(shown) < 300
    assert all(row["url"].startswith("data:image/png") for row in shown)
    assert picture.save(tmp_path / "map.png").stat().st_size > 1000
    assert f"{len(shown)} of 300 images are shown" in picture.note


def test_one_point_and_points_in_one_place():
    points, images = example(5)
    assert image_map(points[:1], images[:1]).spec()
    assert len(image_map(points * 0, images).spec()["datasets"]["images"]) == 1


def test_wrong_inputs_are_named():
    points, images = example(5)
    with pytest.raises(ValueError, match="two coordinates for each of 4 images"):
        image_map(points, images[:4])
    with pytest.raises(ValueError, match="one for each of the 5 points, got 2"):
        image_map(points, images, groups=["a", "b"])
