"""Augmentation of images: what each keeps, the same for the same seed, equal to torch's or NumPy's own, bad input."""

import numpy as np
import pytest
import torch
from scipy import ndimage

from cutaway.training.augmentation.images import affine, colour, crop, cutout, flip, rotate, shift, warp

ALL = [shift, flip, rotate, affine, crop, cutout, colour]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("shape", [(8, 1, 11, 7), (5, 3, 6, 9), (0, 3, 6, 9), (6, 3, 1, 5)], ids=str)
@pytest.mark.parametrize("change", ALL)
def test_shape_seed_purity_and_range(change, shape):
    x = torch.rand(shape)
    before = x.clone()
    first, again = (change(x, generator=seeded()) for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(x, before)
    assert first.shape == x.shape
    assert first.dtype == x.dtype
    if shape[0]:
        assert first.min() >= 0
        assert first.max() <= 1
        assert not torch.equal(first, x)
        assert not torch.equal(first, change(x, generator=seeded(1)))


@pytest.mark.parametrize(
    ("change", "options"),
    [(shift, {"pixels": 0}), (flip, {"share": 0}), (rotate, {"degrees": 0}), (crop, {"least": 1}),
     (cutout, {"side": 0}), (affine, {"degrees": 0, "scale": 0, "shear": 0, "pixels": 0}),
     (colour, {"brightness": 0, "contrast": 0, "saturation": 0})],
)  # fmt: skip
def test_nothing_asked_nothing_done(change, options):
    x = torch.rand(4, 3, 6, 5)
    torch.testing.assert_close(change(x, **options), x, atol=1e-5, rtol=0)


def test_shift_moves_whole_pixels_and_repeats_edges():
    x = torch.rand(50, 2, 6, 5)
    seen = set()
    for one, new in zip(x, shift(x, 2, seeded()), strict=True):
        wide = np.pad(one.numpy(), ((0, 0), (2, 2), (2, 2)), mode="edge")
        where = [
            (a, b) for a in range(5) for b in range(5) if np.array_equal(wide[:, a : a + 6, b : b + 5], new.numpy())
        ]
        assert where
        seen.update(where)
    assert len(seen) > 15  # of 25 places


def test_flip_mirrors_its_share():
    x = torch.rand(400, 1, 3, 4)
    new = flip(x, 0.25, seeded())
    mirrored = (new == x.flip(-1)).flatten(1).all(1)
    assert ((new == x).flatten(1).all(1) ^ mirrored).all()
    assert 70 < int(mirrored.sum()) < 130
    assert torch.equal(flip(x, 1.0), x.flip(-1))


def test_a_quarter_turn_is_numpys():
    x = torch.rand(1, 2, 7, 7)
    quarter = torch.tensor([[[0.0, -1.0], [1.0, 0.0]]])
    new = warp(x, quarter, torch.zeros(1, 2))[0]
    turned = [torch.from_numpy(np.rot90(x[0].numpy(), k, (1, 2)).copy()) for k in (1, 3)]
    assert any(torch.allclose(new, other, atol=1e-5) for other in turned)


def test_warp_equals_scipys_affine_transform_in_float64():
    x = torch.rand(1, 1, 9, 13, dtype=torch.float64)
    matrix, move = torch.tensor([[0.8, 0.3], [-0.2, 1.1]], dtype=torch.float64), torch.tensor([0.7, -1.3]).double()
    swapped = matrix.flip(0, 1).numpy()  # SciPy counts (down, right)
    middle = np.array([4.0, 6.0])
    other = ndimage.affine_transform(
        x[0, 0].numpy(), swapped, offset=middle - swapped @ middle + move.numpy()[::-1], order=1, mode="nearest"
    )
    np.testing.assert_allclose(warp(x, matrix[None], move[None])[0, 0].numpy(), other, atol=1e-12)


def test_crop_stays_inside():
    ramp = torch.linspace(0, 1, 20).expand(30, 1, 20, 20).clone()
    new = crop(ramp, 0.5, seeded())
    slope = (new[:, 0, 10, 15] - new[:, 0, 10, 5]) / (ramp[:, 0, 10, 15] - ramp[:, 0, 10, 5])
    assert slope.min() >= 0.49
    assert slope.max() <= 1.01


def test_cutout_hides_a_square_under_the_mean():
    x = torch.rand(20, 3, 10, 10)
    new = cutout(x, 0.4, seeded())
    changed = (new != x).any(1)
    for one, hidden, old in zip(new, changed, x, strict=True):
        rows, columns = hidden.any(1).sum(), hidden.any(0).sum()
        assert rows <= 5
        assert columns <= 5
        assert hidden.sum() == rows * columns
        torch.testing.assert_close(one[:, hidden], old.mean((1, 2))[:, None].expand(-1, int(hidden.sum())))


def test_colour_keeps_the_order_of_greys():
    x = torch.rand(10, 1, 5, 5) * 0.4 + 0.3
    new = colour(x, 0.1, 0.1, 0.1, seeded())
    order = x.flatten(1).argsort(1)
    assert (new.flatten(1).gather(1, order).diff(dim=1) >= 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shift(torch.rand(3, 4, 4)), r"got \(3, 4, 4\); for one image use x\[None\]"),
        (lambda: flip(torch.zeros(1, 1, 2, 2, dtype=torch.uint8)), r"x must be"),
        (lambda: shift(torch.rand(1, 1, 2, 2), -1), "pixels must be 0 or above, got -1"),
        (lambda: rotate(torch.rand(1, 1, 2, 2), -5.0), "degrees must be 0 or above, got -5"),
        (lambda: crop(torch.rand(1, 1, 2, 2), 0.0), "least must be above 0 and at most 1, got 0"),
        (lambda: cutout(torch.rand(1, 1, 2, 2), 1.5), "side must be from 0 to 1, got 1.5"),
    ],
)
@pytest.mark.untyped
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
