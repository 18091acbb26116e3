"""How often what came lies in the 80 % intervals of `deepar`, from many origins, by how much history it is passed.

Trained by its defaults on what came before the test (as `cutaway train deepar --data FILE` does), then forecast from
origins after it, each with its last 2, 30, 200, 900 or all steps, within the trained horizon and up to twice beyond.

    python benchmarks/forecast_coverage.py [set ...] [seed ...]        seed 0 without any
"""

import lzma
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import cutaway as cut
from cutaway.data.series.series_reading import read_series
from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.series.histories import Histories, histories_at, shortened

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "series"
LENGTHS = (2, 30, 200, 900, 0)  # steps of history that are passed; 0 for all
SAMPLES = 200


class Set(NamedTuple):
    """What is trained on, the whole series, and the first step of each that belongs to the test."""

    train: Any
    table: SeriesTable
    starts: list[int]
    settings: dict[str, Any]
    origins: int  # a series


def etth1() -> Set:
    """Seven columns of a transformer station: 16 months to train on, origins in the 4 months after."""
    import pandas as pd

    frame = pd.read_csv(DATA / "ETTh1.csv.xz").iloc[:14_400]
    table = read_series(frame)
    return Set(frame.iloc[:11_520], table, [11_520] * len(table), {}, 20)


def m4_hourly() -> Set:
    """The M4 competition's 414 hourly series, and its window of 48."""
    parts = []
    for part in ("train", "test"):
        with lzma.open(DATA / "m4" / f"Hourly-{part}.csv.xz", "rt") as file:
            rows = [[cell.strip('" \n') for cell in line.split(",")] for line in list(file)[1:]]
        parts.append({row[0]: [float(cell) for cell in row[1:] if cell not in ("", "NA")] for row in rows})
    train, test = ({name: np.array(values) for name, values in part.items()} for part in parts)
    whole = {name: np.concatenate([values, test[name]]) for name, values in train.items()}
    return Set(train, read_series(whole, frequency="h"), [len(v) for v in train.values()], {"frequency": "h"}, 1)


def sunspots() -> Set:
    """Sunspots, 1749 to 1983: the last 40 years are the test."""
    import pandas as pd

    frame = pd.read_csv(DATA / "monthly-sunspots.csv")
    return Set(frame.iloc[:-480], read_series(frame), [len(frame) - 480], {}, 100)


SETS: dict[str, Callable[[], Set]] = {"sunspots": sunspots, "etth1": etth1, "m4-hourly": m4_hourly}


def origins(of: Set, horizon: int) -> Histories:
    """Histories up to evenly spaced origins of the test."""
    rows = []
    for i, start in enumerate(of.starts):
        last = max(len(of.table.values[i]) - horizon, start)
        rows += [(i, int(end)) for end in np.unique(np.linspace(start, last, of.origins).astype(int))]
    return histories_at(of.table, rows, horizon)


def told(run: Any, histories: Histories, horizon: int) -> str:
    """Coverage within the horizon and beyond, and the loss within."""
    backtest = run.learner.backtest_windows(run.model, histories, SAMPLES)
    inside = (backtest.truth >= backtest.quantiles[..., 0]) & (backtest.truth <= backtest.quantiles[..., -1])
    there = ~np.isnan(backtest.truth)
    shares = []
    for a, b in ((0, horizon), (horizon, 3 * horizon)):
        seen = there[:, a:b]
        shares.append(f"{inside[:, a:b][seen].mean():.1%}" if seen.any() else "–")
    by_step = [inside[:, h][there[:, h]].mean() for h in (0, horizon // 2, horizon - 1)]
    loss = backtest.losses()[:, :horizon]
    wql = np.nansum(loss) / np.nansum(np.abs(backtest.truth[:, :horizon]))
    steps = "/".join(f"{share:.0%}" for share in by_step)
    return f"covers {shares[0]} (first/middle/last step {steps}), beyond the horizon {shares[1]}; wql {wql:.4f}"


def main() -> None:
    torch.set_num_threads(1)
    asked = [arg for arg in sys.argv[1:] if arg in SETS] or list(SETS)
    seeds = [int(arg) for arg in sys.argv[1:] if arg.isdigit()] or [0]
    for key in asked:
        of = SETS[key]()
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                start = time.process_time()
                settings = dict(seed=seed, out=Path(folder) / "run", show="quiet") | of.settings
                run = cut.train("deepar", data=of.train, **settings)
                seconds = time.process_time() - start
                horizon = run.about["data"]["horizon"]
                histories = origins(of, 3 * horizon if key != "m4-hourly" else horizon)
                print(f"forecast_coverage {key} seed {seed}: trained in {seconds:.0f} s, horizon {horizon}", flush=True)
                for steps in LENGTHS:
                    words = f"last {steps} steps" if steps else "all steps"
                    row = told(run, shortened(histories, steps) if steps else histories, horizon)
                    print(f"forecast_coverage {key} seed {seed}, {words}: {row}", flush=True)


if __name__ == "__main__":
    main()
