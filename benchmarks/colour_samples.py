"""Colour images made by `diffusion` and `vae` with their default settings: three classes of CIFAR-10, 32 × 32.

Of the first 18,000 images of the training set those of automobiles, horses and ships are taken: of 15,000 for training
(4,520), of the last 3,000 as held-out ones (905). 300 samples, 100 of each class, are given to a classifier that was
trained on the same images (`cnn`, 1,000 steps); the share that gets its class stands beside the share of held-out
images.

    python benchmarks/colour_samples.py                 trains classifier, diffusion and VAE
    python benchmarks/colour_samples.py diffusion       one of them
    python benchmarks/colour_samples.py RUN …           takes runs that are there; RUN.png gets a grid of 60 samples
"""

import lzma
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cutaway as cut

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images" / "cifar10"
CLASSES = {1: "automobile", 7: "horse", 8: "ship"}
EACH = 100  # samples of a class
TRAINED = 15_000  # images before these are for training


def main() -> None:
    if not DATA.is_dir():
        print(f"colour_samples: needs CIFAR-10, which is not in {DATA}; set CUTAWAY_DATA")
        return
    folder = Path(tempfile.mkdtemp())
    images, labels = (read(DATA / f"first18k-{name}.npy.xz") for name in ("images", "labels"))
    chosen = np.isin(labels, list(CLASSES))
    names = np.array([CLASSES.get(int(label), "") for label in labels])
    known, held = (chosen & part for part in (np.arange(len(labels)) < TRAINED, np.arange(len(labels)) >= TRAINED))
    np.savez(folder / "known.npz", images=images[known], labels=names[known])
    judge: Any = trained("cnn", folder, steps=1000, augment="flip", evaluate_every=500)
    real = torch.from_numpy(images[held]).permute(0, 3, 1, 2).float() / 255
    print(f"colour_samples: real held-out images given their class {right(judge, real, list(names[held])):.1%}")
    asked = [one for one in sys.argv[1:] if one in ("diffusion", "vae") or Path(one).is_dir()]
    for one in asked or ["diffusion", "vae"]:
        run = cut.load(one) if Path(one).is_dir() else trained(one, folder)
        report(judge, run)


def read(path: Path) -> np.ndarray:
    with lzma.open(path) as file:
        return np.load(file)


def trained(recipe: str, folder: Path, **settings: Any) -> Any:
    started, ticks = time.perf_counter(), time.process_time()
    run = cut.train(recipe, data=str(folder / "known.npz"), out=folder / recipe, **settings)
    took = f"{time.perf_counter() - started:.0f} s, {time.process_time() - ticks:.0f} s of processor time"
    print(f"colour_samples {recipe}: {took}, {torch.get_num_threads()} threads, {run.path}", flush=True)
    return run


def report(judge: Any, run: Any) -> None:
    labels = [name for name in CLASSES.values() for _ in range(EACH)]
    for guidance in (None, 1.0, 2.0, 3.0) if run.learner.in_steps else (None,):
        made = run.sample(len(labels), labels, guidance)
        strength = "" if guidance is None else f", guidance {guidance}"
        share = right(judge, made, labels)
        print(f"colour_samples {run.recipe.name}{strength}: given their class {share:.1%} of {len(made)}", flush=True)
        if guidance is None:
            draw_grid(made, Path(f"{run.path}.png"))
    print({name: value for name, value in run.metrics[-1].items() if isinstance(value, float)})


def right(judge: Any, images: torch.Tensor, labels: list[str]) -> float:
    """The share of images that the classifier gives their class."""
    return float(np.mean([row["class"] == label for row, label in zip(judge.predict(images), labels, strict=True)]))


def draw_grid(images: torch.Tensor, path: Path) -> None:
    """The first 20 samples of each class in a row of its own, twice as large."""
    from PIL import Image

    rows = [torch.cat(list(images[first : first + 20]), 2) for first in range(0, len(images), EACH)]
    grid = (torch.cat(rows, 1).permute(1, 2, 0) * 255).round().byte().numpy()
    Image.fromarray(grid).resize((2 * grid.shape[1], 2 * grid.shape[0]), Image.Resampling.NEAREST).save(path)
    print(f"colour_samples: {path}")


if __name__ == "__main__":
    main()
