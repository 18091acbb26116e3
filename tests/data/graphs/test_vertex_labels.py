"""Labels: words, whole numbers, numbers, gaps."""

import numpy as np
import pytest
import torch

from cutaway.data.fingerprints import fingerprint_bytes
from cutaway.data.graphs.raw_graphs import RawGraph
from cutaway.data.graphs.vertex_labels import read_labels


def labels(values: np.ndarray) -> tuple[tuple[str, ...], torch.Tensor | None, list[str]]:
    notes: list[str] = []
    names = [str(i) for i in range(len(values))]
    raw = RawGraph("g", names, np.empty((0, 2), np.int64), fingerprint_bytes(b""), labels=values)
    return *read_labels(raw, "label", notes), notes


def test_words_and_gaps():
    classes, targets, notes = labels(np.array(["b", None, " a", "b", ""], object))
    assert classes == ("a", "b")
    assert targets.tolist() == [1, -1, 0, 1, -1]
    assert notes == ["2 of 5 vertices have no label"]


def test_whole_numbers_are_classes_in_order_and_below_zero_is_none():
    classes, targets, _ = labels(np.array([10, 9, -1, 10]))
    assert classes == ("9", "10")
    assert targets.tolist() == [1, 0, -1, 1]
    assert labels(np.array([1.0, np.nan, 2.0]))[0] == ("1", "2")


def test_other_numbers_are_to_be_predicted_as_numbers():
    classes, targets, _ = labels(np.array([0.5, np.nan, 1.25]))
    assert classes == ()
    assert targets[[0, 2]].tolist() == [0.5, 1.25]
    assert torch.isnan(targets[1])
    assert labels(np.arange(60))[0] == ()


def test_mistakes():
    with pytest.raises(ValueError, match="got none in 'label' of g"):
        labels(np.array([np.nan, np.nan]))
    with pytest.raises(ValueError, match="two classes or more, got 'a' for all 2 vertices"):
        labels(np.array(["a", "a"], object))
