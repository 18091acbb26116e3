"""Small runs that make images, for the tests of what is done with them; trained once for all that ask."""

from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import cutaway as cut

SMALL: dict[str, Any] = dict(show="quiet", steps=6, batch=8, evaluate_every=3, checkpoint_every=3)
KINDS: dict[str, dict[str, Any]] = {
    "autoencoder": dict(codes=3, width=8),
    "vae": dict(latents=3, width=4),
    "diffusion": dict(width=4, sampling_steps=3),
}


def shapes(count: int = 60, channels: int = 1) -> tuple[np.ndarray, list[str]]:
    """Squares and crosses of random places on 9 × 7 pixels, and which each is."""
    draw = np.random.Generator(np.random.Philox(0))
    images = np.zeros((count, channels, 9, 7), np.uint8)
    names = []
    for i in range(count):
        row, column, grey = draw.integers(1, 7), draw.integers(1, 5), draw.integers(215, 255, (channels, 1, 1))
        if i % 2:
            images[i, :, row - 1 : row + 2, column - 1 : column + 2] = grey
        else:
            images[i, :, row, :] = grey[:, 0]
            images[i, :, :, column] = grey[:, 0]
        names.append("square" if i % 2 else "cross")
    return images.squeeze(1) if channels == 1 else images.transpose(0, 2, 3, 1), names


@lru_cache
def folder() -> Path:
    """A folder for all of them."""
    return Path(mkdtemp(prefix="generative-"))


@lru_cache
def shapes_file(count: int = 60, channels: int = 1, labelled: bool = True, unknown: int = 0) -> str:
    """The shapes as a file; the first ``unknown`` have no name."""
    images, names = shapes(count, channels)
    path = folder() / f"shapes-{count}-{channels}-{labelled}-{unknown}.npz"
    labels = {"labels": np.array([""] * unknown + names[unknown:])} if labelled else {}
    np.savez(path, images=images, **labels)
    return str(path)


def little_run(recipe: str, labelled: bool = True, channels: int = 1) -> Any:
    """A run of that recipe on the shapes, with or without their names."""
    return _trained(recipe, labelled, channels)


@lru_cache
def _trained(recipe: str, labelled: bool, channels: int) -> Any:
    data, out = shapes_file(60, channels, labelled), folder() / f"{recipe}-{labelled}-{channels}"
    return cut.train(recipe, data=data, out=out, **SMALL | KINDS[recipe])


@lru_cache
def untrained_run(recipe: str, labelled: bool = True, **more: Any) -> Any:
    """A run of two steps on the shapes, without its report, which takes seconds."""
    from cutaway.runs import execution

    out = folder() / f"{recipe}-{labelled}-{'-'.join(f'{name}={value}' for name, value in more.items())}"
    settings = SMALL | KINDS[recipe] | dict(steps=2) | more
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: None)
        return cut.train(recipe, data=shapes_file(60, 1, labelled), out=out, **settings)
