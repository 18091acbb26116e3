"""Attention over patches on the image."""

import numpy as np
import pytest

from cutaway.look.images.patch_attention import patch_attention


def test_a_square_for_every_head_and_layer():
    weights = {f"blocks.{i}": np.full((3, 5, 5), 0.2) for i in range(2)}
    picture = patch_attention(np.zeros((4, 4)), weights, (2, 2))
    sets = picture.spec()["datasets"]
    assert len(sets["rows"]) == 2 * 4
    assert [row["text"] for row in sets["words"]] == ["layer 0", "layer 1", "image", "head 0", "head 1", "head 2"]
    assert picture.alt == "Attention of 2 layers and 3 heads over 2 × 2 patches of an image."


def test_messages():
    with pytest.raises(ValueError, match=r"for each of 9 patches, .* got weights of shape \(3, 5, 5\) at 'blocks.0'"):
        patch_attention(np.zeros((4, 4)), {"blocks.0": np.zeros((3, 5, 5))}, (3, 3))
