"""Airline passengers and sunspots over several origins: `deepar` beside statsmodels' Holt–Winters and ETS, and ours.

Airline: five origins a year apart, 12 months ahead. Sunspots: ten origins a year apart, 12 months ahead. Models are
fitted anew at every origin (statsmodels) or once before the first (ours). Mean weighted quantile loss over .1 … .9.

    python benchmarks/forecast_origins.py [simple]        `simple` leaves deepar out
"""

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cutaway as cut
from cutaway.data.series.series_reading import read_series
from cutaway.tasks.series.backtesting import LEVELS, measure
from cutaway.tasks.series.baselines.simple_methods import fit_simple_methods, measure_simple_methods
from cutaway.tasks.series.histories import Histories, histories_before

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "series"
SETS = {"airline": ("airline-passengers.csv", 5, True), "sunspots": ("monthly-sunspots.csv", 10, False)}
HORIZON = 12


def statsmodels_quantiles(histories: Histories, kind: str, positive: bool) -> np.ndarray:
    """Quantiles of simulated paths of a model that is fitted to each history: "Holt–Winters" or "ETS"."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    growing = "mul" if positive else "add"
    found = []
    for values in histories.table.values:
        past = values[-600:]
        if kind == "Holt–Winters":
            fitted: Any = ExponentialSmoothing(past, trend="add", seasonal=growing, seasonal_periods=12).fit()
        else:
            model = ETSModel(past, error=growing, trend="add", damped_trend=True, seasonal=growing, seasonal_periods=12)
            fitted = model.fit(disp=False)
        np.random.seed(0)  # noqa: NPY002 -- statsmodels draws from NumPy's global state
        more = {"error": growing} if kind == "Holt–Winters" else {}
        paths = np.asarray(fitted.simulate(HORIZON, anchor="end", repetitions=500, **more)).reshape(HORIZON, -1)
        found.append(np.quantile(paths, LEVELS, axis=1).T)
    return np.stack(found)


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name, (file, origins, positive) in SETS.items():
        table = read_series(DATA / file)
        histories = histories_before(table, HORIZON, origins)
        before = table.cut(-origins * HORIZON)
        rows = measure_simple_methods(fit_simple_methods(before, HORIZON), histories, HORIZON, 12)
        losses = {f"{row['name']} (ours)": row["metrics"] for row in rows}
        for kind in ("Holt–Winters", "ETS"):
            quantiles = statsmodels_quantiles(histories, kind, positive)
            losses[f"{kind} (statsmodels)"] = measure(histories, quantiles, 12)
        if "simple" not in sys.argv:
            start = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                settings = dict(horizon=HORIZON, windows=origins, out=Path(folder) / "run", show="quiet")
                run = cut.train("deepar", data=str(DATA / file), **settings)
                learner: Any = run.learner
                found = learner.backtest_windows(run.model, run.task.parts.test(), 200).metrics
            losses[f"deepar ({time.process_time() - start:.0f} s of processor time)"] = found
        for method, metrics in sorted(losses.items(), key=lambda one: one[1]["wql"]):
            print(
                f"forecast_origins {name}: {method}: wql {metrics['wql']:.4f}, mase {metrics['mase']:.2f}", flush=True
            )


if __name__ == "__main__":
    main()
