import pytest
import torch

from cutaway.training.augmentation.mixing import cutmix, mixup


@pytest.mark.parametrize("mix", [mixup, cutmix])
def test_classes_are_mixed_in_the_shares_of_the_images(mix):
    """Images of one brightness each: what a mixture shows on average says what its classes must be."""
    y = torch.arange(6).repeat(5)
    x = (y.float() / 10)[:, None, None, None].expand(-1, 3, 8, 8).clone()
    mixed, p = mix(x, y, 6)
    torch.testing.assert_close(p.sum(1), torch.ones(30))
    torch.testing.assert_close(mixed.mean((1, 2, 3)), p @ (torch.arange(6) / 10.0))
    assert (p.max(1).values < 1).any()


def test_mixup_leads_with_the_image_itself():
    y = torch.arange(10)
    _, p = mixup(torch.rand(10, 1, 4, 4), y, 10, 1.0)
    assert (p.gather(1, y[:, None]) >= 0.5).all()


def test_cutmix_takes_each_pixel_from_one_of_two_images():
    x = torch.rand(8, 2, 9, 7)
    mixed, _ = cutmix(x, torch.arange(8), 8)
    for i in range(8):
        own = (mixed[i] == x[i]).all(0)
        others = torch.stack([(mixed[i] == x[j]).all(0) | own for j in range(8)])
        assert others.flatten(1).all(1).any()


def test_mixtures_of_mixtures():
    x, y = torch.rand(4, 1, 4, 4), torch.arange(4)
    x, p = mixup(x, y, 4)
    _, p = cutmix(x, p, 4)
    torch.testing.assert_close(p.sum(1), torch.ones(4))


@pytest.mark.parametrize("mix", [mixup, cutmix])
def test_strength(mix):
    with pytest.raises(ValueError, match="strength must be above 0, got 0"):
        mix(torch.rand(2, 1, 2, 2), torch.arange(2), 2, 0.0)
