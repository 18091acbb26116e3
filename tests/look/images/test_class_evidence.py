"""Saliency and Grad-CAM: worked by hand on a network whose answer is known."""

import pytest
import torch
from torch import nn

from cutaway.look.images.class_evidence import class_saliency, grad_cam


class TwoMaps(nn.Module):
    """Two feature maps, the image and its negative; class k is the mean of map k."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Conv2d(1, 2, 1, bias=False)
        self.maps.weight.data = torch.tensor([1.0, -1.0]).reshape(2, 1, 1, 1)

    def forward(self, x):
        return self.maps(x).mean((2, 3))


IMAGE = torch.tensor([[[[0.0, 1.0], [2.0, -4.0]]]])


def test_by_hand():
    """∂y_0/∂x is 1/4 everywhere; Grad-CAM of class 0 is 1/4 of the map where it is positive."""
    model, zero = TwoMaps(), torch.tensor([0])
    assert class_saliency(model, IMAGE, zero).tolist() == [[[0.25, 0.25], [0.25, 0.25]]]
    assert grad_cam(model, IMAGE, zero, "maps").tolist() == [[[0, 0.25], [0.5, 0]]]
    assert grad_cam(model, IMAGE, torch.tensor([1]), "maps").tolist() == [[[0, 0], [0, 1]]]


def test_each_image_has_its_class():
    model = TwoMaps()
    both = grad_cam(model, IMAGE.repeat(2, 1, 1, 1), torch.tensor([0, 1]), "maps")
    assert torch.equal(both[0], grad_cam(model, IMAGE, torch.tensor([0]), "maps")[0])
    assert torch.equal(both[1], grad_cam(model, IMAGE, torch.tensor([1]), "maps")[0])


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"a class for each image .* got classes of shape \(2,\) for images of shape"):
        class_saliency(TwoMaps(), IMAGE, torch.tensor([0, 1]))
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"needs feature maps .* got shape \(1, 4\) at '0'; name a convolution"):
        grad_cam(model, IMAGE, torch.tensor([0]), "0")
