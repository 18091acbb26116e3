from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cutaway.data.images.image_data import ImageRows
from cutaway.models import Siamese
from cutaway.runs.views.one_shot_images import compares_images, map_of_kinds, one_shot_answers, pairs
from cutaway.tasks.subjects import Subject


@pytest.fixture
def run() -> Any:
    """Five classes of four images, held out, before an untrained model."""
    targets = np.repeat(np.arange(5), 4)
    pixels = np.random.default_rng(0).integers(0, 256, (20, 1, 8, 8), dtype=np.uint8)
    rows = ImageRows(pixels, np.arange(20), targets, np.array([str(i) for i in range(20)], object))
    data = SimpleNamespace(labels=tuple("abcde"), train=rows, validation=rows)
    recipe = SimpleNamespace(task_kind="images/one_shot", average=0)
    model = Siamese(image=(8, 8), width=3, stages=2, depth=1, embedding=4).eval()
    return SimpleNamespace(model=model, recipe=recipe, task=SimpleNamespace(parts=data))


def test_pairs_and_their_cosines(run: Any):
    assert compares_images(run)
    (picture,) = pairs(run, Subject())
    sets = picture.spec()["datasets"]
    assert len(sets["rows"]) == 24  # six pairs of one class, six of two
    words = [row["text"] for row in sets["words"]]
    assert words.count("same") == words.count("other") == 6
    assert "of classes that it was not trained on" in picture.note


def test_answers_show_the_right_example_and_frame_wrong_ones(run: Any):
    (picture,) = one_shot_answers(run, Subject())
    sets = picture.spec()["datasets"]
    assert len(sets["rows"]) == 5 * 6  # five questions, each with all five examples
    assert sum(row["text"].endswith("right") for row in sets["words"]) == 5
    wrong = int(picture.note.split("; ")[1].split(" of ")[0])
    assert sum(row["frame"] for row in sets["rows"]) == wrong


def test_the_map_has_a_point_for_each_image(run: Any):
    (picture,) = map_of_kinds(run, Subject())
    assert "t-SNE of 20 images of 5 classes, of classes that it was not trained on" in picture.note
    assert max(len(rows) for rows in picture.spec()["datasets"].values()) == 20
