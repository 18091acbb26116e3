import pytest
import torch
from torch import nn

from cutaway.models import Siamese, SiameseSpec
from cutaway.models.siamese import in_the_middle


def small(**more: object) -> Siamese:
    return Siamese(**{"image": (18, 17), "channels": 3, "width": 4, "stages": 2, "depth": 1, "embedding": 5} | more)


def test_vectors_have_length_one():
    model = small()
    z = model(torch.rand(6, 3, 18, 17))
    assert z.shape == (6, 5)
    torch.testing.assert_close(z.norm(dim=-1), torch.ones(6))


def test_equal_to_the_same_network_of_torch_nn():
    model = small(image=(16, 16)).eval().double()
    x = torch.rand(2, 3, 16, 16, dtype=torch.float64)
    model.set_scale(torch.rand(50, 3, 16, 16, dtype=torch.float64))
    y = nn.functional.pixel_unshuffle((x - model.mean) / model.spread, 2)
    for (block,) in model.stages:  # type: ignore[misc]
        y = nn.functional.conv2d(y, block.conv.weight, padding=1)
        norm = block.norm
        y = nn.functional.batch_norm(y, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.epsilon)
        y = nn.functional.max_pool2d(y.relu(), 2)
    y = y.flatten(1) @ model.out.weight + model.out.bias
    torch.testing.assert_close(model(x), y / y.norm(dim=-1, keepdim=True))


def test_the_scale_is_that_of_the_training_images():
    model, x = small(), torch.rand(40, 3, 18, 17) * 3 + 1
    model.set_scale(x)
    torch.testing.assert_close(((x - model.mean) / model.spread).mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    assert model.state_dict()["mean"].shape == (3, 1, 1)


def test_drawings_come_to_the_middle_in_one_size():
    """A block at any place and in two sizes: afterwards its mean is the middle, and its spread the one asked for."""
    x = torch.ones(3, 1, 33, 33, dtype=torch.float64)
    x[0, :, 3:13, 4:14] = 0
    x[1, :, 20:30, 18:28] = 0
    x[2, :, 10:24, 12:26] = 0
    ink = 1 - in_the_middle(x)[:, 0]
    places = torch.arange(33, dtype=torch.float64) - 16
    for one in ink:
        share = one / one.sum()
        down, right = (share.sum(1) * places).sum(), (share.sum(0) * places).sum()
        assert abs(down) < 0.05
        assert abs(right) < 0.05
        spread = (share * (places[:, None] ** 2 + places**2)).sum().sqrt()
        assert spread == pytest.approx(0.29 * 33, rel=0.05)
    blank = torch.full((1, 3, 8, 9), 0.4)
    torch.testing.assert_close(in_the_middle(blank), blank)  # nothing stands out
    moved = small(centred=True).eval()
    assert moved(torch.rand(2, 3, 18, 17)).isfinite().all()


@pytest.mark.parametrize("side", [7, 3])
def test_images_that_are_too_small(side: int):
    with pytest.raises(ValueError, match=rf"at least squares · 2\^stages = 16 pixels a side, got {side} × {side}"):
        SiameseSpec(image=(side, side))


def test_images_of_another_shape():
    with pytest.raises(ValueError, match=r"must have shape \(batch, 3, 18, 17\), got \(1, 3, 18, 18\)"):
        small()(torch.rand(1, 3, 18, 18))
