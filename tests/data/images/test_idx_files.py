import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from cutaway.data.images.idx_files import find_pairs, read_idx
from cutaway.data.images.image_data import read_images


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, {"u": 8, "i": 12}[values.dtype.kind], values.ndim])
    return (
        head
        + b"".join(int(n).to_bytes(4, "big") for n in values.shape)
        + values.astype(values.dtype.newbyteorder(">")).tobytes()
    )


IMAGES = np.arange(6 * 5 * 4, dtype=np.uint8).reshape(6, 5, 4)
LABELS = np.array([0, 1, 0, 1, 0, 1], np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(IMAGES))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS)))
    (tmp_path / "t10k-images.idx3-ubyte.xz").write_bytes(lzma.compress(idx(IMAGES[::-1].copy())))
    (tmp_path / "t10k-labels.idx1-ubyte").write_bytes(idx(LABELS[::-1].copy()))
    return tmp_path


def test_reads_what_was_written(tmp_path: Path):
    for i, values in enumerate([IMAGES, LABELS, np.array([[1, -2]], np.int32)]):
        (tmp_path / str(i)).write_bytes(idx(values))
        np.testing.assert_array_equal(read_idx(tmp_path / str(i)), values)


def test_a_folder_has_its_own_test_set(folder: Path):
    data = read_images(folder, labelled=True, validation=0.0, size=0)
    assert data.counts == {"training": 6, "validation": 0, "test": 6}
    np.testing.assert_array_equal(data.train.pixels()[:, 0], IMAGES)
    np.testing.assert_array_equal(data.open_test().pixels()[:, 0], IMAGES[::-1])
    assert data.labels == ("0", "1")
    assert "the data has its own part for test" in data.summary()


def test_one_file_by_name_is_its_own_pair(folder: Path):
    data = read_images(folder / "train-images-idx3-ubyte", labelled=True, validation=0.0, test=0.0)
    assert data.counts == {"training": 6, "validation": 0, "test": 0}
    tested = read_images(
        folder / "train-images-idx3-ubyte", labelled=True, validation=0.0, test=folder / "t10k-images.idx3-ubyte.xz"
    )
    assert tested.open_test().targets.tolist() == LABELS[::-1].tolist()


def test_real_mnist(data_folder: Path):
    data = read_images(data_folder / "images" / "mnist", labelled=True)
    assert data.counts == {"training": 54_000, "validation": 6_000, "test": 10_000}
    whole = np.concatenate([data.train.pixels(), data.validation.pixels()])  # type: ignore[union-attr]
    assert whole.mean() / 255 == pytest.approx(0.1307, abs=1e-4)


def test_what_is_wrong_with_a_file(tmp_path: Path):
    whole = idx(IMAGES)
    for content, message in (
        (whole[:-1], r"must hold what its head says, got x with 119 bytes for 120 of 6 × 5 × 4 values"),
        (whole + b"1", r"got x with more bytes for 120"),
        (b"hello", r"must begin with its type and number of dimensions, got 68656c6c in x"),
        (b"", r"must begin with its type and number of dimensions, got  in x"),
    ):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_idx(tmp_path / "x")


def test_pairs_that_do_not_match(tmp_path: Path):
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS))
    with pytest.raises(ValueError, match=r"labels come with images, got train-labels-idx1-ubyte without"):
        find_pairs(tmp_path.iterdir())
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(IMAGES[:4]))
    with pytest.raises(ValueError, match=r"got labels of shape \(6,\) for 4 images"):
        read_images(tmp_path, labelled=True)
    (tmp_path / "other-images-idx3-ubyte").write_bytes(idx(IMAGES))
    with pytest.raises(ValueError, match=r"one file of images for train"):
        find_pairs(sorted(tmp_path.iterdir()))
