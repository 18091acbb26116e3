"""`cnn` and `vit` on MNIST and Fashion-MNIST: accuracy on the test images, beside that of the nearest training images.

`image_classes.py mnist` (or fashion, vit) runs one of them, `… mnist 1` with another seed. Data: CUTAWAY_DATA, else
../shared/data. A run takes minutes; processor seconds are those of one thread.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import torch

import cutaway as cut

# recipe, data, settings; first guesses, no others were compared
RUNS: dict[str, tuple[str, str, dict[str, object]]] = {
    "mnist": ("cnn", "mnist", dict(steps=4000, rate=4e-3, ema=0.998, augment="affine", evaluate_every=500)),
    "fashion": (
        "cnn",
        "fashion-mnist",
        dict(width=48, steps=8000, rate=4e-3, ema=0.998, augment="shift,flip", evaluate_every=1000),
    ),
    "vit": (
        "vit",
        "mnist",
        dict(width=96, depth=4, batch=128, steps=1800, ema=0.995, augment="shift", evaluate_every=300),
    ),
}


def main() -> None:
    asked = [name for name in sys.argv[1:] if name in RUNS] or list(RUNS)
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()] or [0]
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images"
    if not folder.is_dir():
        print(f"image_classes: needs MNIST and Fashion-MNIST, got none at {folder}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    for name in asked:
        recipe, data, settings = RUNS[name]
        for seed in seeds:
            with tempfile.TemporaryDirectory() as out:
                start = time.process_time()
                run = cut.train(
                    recipe, data=str(folder / data), seed=seed, out=Path(out) / "run", show="quiet", **settings
                )
                seconds, found = time.process_time() - start, run.test()
            print(
                f"image_classes {name}, seed {seed}: test accuracy {found['accuracy']:.4f}, nearest training images "
                f"{found['baseline_accuracy']:.4f}; {seconds:.0f} s of processor time",
                flush=True,
            )


if __name__ == "__main__":
    main()
