from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cutaway.data.images.image_arrays import as_images, as_labels, from_memory, read_array_file

X = np.random.default_rng(0).integers(0, 256, (5, 7, 6, 3), dtype=np.uint8)


def test_layouts():
    first = X.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(as_images(X, "x"), first)
    np.testing.assert_array_equal(as_images(first, "x"), first)
    np.testing.assert_array_equal(as_images(torch.from_numpy(first.copy()), "x"), first)
    assert as_images(X[..., 0], "x").shape == (5, 1, 7, 6)
    assert as_images(np.zeros((2, 1, 4, 4)), "x").shape == (2, 3, 1, 4)  # NumPy: the last axis are colours, on white
    assert as_images(torch.zeros(2, 1, 4, 4), "x").shape == (2, 1, 4, 4)  # torch: the first


@pytest.mark.parametrize(
    ("values", "bytes_"),
    [
        (np.array([0, 1, 255], np.uint8), [0, 1, 255]),
        (np.array([False, True, True]), [0, 255, 255]),
        (np.array([0, 257, 65535], np.uint16), [0, 1, 255]),
        (np.array([0.0, 0.5, 1.0]), [0, 128, 255]),
        (np.array([0.0, 99.6, 255.0]), [0, 100, 255]),
        (np.array([0, 3, 255], np.int64), [0, 3, 255]),
    ],
)
def test_number_types(values: np.ndarray, bytes_: list[int]):
    assert as_images(values.reshape(1, 1, 3), "x").flatten().tolist() == bytes_


def test_labels():
    assert as_labels(np.array([[1], [0]]), 2, "y") == ("1", "0")
    assert as_labels(np.array([1.0, np.nan]), 2, "y") == ("1", None)
    assert as_labels(["cat", ""], 2, "y") == ("cat", None)
    assert as_labels(np.eye(3)[[2, 0]], 2, "y") == ("2", "0")
    assert as_labels(None, 2, "y") == (None, None)


def test_npz_by_names(tmp_path: Path):
    y = np.arange(5)
    np.savez(tmp_path / "keras.npz", x_train=X, y_train=y, x_test=X[:2], y_test=y[:2])
    found = read_array_file(tmp_path / "keras.npz")
    assert found.parts == ("train",) * 5 + ("test",) * 2
    assert found.labels == ("0", "1", "2", "3", "4", "0", "1")
    np.savez_compressed(
        tmp_path / "med.npz", train_images=X, train_labels=y[:, None], val_images=X[:1], val_labels=y[:1]
    )
    assert read_array_file(tmp_path / "med.npz").parts == ("train",) * 5 + ("validation",)
    np.savez(tmp_path / "plain.npz", X, y)
    assert read_array_file(tmp_path / "plain.npz").labels == ("0", "1", "2", "3", "4")
    np.save(tmp_path / "images.npy", X)
    assert read_array_file(tmp_path / "images.npy").labels == (None,) * 5


def test_torch_data_sets():
    pairs = torch.utils.data.TensorDataset(torch.rand(4, 1, 5, 5), torch.tensor([0, 1, 1, 0]))
    found = from_memory(pairs)
    assert found.pixels.shape == (4, 1, 5, 5)
    assert found.labels == ("0", "1", "1", "0")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((5, 784)), r"got 5 × 784 in x; reshape them, as in x.reshape\(-1, 28, 28\)"),
        (np.zeros((5, 7, 6, 2)), r"got 5 × 7 × 6 × 2 in x"),
        (np.zeros((0, 7, 6)), r"got 0 × 1 × 7 × 6 in x|got 0 × 7 × 6 in x"),
        (np.full((1, 2, 2), -1.0), r"pixels must lie in 0–1 or 0–255, got -1 to -1 in x"),
        (np.full((1, 2, 2), np.nan), r"pixels must be finite numbers, got NaN or infinity in x"),
        (np.full((1, 2, 2), "a"), r"pixels must be numbers, got <U1 in x"),
        ([np.zeros((2, 2)), np.zeros((3, 2))], r"images in an array must be of one size, got different ones in x"),
    ],
)
def test_arrays_that_are_no_images(values: Any, message: str):
    with pytest.raises(ValueError, match=message):
        as_images(values, "x")


def test_files_that_are_refused(tmp_path: Path):
    np.savez(tmp_path / "odd.npz", mean=X)
    with pytest.raises(ValueError, match=r"must be called images and labels, .* got mean in odd.npz; rename them"):
        read_array_file(tmp_path / "odd.npz")
    np.savez(tmp_path / "objects.npz", images=np.array([X, 1], object))
    with pytest.raises(ValueError, match=r"got objects.npz with objects, which only unsafe code can open"):
        read_array_file(tmp_path / "objects.npz")
    whole = (tmp_path / "odd.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"must be whole, got .*cut.npz which is damaged"):
        read_array_file(tmp_path / "cut.npz")
