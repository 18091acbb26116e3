"""`deepar` and `forecaster` on four public sets of series, one configuration for all, beside simple methods.

Each model is trained by the same settings; a set says only what its frequency, horizon and test windows are. The test
windows are read once a seed, after training. Mean weighted quantile loss over .1 … .9; the ratio to the best simple
method on the same windows; its geometric mean over the sets.

    python benchmarks/forecasting.py [deepar|forecaster] [set ...] [seed ...]        seeds 0, 1, 2 without any

Simple methods choose their settings before the test windows too, and are fitted once to what came before the first of
them (a linear model of each series alone, and exponential smoothing, to each history).
"""

import gzip
import lzma
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import cutaway as cut
from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.tasks.series.backtesting import LEVELS, measure
from cutaway.tasks.series.baselines.simple_methods import fit_simple_methods
from cutaway.tasks.series.histories import Histories

SEEDS = (0, 1, 2)
DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "series"


class Set(NamedTuple):
    """Series, cut so that the last windows are those of the test."""

    series: Any
    settings: dict[str, Any]  # what the data are: frequency, horizon, test windows
    usual: int = 0  # the first test windows, that others report: 0 if those are all


def m4(kind: str, horizon: int, frequency: str) -> Set:
    """The M4 competition: one window, the competition's own."""
    parts = []
    for part in ("train", "test"):
        with lzma.open(DATA / "m4" / f"{kind}-{part}.csv.xz", "rt") as file:
            rows = [[cell.strip('" \n') for cell in line.split(",")] for line in list(file)[1:]]
        parts.append({row[0]: [float(cell) for cell in row[1:] if cell not in ("", "NA")] for row in rows})
    train, test = parts
    series = {name: np.array(values + test[name][:horizon]) for name, values in train.items()}
    return Set(series, {"frequency": frequency, "horizon": horizon, "windows": 1})


def exchange() -> Set:
    """Exchange rates of eight countries: windows of 30 from row 6071 on, all 50 of them."""
    with gzip.open(DATA / "exchange_rate.txt.gz", "rt") as file:
        rates = np.loadtxt(file, delimiter=",")[: 6071 + 50 * 30]
    series = {f"country_{j + 1}": rates[:, j] for j in range(rates.shape[1])}
    return Set(series, {"frequency": "B", "horizon": 30, "windows": 50}, usual=5)


def etth1() -> Set:
    """A transformer station: 12 + 4 months before the test, whose 4 months (of 30 days) are 120 windows of a day."""
    import pandas as pd

    frame = pd.read_csv(DATA / "ETTh1.csv.xz").iloc[:14_400]
    return Set(frame, {"frequency": "h", "horizon": 24, "windows": 120})


SETS = {
    "m4-weekly": lambda: m4("Weekly", 13, "W"),
    "m4-hourly": lambda: m4("Hourly", 48, "h"),
    "etth1": etth1,
    "exchange": exchange,
}


def first_windows(histories: Histories, windows: int) -> Histories:
    """The first windows of every series; `histories_before` puts them first."""
    rows = windows * len(set(histories.series.tolist()))
    return Histories(histories.table.select(range(rows)), histories.series[:rows], histories.truth[:rows])


def simple_methods(of: Set) -> dict[str, dict[str, float]]:
    """The metrics of every simple method on the test windows, fitted to what came before them."""
    recipe: Any = DeepARRecipe.make(data=of.series, **of.settings)
    parts = recipe.read().parts
    histories, found = parts.test(), {}
    for method in fit_simple_methods(parts.before_test, parts.horizon):
        quantiles = method.quantiles(histories, parts.horizon, LEVELS)
        found[method.name] = measure(histories, quantiles, parts.table.season)
        if of.usual:
            first = first_windows(histories, of.usual)
            found[method.name]["first_wql"] = measure(first, quantiles[: len(first.series)])["wql"]
    return found


def trained(name: str, of: Set, seed: int) -> tuple[dict[str, float], float]:
    """Metrics on the test windows, and the processor seconds of training (with the simple methods of its report)."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = cut.train(name, data=of.series, seed=seed, out=Path(folder) / "run", show="quiet", **of.settings)
        seconds = time.process_time() - start
        learner: Any = run.learner
        backtest = learner.backtest_windows(run.model, run.task.parts.test(), 200)
        found = backtest.metrics
        if of.usual:
            first = first_windows(backtest.histories, of.usual)
            found["first_wql"] = measure(first, backtest.quantiles[: len(first.series)])["wql"]
        return found, seconds


def first_told(metrics: dict[str, float]) -> str:
    return f" (first windows {metrics['first_wql']:.5f})" if "first_wql" in metrics else ""


def main() -> None:
    torch.set_num_threads(1)
    names = [arg for arg in sys.argv[1:] if arg in ("deepar", "forecaster")] or ["deepar", "forecaster"]
    asked = [arg for arg in sys.argv[1:] if arg in SETS] or list(SETS)
    seeds = [int(arg) for arg in sys.argv[1:] if arg.isdigit()] or SEEDS
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for key in asked:
        one = SETS[key]()
        simple = simple_methods(one)
        best = min(simple, key=lambda method: simple[method]["wql"])
        told = ", ".join(f"{method} {found['wql']:.5f}{first_told(found)}" for method, found in simple.items())
        print(f"forecasting {key}: {told}", flush=True)
        for name in names:
            found = [trained(name, one, seed) for seed in seeds]
            losses = [metrics["wql"] for metrics, _ in found]
            mean = {metric: float(np.mean([m[metric] for m, _ in found])) for metric in found[0][0]}
            ratios[name].append(float(np.mean(losses)) / simple[best]["wql"])
            print(
                f"forecasting {key} {name}: wql {np.mean(losses):.5f} ({', '.join(f'{x:.5f}' for x in losses)})"
                f"{first_told(mean)}, "
                f"{ratios[name][-1]:.3f} of {best}'s; unweighted {mean['unweighted_wql']:.4f}, "
                f"mase {mean['mase']:.3f}, 80 % interval covers {mean['coverage_80']:.0%}; "
                f"{np.mean([s for _, s in found]):.0f} s of processor time a training",
                flush=True,
            )
    for name, own in ratios.items():
        if len(own) > 1:
            print(f"forecasting {name}: geometric mean of the ratios {math.exp(np.mean(np.log(own))):.3f}")


if __name__ == "__main__":
    main()
