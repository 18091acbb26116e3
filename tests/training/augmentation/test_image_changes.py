import pytest
import torch

from cutaway.training.augmentation.image_changes import KINDS, ImageChanges, read_changes


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
