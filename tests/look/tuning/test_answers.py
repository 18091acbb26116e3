"""Answers that flipped."""

import numpy as np
import pytest
import torch

from cutaway.look.tuning.answers import Flips, flipped_images, flipped_texts

BEFORE, AFTER = np.array([True, False, False, True]), np.array([False, True, False, True])


def test_flips():
    flips = Flips.of(BEFORE, AFTER)
    assert flips.mended.tolist() == [1]
    assert flips.broken.tolist() == [0]
    assert "1 became right, 1 became wrong, 1 stayed right and 1 stayed wrong" in flips.in_words()


@pytest.mark.untyped
def test_answers_of_other_examples():
    with pytest.raises(ValueError, match=r"of the same examples, got \(4,\) and \(3,\)"):
        Flips.of(BEFORE, AFTER[:3])


def test_pictures():
    flips = Flips.of(BEFORE, AFTER)
    names = [list("abcd"), list("wxyz")]
    (texts,) = flipped_texts(flips, ["one", "two", "three", "four"], *names, "Before is the base.")
    assert "became right: b before, x now: two" in texts.alt
    assert texts.caption.endswith("stayed wrong. Before is the base.")
    heads = {row["line"]: row["group"] for row in texts.spec()["datasets"]["rows"] if row["kind"] == "head"}
    assert heads == {"became right: b before, x now": 0, "became wrong: a before, w now": 1}
    (images,) = flipped_images(flips, torch.rand(4, 1, 8, 8), *names, "Before is the base.")
    assert images.caption.endswith("its answer before → now. Before is the base.")
    shown = images.spec()["datasets"]
    assert [(row["told"], row["frame"]) for row in shown["rows"]] == [("b → x", False), ("a → w", True)]
    assert {"became right", "became wrong"} < {row["text"] for row in shown["words"]}
    none = Flips.of(BEFORE, BEFORE)
    assert flipped_texts(none, [], [], [], "") == flipped_images(none, torch.rand(0, 1, 8, 8), [], [], "") == []
