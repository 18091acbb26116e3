"""Folders of small images for tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image


def small_image(seed: int = 0, size: tuple[int, int] = (9, 12), mode: str = "RGB") -> Image.Image:
    """An image of random pixels; ``size`` is (height, width)."""
    shape = size if mode in ("L", "1") else (*size, 3)
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def make_classes(
    folder: Path, labels: Sequence[str] = ("cat", "dog"), each: int = 5, size: tuple[int, int] = (9, 12)
) -> Path:
    """A folder with a sub-folder for each class."""
    for i, label in enumerate(labels):
        (folder / label).mkdir(parents=True)
        for j in range(each):
            small_image(100 * i + j, size).save(folder / label / f"{j}.png")
    return folder
