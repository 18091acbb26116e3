r"""Augmentation of images, a whole batch at once: other photographs of what might be the same thing.

    shift      y_ij = x_{i+a, j+b}                      keeps shape and size; the thing may lie elsewhere
    flip       y_ij = x_{i, w−1−j}                      keeps all but left and right: not for letters or digits
    rotate     y(p) = x(R p)                            keeps size; turns upright and slanted into each other
    affine     y(p) = x(A p + b)                        keeps straight lines: turned, scaled, sheared, shifted
    crop       y = a part of x, stretched to the whole  keeps what is in the part; loses the edges
    cutout     y = x but for a square of its mean       keeps what shows without the hidden part
    colour     y = c (x − m) + m + b …                  keeps shapes; changes brightness, contrast and saturation

Each image of the batch draws its own change. Images are (batch, channels, height, width), pixels from 0 to 1; beyond an
edge its last pixels repeat. A transform must keep the class: a 6 that is turned by 180° is a 9.

Notes: N3 §8.1. DeVries & Taylor 2017 (cutout); Szegedy et al. 2015 (crop); Krizhevsky et al. 2012 (shift, flip).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float

Images = Float[Tensor, "b c h w"]


def shift(x: Images, pixels: int = 2, generator: torch.Generator | None = None) -> Images:
    """Moves each image by up to ``pixels`` in both directions. Keeps shape and size."""
    _expect_images(x)
    _expect_from_zero(pixels=pixels)
    b, _, h, w = x.shape
    moves = torch.randint(-pixels, pixels + 1, (2, b), generator=generator, device=x.device)
    rows = (torch.arange(h, device=x.device) + moves[0, :, None]).clamp(0, h - 1)
    columns = (torch.arange(w, device=x.device) + moves[1, :, None]).clamp(0, w - 1)
    images = torch.arange(b, device=x.device)
    # One gather: the axes of the three index tensors broadcast to (b, h, w), and the channels come last.
    return x.permute(0, 2, 3, 1)[images[:, None, None], rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def flip(x: Images, share: float = 0.5, generator: torch.Generator | None = None) -> Images:
    """Mirrors a ``share`` of the images left to right. Keeps all but what tells left from right."""
    _expect_images(x)
    _expect_share(share=share)
    chosen = _uniform(x, generator) < share
    return torch.where(chosen[:, None, None, None], x.flip(-1), x)


def rotate(x: Images, degrees: float = 10.0, generator: torch.Generator | None = None) -> Images:
    """Turns each image by up to ``degrees`` about its middle. Keeps shape and size."""
    return affine(x, degrees=degrees, scale=0.0, shear=0.0, pixels=0.0, generator=generator)


def affine(
    x: Images,
    degrees: float = 10.0,
    scale: float = 0.1,
    shear: float = 0.1,
    pixels: float = 2.0,
    generator: torch.Generator | None = None,
) -> Images:
    """y(p) = x(A p + b): turned by up to ``degrees``, sizes in both directions within a factor of 1 ± ``scale``,
    sheared by up to ``shear``, moved by up to ``pixels``. Keeps straight lines."""
    _expect_images(x)
    _expect_from_zero(degrees=degrees, scale=scale, shear=shear, pixels=pixels)
    α, kx, ky, s, a, c = (_between(x, generator) for _ in range(6))
    α, kx, ky, s = α * math.radians(degrees), 1 + kx * scale, 1 + ky * scale, s * shear
    turn = torch.stack([torch.stack([α.cos(), -α.sin()], -1), torch.stack([α.sin(), α.cos()], -1)], -2)
    stretch = torch.stack([torch.stack([kx, s], -1), torch.stack([torch.zeros_like(s), ky], -1)], -2)
    move = torch.stack([a * pixels, c * pixels], -1)
    return warp(x, turn @ stretch, move)


def crop(x: Images, least: float = 0.7, generator: torch.Generator | None = None) -> Images:
    """A random part of each image with ``least`` to all of its sides, stretched to the whole. Loses the edges."""
    _expect_images(x)
    if not 0 < least <= 1:
        raise ValueError(f"least must be above 0 and at most 1, got {least}; it is a share of the sides")
    h, w = x.shape[2:]
    side = 1 - (1 - least) * _uniform(x, generator)
    room = torch.stack([(1 - side) * w, (1 - side) * h], -1) / 2
    move = room * torch.stack([_between(x, generator), _between(x, generator)], -1)
    return warp(x, side[:, None, None] * torch.eye(2, device=x.device, dtype=x.dtype), move)


def cutout(x: Images, side: float = 0.3, generator: torch.Generator | None = None) -> Images:
    """Hides a square of ``side`` × the shorter side under the image's mean. Keeps what shows without that part."""
    _expect_images(x)
    _expect_share(side=side)
    h, w = x.shape[2:]
    half = side * min(h, w) / 2
    rows = torch.arange(h, device=x.device) + 0.5
    columns = torch.arange(w, device=x.device) + 0.5
    middle = torch.stack([_uniform(x, generator) * h, _uniform(x, generator) * w])
    tall = (rows - middle[0, :, None]).abs() < half
    wide = (columns - middle[1, :, None]).abs() < half
    hidden = (tall[:, :, None] & wide[:, None, :])[:, None]
    return torch.where(hidden, x.mean((2, 3), keepdim=True), x)


