"""A training step of `cnn`, input pipeline included, beside the same network written plainly in PyTorch.

The peer is what a tutorial writes: nn.Conv2d, nn.BatchNorm2d, AdamW, and a DataLoader with two workers that decodes,
shifts and normalises image by image. Ours is the recipe's own job: batches by one gather, shifts on the whole batch,
the layout in memory that convolutions like, and the loop's step with its clipping. Both take turns, with all threads
that torch takes by itself. About a minute.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from timing import show
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from cutaway.recipes.images.cnn import CNNRecipe
from cutaway.training.freed_memory import keep_freed_memory
from cutaway.training.optimizers.groups import build_optimizers

IMAGES, BATCH, WIDTH, SHIFT = 12_800, 128, 32, 2
WARM, STEPS, TURNS = 10, 60, 3


class Digits(Dataset[tuple[Tensor, int]]):
    """Images one by one, each shifted by up to two pixels, as tensors."""

    def __init__(self, pixels: np.ndarray, labels: np.ndarray) -> None:
        self.pixels, self.labels = torch.from_numpy(pixels), labels.tolist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        image = nn.functional.pad(self.pixels[i][None], (SHIFT,) * 4)
        down, right = torch.randint(0, 2 * SHIFT + 1, (2,)).tolist()
        image = image[:, down : down + 28, right : right + 28].float() / 255
        return (image - 0.1307) / 0.3081, self.labels[i]


def plain_network() -> nn.Module:
    def layer(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    return nn.Sequential(
        nn.PixelUnshuffle(2),
        *layer(4, WIDTH),
        *layer(WIDTH, WIDTH),
        nn.MaxPool2d(2),
        *layer(WIDTH, 2 * WIDTH),
        *layer(2 * WIDTH, 2 * WIDTH),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * WIDTH, 10),
    )


def theirs(pixels: np.ndarray, labels: np.ndarray) -> Callable[[], object]:
    """One step of the plain network."""
    loader = DataLoader(
        Digits(pixels, labels), BATCH, shuffle=True, num_workers=2, persistent_workers=True, drop_last=True
    )
    model = plain_network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def endless() -> Iterator[Any]:
        while True:
            yield from loader

    batches = endless()

    def step() -> None:
        x, y = next(batches)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()

    return step


def ours(pixels: np.ndarray, labels: np.ndarray) -> Callable[[], object]:
    """One step of the recipe's job, as the loop takes it."""
    recipe = CNNRecipe.make(data=(pixels, labels), width=WIDTH, batch=BATCH, augment=f"shift:{SHIFT}", validation=0.0)
    job: Any = recipe.job()  # type: ignore[attr-defined]
    optimizers = build_optimizers(job.model, "adamw", 1e-3)
    parameters = list(job.model.parameters())
    taken = iter(range(10**9))

    def step() -> None:
        cost = job.objective(job.model, job.batches.at(next(taken)))
        cost.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        cost.item()

    return step


def measure(side: str) -> None:
    """Prints the seconds of one step of one side."""
    rng = np.random.default_rng(0)
    pixels, labels = rng.integers(0, 256, (IMAGES, 28, 28), np.uint8), rng.integers(0, 10, IMAGES)
    step = {"ours": ours, "plain": theirs}[side](pixels, labels)
    with keep_freed_memory() if side == "ours" else nullcontext():  # as the training loop does
        for _ in range(WARM):
            step()
        started = time.perf_counter()
        for _ in range(STEPS):
            step()
        print((time.perf_counter() - started) / STEPS)


def main() -> None:
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(TURNS):
        for side, values in times.items():  # in processes of their own, so that no worker of one disturbs the other
            done = subprocess.run([sys.executable, __file__, side], capture_output=True, text=True, check=True)
            values.append(float(done.stdout.split()[-1]))
    ratios = [b / a for a, b in zip(times["ours"], times["plain"], strict=True)]
    milliseconds = {side: f"{1000 * statistics.median(values):.1f} ms" for side, values in times.items()}
    show(
        f"A training step of cnn: batch {BATCH} of 28 × 28, width {WIDTH}",
        [
            ("ours", milliseconds["ours"]),
            ("plain PyTorch, DataLoader of 2 workers", milliseconds["plain"]),
            ("plain / ours (asked ≥ 1.5)", f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"),
        ],
    )


if __name__ == "__main__":
    measure(sys.argv[1]) if sys.argv[1:] in (["ours"], ["plain"]) else main()
