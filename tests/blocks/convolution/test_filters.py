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
    assert rows["edge"] == [0, 0, -9, 9, 0, 0]
    assert rows["sharpen"] == [0, 0, -9, 18, 9, 9]
    assert rows["slope across"] == [0, 0, 36, 36, 0, 0]
    assert rows["slope down"] == [0, 0, 0, 0, 0, 0]


def test_with_eight_neighbours_a_step_counts_three_times():
    """The pixel beside a straight edge has one neighbour across it among four, three among eight."""
    eight = {name: filter_image(STEP, image_filter(name, 8))[0, 2].tolist() for name in ("edge", "sharpen")}
    assert eight == {"edge": [0, 0, -27, 27, 0, 0], "sharpen": [0, 0, -27, 36, 9, 9]}


@pytest.mark.parametrize("neighbours", [4, 8])
def test_the_middle_balances_the_neighbours_and_sharpening_adds_the_edges(neighbours):
    """N3 §6.2.1: the centre of an edge filter is the number of neighbours, that of sharpening one more."""
    edge, sharpen = image_filter("edge", neighbours), image_filter("sharpen", neighbours=neighbours)
    assert edge[1, 1] == neighbours == (edge == -1).sum()
    assert edge.sum() == 0
    assert torch.equal(sharpen, image_filter("identity") + edge)
    if neighbours == 4:
        assert torch.equal(edge, image_filter("edge"))
        assert not edge[::2, ::2].any()  # no corner


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
    with pytest.raises(ValueError, match=r"neighbours must be 4 or 8, got 6"):
        image_filter("edge", 6)
    with pytest.raises(ValueError, match=r"for edge and sharpen alone, got neighbours=8 for 'identity'"):
        image_filter("identity", 8)
    with pytest.raises(ValueError, match=r"image must have shape \(..., channels, height, width\), got \(4, 4\)"):
        filter_image(torch.zeros(4, 4), "edge")