def colour(
    x: Images,
    brightness: float = 0.2,
    contrast: float = 0.2,
    saturation: float = 0.2,
    generator: torch.Generator | None = None,
) -> Images:
    """Brighter or darker, more or less contrast, more or less colour; pixels stay in 0–1. Keeps shapes."""
    _expect_images(x)
    _expect_from_zero(brightness=brightness, contrast=contrast, saturation=saturation)
    b, c, s = (_between(x, generator)[:, None, None, None] for _ in range(3))
    grey = x.mean(1, keepdim=True)
    x = grey + (1 + s * saturation) * (x - grey)
    mean = x.mean((1, 2, 3), keepdim=True)
    return (mean + (1 + c * contrast) * (x - mean) + b * brightness).clamp(0, 1)


def warp(x: Images, matrix: Float[Tensor, "b 2 2"], move: Float[Tensor, "b 2"]) -> Images:
    """y(p) = x(A p + b) between pixels by straight lines; p = (right, down) in pixels from the image's middle.

    >>> x = torch.arange(9.0).view(1, 1, 3, 3)
    >>> warp(x, torch.eye(2)[None], torch.tensor([[1.0, 0.0]]))[0, 0, 0]  # looks one pixel further right
    tensor([1., 2., 2.])
    """
    if not len(x):
        return x
    h, w = x.shape[2:]
    side = torch.tensor([w / 2, h / 2], device=x.device, dtype=x.dtype)  # grid_sample counts in halves of the image
    matrix = matrix * side / side[:, None]
    grid = nn.functional.affine_grid(torch.cat([matrix, (move / side)[:, :, None]], -1), list(x.shape), False)
    return nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=False)


def _uniform(x: Tensor, generator: torch.Generator | None) -> Tensor:
    """A number from 0 to 1 for each image."""
    return torch.rand(len(x), generator=generator, device=x.device).to(x.dtype)


def _between(x: Tensor, generator: torch.Generator | None) -> Tensor:
    """A number from −1 to 1 for each image."""
    return 2 * _uniform(x, generator) - 1


def _expect_images(x: Tensor) -> None:
    expect_float("x", x)
    if x.ndim != 4:
        raise ValueError(
            f"images must have shape (batch, channels, height, width), got {tuple(x.shape)}; for one image use x[None]"
        )


def _expect_from_zero(**numbers: float) -> None:
    for name, value in numbers.items():
        if not value >= 0:
            raise ValueError(f"{name} must be 0 or above, got {value}; 0 changes nothing")


def _expect_share(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be from 0 to 1, got {value}; it is a share")


__all__ = ["affine", "colour", "crop", "cutout", "flip", "rotate", "shift", "warp"]
