import pytest
import torch

import cutaway as cut
from cutaway.training.augmentation.image_changes import KINDS, ImageChanges, expect_fitting, read_changes


def test_every_change_can_be_asked_for_and_acts():
    x, y = torch.rand(6, 3, 8, 8), torch.arange(6)
    for name in KINDS:
        torch.manual_seed(1)
        new, p = ImageChanges(read_changes(name), 6)(x, y)
        assert new.shape == x.shape
        assert not torch.equal(new, x), name
        assert (p.ndim == 2) == (name in ("mixup", "cutmix"))


def test_amounts_order_and_switching_off():
    assert read_changes("") == {}
    assert read_changes("mixup shift:0,rotate:5") == {"rotate": 5.0, "mixup": 0.2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shfit", r"augment must name changes from shift, flip, .*, got 'shfit'"),
        ("rotate:far", r"a number follows the colon of a change, got 'rotate:far'; try rotate:10 \(degrees\)"),
        ("rotate:200", r"rotate must be from 0 to 180 \(degrees\), got 200; the usual is rotate:10"),
        ("flip:-1", r"flip must be from 0 to 1"),
        ("shift:0.5", r"shift moves images by whole pixels, got 'shift:0.5'; try shift:1"),
        ("shift:nan", r"shift must be from 0 to 1000"),
    ],
)
def test_mistakes(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read_changes(text)


def test_images_are_not_moved_out_of_sight():
    expect_fitting(read_changes("shift:4,affine:2"), 8, 9)
    with pytest.raises(
        ValueError, match=r"shift must move .* got shift:99 \(99 pixels\) for 8 × 9 pixels; try shift:1"
    ):
        expect_fitting(read_changes("shift:99"), 8, 9)
    with pytest.raises(
        ValueError, match=r"affine must move .* got affine:10 \(20 pixels\) for 28 × 28 pixels; try affine:3"
    ):
        expect_fitting(read_changes("affine:10"), 28, 28)
    with pytest.raises(ValueError, match=r"got shift:9 \(9 pixels\) for 8 × 8 pixels"):
        cut.train("cnn", augment="shift:9", show="quiet")
