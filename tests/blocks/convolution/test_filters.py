"""Filters by hand on an image: what each one does, and an independent implementation."""

import pytest
import torch
from scipy import ndimage

from cutaway.blocks import filter_image, image_filter
from cutaway.blocks.convolution.filters import FILTERS

STEP = torch.tensor([[0.0, 0, 0, 9, 9, 9]]).expand(5, 6)[None]  # dark left of the middle, bright right of it


def test_what_each_does_to_a_step_in_brightness():
    """A row of the middle, worked by hand: three equal rows under each kernel."""
    rows = {name: filter_image(STEP, name)[0, 2].round().tolist() for name in FILTERS}
    assert rows["identity"] == [0, 0, 0, 9, 9, 9]
    assert rows["box blur"] == [0, 0, 3, 6, 9, 9]
    assert rows["edge"] == [0, 0, -27, 27, 0, 0]
    assert rows["sharpen"] == [0, 0, -27, 36, 9, 9]
    assert rows["slope across"] == [0, 0, 36, 36, 0, 0]
    assert rows["slope down"] == [0, 0, 0, 0, 0, 0]


def test_sharpening_adds_the_edges():
    assert torch.equal(image_filter("sharpen"), image_filter("identity") + image_filter("edge"))


@pytest.mark.parametrize("name", FILTERS)
def test_equal_to_scipy_in_every_channel(float64, name):
    image = torch.rand(2, 3, 6, 7)
    for batch in range(2):
        for channel in range(3):
            expected = ndimage.correlate(image[batch, channel].numpy(), image_filter(name).numpy(), mode="mirror")
            torch.testing.assert_close(filter_image(image, name)[batch, channel], torch.from_numpy(expected))


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"name must be one of identity, box blur, .* got 'blur'"):
        image_filter("blur")
    with pytest.raises(ValueError, match=r"image must have shape \(..., channels, height, width\), got \(4, 4\)"):
        filter_image(torch.zeros(4, 4), "edge")
