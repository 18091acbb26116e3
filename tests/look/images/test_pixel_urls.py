import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from cutaway.look.images.pixel_urls import as_bytes, pixel_url


@pytest.mark.parametrize("channels", [1, 3])
def test_pillow_reads_what_was_written(channels: int):
    x = np.random.default_rng(0).integers(0, 256, (channels, 5, 7), dtype=np.uint8)
    url = pixel_url(x, 21)
    found = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))))
    assert found.shape[:2] == (15, 21)  # three times, whole squares
    np.testing.assert_array_equal(found.reshape(15, 21, channels)[1::3, 1::3], x.transpose(1, 2, 0))


def test_shares_become_bytes():
    assert as_bytes(torch.tensor([[0.0, 0.5, 1.0, 2.0, -1.0, float("nan")]])).flatten().tolist() == [
        0,
        128,
        255,
        255,
        0,
        0,
    ]


def test_what_is_no_image():
    with pytest.raises(ValueError, match=r"got \(2, 4, 4\); pick one image"):
        as_bytes(np.zeros((2, 4, 4)))
