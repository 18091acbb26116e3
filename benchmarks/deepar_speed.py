"""Training of `deepar` beside GluonTS's DeepAR (torch): the same series, width, depth, lags, windows and batch.

Seconds a batch, data loading included as each does it: those of a long training less those of a short one, so that
setting up counts for neither. With one thread, processor seconds; `deepar_speed.py 2` gives both two threads and takes
the clock's seconds, on a quiet machine. GluonTS wants other versions of its dependencies than we have; give the Python
of an environment that has it: CUTAWAY_GLUONTS_PYTHON=/path/to/python python benchmarks/deepar_speed.py
"""

import json
import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np

WIDTH, DEPTH, BATCH, CONTEXT, HORIZON = 40, 2, 64, 48, 48
LAGS = (1, 2, 3, 24, 25, 48, 168, 169, 336)
SHORT, LONG, TURNS = 20, 100, 5
THREADS = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
now = time.process_time if THREADS == 1 else time.perf_counter
PEER = f"""
import json, sys, tempfile, time, warnings, logging
warnings.simplefilter("ignore"); logging.disable(logging.WARNING)
import numpy as np, pandas as pd, torch, gluonts
torch.set_num_threads({THREADS})
from gluonts.dataset.common import ListDataset
from gluonts.torch.model.deepar import DeepAREstimator
series = json.load(sys.stdin)
data = ListDataset([{{"start": pd.Period("2020-01-01", "h"), "target": y}} for y in series], freq="h")
def fit(batches):
    quiet = dict(max_epochs=1, enable_progress_bar=False, enable_model_summary=False, logger=False,
                 accelerator="cpu", default_root_dir=tempfile.mkdtemp())
    estimator = DeepAREstimator(freq="h", prediction_length={HORIZON}, context_length={CONTEXT}, num_layers={DEPTH},
        hidden_size={WIDTH}, lags_seq={list(LAGS)}, batch_size={BATCH}, num_batches_per_epoch=batches,
        trainer_kwargs=quiet)
    now = time.{"process_time" if THREADS == 1 else "perf_counter"}
    started = now()
    estimator.train(data)
    return now() - started
fit(2)
print(json.dumps([(fit({LONG}) - fit({SHORT})) / ({LONG} - {SHORT}), gluonts.__version__]))
"""


def series() -> list[list[float]]:
    """Hundred hourly series of 900 values, with a day and a week in them."""
    rng, t = np.random.default_rng(0), np.arange(900)
    day, week = np.sin(2 * np.pi * t / 24), np.sin(2 * np.pi * t / 168)
    made = [100 * rng.random() + 10 + 5 * day + 3 * week + rng.standard_normal(900) for _ in range(100)]
    return [np.asarray(y).tolist() for y in made]


def ours(values: list[list[float]]) -> float:
    """Seconds a batch."""
    import torch

    from cutaway.data.series.series_reading import read_series
    from cutaway.models import DeepAR
    from cutaway.tasks.series.window_batches import WindowBatches, covariate_names, series_tensors
    from cutaway.tasks.series.window_evaluation import negative_log_likelihood
    from cutaway.training.freed_memory import keep_freed_memory
    from cutaway.training.optimizers.groups import build_optimizers

    torch.set_num_threads(THREADS)
    table = read_series({str(i): y for i, y in enumerate(values)}, frequency="h", start="2020-01-01")
    sizes = {"covariates": len(covariate_names(table)), "width": WIDTH, "depth": DEPTH}

    def fit(batches: int) -> float:
        model = DeepAR(lags=LAGS, seasons=(24, 168), context=CONTEXT, horizon=HORIZON, **sizes)
        started = now()
        stream = WindowBatches(series_tensors(table, model.spec), model.spec, BATCH)
        (optimizer,) = build_optimizers(model, "adamw", 1e-3, 0.0, (0.9, 0.95), 0.95, 0.02)
        with keep_freed_memory():  # as the training loop does
            for step in range(batches):
                negative_log_likelihood(model, stream.at(step)).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        return now() - started

    fit(2)
    return (fit(LONG) - fit(SHORT)) / (LONG - SHORT)


def theirs(python: str, values: list[list[float]]) -> tuple[float, str]:
    """Seconds a batch of GluonTS, and its version."""
    environment = os.environ | {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
    done = subprocess.run(
        [python, "-c", PEER], input=json.dumps(values), capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        sys.exit(f"GluonTS could not be run by {python}: {done.stderr.strip().splitlines()[-1]}")
    seconds, version = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds, version


def main() -> None:
    python = os.environ.get("CUTAWAY_GLUONTS_PYTHON") or (sys.executable if find_spec("gluonts") else "")
    values = series()
    if not python:
        print(f"deepar_speed: {1000 * ours(values):.1f} ms a batch; gluonts is not installed: no peer to compare with")
        return
    own, peer, version = [], [], ""
    for _ in range(TURNS):
        own.append(ours(values))
        seconds, version = theirs(python, values)
        peer.append(seconds)
    ratios = [b / a for a, b in zip(own, peer, strict=True)]
    print(
        f"deepar_speed, threads: {THREADS}; {1000 * statistics.median(own):.1f} ms a batch, GluonTS {version} "
        f"{1000 * statistics.median(peer):.1f} ms: {statistics.median(ratios):.2f} times as fast "
        f"({min(ratios):.2f} to {max(ratios):.2f} over {TURNS} turns)"
    )


if __name__ == "__main__":
    main()
