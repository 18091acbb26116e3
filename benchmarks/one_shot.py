"""Omniglot's 20 official one-shot runs: `siamese` trained on each of the two small background sets.

Each run has 20 characters of one alphabet with one example of each, and 20 questions; every question is answered alone.
All settings were chosen on an alphabet of a background set that was held out; the 20 runs are read here, at the end.
Published on these background sets: a convolutional network 23.2 % errors, prototypical networks 30.1, people 4.5, BPL
4.2 (Lake, Salakhutdinov, Tenenbaum 2019); modified Hausdorff distance 38.8 (their demonstration code).
"""

import os
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

import cutaway as cut

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images" / "omniglot"
SETS = ("images_background_small1.zip", "images_background_small2.zip")


def official_runs(folder: Path) -> list[tuple[list[str], list[str], list[int]]]:
    """For each run its examples, its questions, and the example that each question belongs to."""
    with zipfile.ZipFile(DATA / "all_runs.zip") as archive:
        archive.extractall(folder)
    found = []
    for labels in sorted(folder.rglob("run*/class_labels.txt")):
        base = labels.parents[1]
        pairs = [line.split() for line in labels.read_text().splitlines() if line.strip()]
        examples = sorted({example for _, example in pairs})
        found.append(
            (
                [str(base / example) for example in examples],
                [str(base / question) for question, _ in pairs],
                [examples.index(example) for _, example in pairs],
            )
        )
    return found


def one_shot_errors(run: cut.runs.Run, runs: list[tuple[list[str], list[str], list[int]]]) -> list[float]:
    """The share of wrong answers in each run."""
    from cutaway.tasks.images.one_shot import vectors_of

    recipe = run.recipe
    shares = []
    for examples, questions, truth in runs:
        z, asked = (vectors_of(run.model, run.task.inputs(files), recipe.average) for files in (examples, questions))
        shares.append(float(np.mean((asked @ z.T).argmax(1).numpy() != np.array(truth))))
    return shares


def main() -> None:
    if not DATA.is_dir():
        print(f"one_shot: needs Omniglot's small background sets and runs in {DATA}")
        return
    seed = int(os.environ.get("CUTAWAY_SEED", "0"))
    with tempfile.TemporaryDirectory() as place:
        runs = official_runs(Path(place) / "runs")
        means = []
        for name in SETS:
            start = time.process_time()
            run = cut.train(
                "siamese",
                data=str(DATA / name),
                steps=1500,
                validation=0.0,
                seed=seed,
                out=Path(place) / name,
                show="quiet",
            )
            seconds = time.process_time() - start
            shares = one_shot_errors(run, runs)
            means.append(np.mean(shares))
            print(
                f"one_shot {name}: {100 * means[-1]:.1f} % errors in {len(runs)} runs (worst {100 * max(shares):.0f}), "
                f"{seconds:.0f} s of processor time, seed {seed}"
            )
        print(f"one_shot mean of both: {100 * np.mean(means):.1f} % errors (modified Hausdorff distance 38.8)")


if __name__ == "__main__":
    main()
