"""Folders as people have them: what is read, what is told, what is refused."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pictures import make_classes, small_image
from PIL import Image

from cutaway.data.images.image_data import UNKNOWN, read_images, read_new_images


def test_parts_are_stratified_disjoint_and_whole(tmp_path: Path):
    data = read_images(make_classes(tmp_path, each=20), labelled=True, validation=0.2, test=0.2)
    held = data.validation
    assert held is not None
    parts = [data.train, held, data.open_test()]
    assert [np.bincount(part.targets).tolist() for part in parts] == [[12, 12], [4, 4], [4, 4]]
    names = [name for part in parts for name in part.names]
    assert sorted(names) == sorted(f"{label}/{j}.png" for label in ("cat", "dog") for j in range(20))
    for part in parts:
        for name, pixels in zip(part.names, part.pixels(), strict=True):
            np.testing.assert_array_equal(pixels.transpose(1, 2, 0), np.asarray(Image.open(tmp_path / name)))


def test_other_seeds_split_otherwise(tmp_path: Path):
    make_classes(tmp_path, each=20)
    a, b = (read_images(tmp_path, labelled=True, seed=seed).train.names.tolist() for seed in (0, 1))
    assert a != b


def test_own_parts_by_folder(tmp_path: Path):
    for part, each in (("train", 6), ("val", 2), ("test", 3)):
        make_classes(tmp_path / part, each=each)
    data = read_images(tmp_path, labelled=True)
    assert data.counts == {"training": 12, "validation": 4, "test": 6}
    assert "the data has its own part for validation and test" in data.summary()


def test_a_test_set_in_another_folder(tmp_path: Path):
    make_classes(tmp_path / "a", size=(9, 12))
    make_classes(tmp_path / "b", size=(20, 20), each=3)
    data = read_images(tmp_path / "a", labelled=True, test=tmp_path / "b")
    assert "test in a file of its own" in data.summary()
    assert data.open_test().pixels().shape == (6, 3, 9, 12)
    make_classes(tmp_path / "c", labels=("cat", "cow"))
    with pytest.raises(ValueError, match=r"the classes of a test set must be those of training, got cow in c"):
        read_images(tmp_path / "a", labelled=True, test=tmp_path / "c").open_test()


def test_images_without_labels(tmp_path: Path):
    for i in range(10):
        small_image(i).save(tmp_path / f"{i}.png")
    data = read_images(tmp_path)
    assert data.labels == ()
    assert set(data.train.targets) == {UNKNOWN}
    assert "no labels" in data.summary()
    with pytest.raises(ValueError, match=r"needs images of two classes or more, got images without labels"):
        read_images(tmp_path, labelled=True)


def test_stray_images_beside_the_classes(tmp_path: Path):
    make_classes(tmp_path)
    small_image(9).save(tmp_path / "stray.png")
    assert "left out: 1 images without a label" in read_images(tmp_path, labelled=True).summary()
    free = read_images(tmp_path)
    assert "1 images without a label are used too" in free.summary()
    assert sum(free.counts.values()) == 11


def test_mixed_sizes_and_colours(tmp_path: Path):
    make_classes(tmp_path)
    small_image(1, (30, 8), "L").save(tmp_path / "cat" / "grey.png")
    data = read_images(tmp_path, labelled=True)
    assert data.shape == (3, 12, 12)
    told = data.summary()
    assert "2 different sizes, from 9×8 to 30×12 (height × width), become 12×12: the middle of each" in told
    assert "1 grey images among 10 in colour: all have 3 channels" in told
    assert read_images(tmp_path, labelled=True, channels=1, size=8).shape == (1, 8, 8)


def test_greys_in_files_of_colour_need_one_channel(tmp_path: Path):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for i in range(4):
            small_image(i, mode="L").convert("RGB").save(tmp_path / label / f"{i}.png")
    data = read_images(tmp_path, labelled=True)
    assert data.shape == (1, 9, 12)
    assert "files in colour that hold greys alone: 1 channel is kept" in data.summary()


def test_damaged_images_are_named_and_left_out(tmp_path: Path):
    make_classes(tmp_path)
    file = io.BytesIO()
    small_image(size=(64, 64)).save(file, "JPEG")
    (tmp_path / "cat" / "cut.jpg").write_bytes(file.getvalue()[:900])
    (tmp_path / "dog" / "empty.png").write_bytes(b"")
    data = read_images(tmp_path, labelled=True)
    assert "left out: 2 damaged of 12 files (" in data.summary()
    assert "dog/empty.png: it is empty" in data.summary()
    assert "cat/cut.jpg: image file is truncated" in data.summary()
    assert sum(data.counts.values()) == 10
    assert read_images(tmp_path, labelled=True).notes == data.notes  # from the cache the same
    with pytest.raises(ValueError, match=r"images must be whole, got 2 damaged of 12 in .* leave strict out"):
        read_images(tmp_path, labelled=True, strict=True)


def test_too_many_damaged_images(tmp_path: Path):
    make_classes(tmp_path, each=2)
    for i in range(5):
        (tmp_path / "cat" / f"bad{i}.png").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"got 5 damaged of 9 in .*; …\); copy the data again"):
        read_images(tmp_path, labelled=True)


def test_a_class_with_one_image_is_trained_on(tmp_path: Path):
    make_classes(tmp_path, each=8)
    (tmp_path / "cow").mkdir()
    small_image(7).save(tmp_path / "cow" / "1.png")
    data = read_images(tmp_path, labelled=True)
    assert "1 classes have a single image to train on: cow" in data.summary()
    assert 1 in data.train.targets  # cat, cow, dog


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, r"there must be an image, got none in"),
        (lambda p: (p / "cat").mkdir(), r"there must be an image, got none in .*\(folders without images: cat\)"),
        (lambda p: (p / "a.txt").write_text("x"), r"got none in .*1 files that are no images \(1 .txt\)"),
        (lambda p: make_classes(p, labels=("cat",)), r"two classes or more, got images without labels"),
        (
            lambda p: (p / "a.png").write_bytes(b"x"),
            r"an image that can be read, got 1 damaged file in .*a.png: not an",
        ),
    ],
)
def test_folders_that_are_refused(tmp_path: Path, make: Any, message: str):
    (tmp_path / "data").mkdir()
    make(tmp_path / "data")
    with pytest.raises(ValueError, match=message):
        read_images(tmp_path / "data", labelled=True)


def test_paths_that_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"which is none; give a path, or an images sample: digits|did you mean"):
        read_images(tmp_path / "gone")
    (tmp_path / "a.tar.gz").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"got a.tar.gz; unpack it and give the folder"):
        read_images(tmp_path / "a.tar.gz")
    with pytest.raises(ValueError, match=r"images was asked for, got the table sample iris"):
        read_images("iris")


def test_a_changed_folder_is_read_again(tmp_path: Path):
    make_classes(tmp_path)
    before = read_images(tmp_path, labelled=True)
    Image.new("RGB", (12, 9), "white").save(tmp_path / "cat" / "0.png")
    os.utime(tmp_path / "cat" / "0.png", (1, 1))
    after = read_images(tmp_path, labelled=True)
    assert before.fingerprint.digest != after.fingerprint.digest


def test_new_images_take_the_shape_of_training(tmp_path: Path):
    small_image(size=(40, 20)).save(tmp_path / "a.png")
    rows, notes = read_new_images(tmp_path / "a.png", (1, 8, 8), "crop")
    assert rows.pixels().shape == (1, 1, 8, 8)
    assert notes == []
    rows, _ = read_new_images(small_image(), (1, 8, 8), "pad")
    assert rows.pixels().shape == (1, 1, 8, 8)
    rows, _ = read_new_images(np.zeros((3, 9, 12)), (3, 8, 8), "crop")  # one image, channels first
    assert rows.pixels().shape == (1, 3, 8, 8)


def test_the_sample():
    data = read_images("digits", labelled=True)
    assert data.shape == (1, 8, 8)
    assert data.counts == {"training": 1437, "validation": 180, "test": 180}
