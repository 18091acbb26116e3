"""A table with few labels: what it is worth to have restored hidden cells first.

Adult: `masked-table` learns from all rows of the training file without their labels; then a few rows have a label. Ours
from scratch (mlp) and tuned from the pretrained base (head only, LoRA, adapters, all weights) stand beside scikit-learn
on the same labelled rows; accuracy and AUC on the test file, means over seeds of the rows that are labelled. Seconds
are of the processor, memory is that of a step (step_memory.py).

    python benchmarks/run.py few_label_table                     about six minutes of one core
    python benchmarks/few_label_table.py 50 200 --seeds 2        some sizes alone (0: all rows)
    python benchmarks/few_label_table.py 0 --only LoRA           some models alone
"""

import argparse
import copy
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from step_memory import step_memory

from cutaway.data.tables.cells import encode_cells
from cutaway.data.tables.encoding import encode
from cutaway.data.tables.reading import read_columns
from cutaway.recipes.tables.mlp import MLPRecipe
from cutaway.runs.execution import optimizers_of, plan_of, train
from cutaway.tasks.tables.masked_cells import scores_of
from cutaway.tasks.tables.predict import schema_of
from cutaway.tasks.tables.rows import outputs_of
from cutaway.training.loop import Loop
from cutaway.tuning.tasks.table import TunedTableRecipe

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "tables"
TARGET = "column_15"
WAYS: dict[str, dict[str, Any]] = {
    "head only": {"head_only": True},
    "LoRA, rank 8": {"lora": 8},
    "adapters, width 16": {"adapter": 16},
    "all weights": {"full": True},
}


def fit(recipe: Any) -> tuple[torch.nn.Module, int, float]:
    """The model of a recipe after its training, without a run folder; how many parameters learned, in what memory."""
    torch.manual_seed(recipe.seed)
    job = recipe.job()
    loop = Loop(job, optimizers_of(recipe, job.model), plan_of(recipe, torch.device("cpu")))
    loop.run()
    model = copy.deepcopy(loop.evaluated).eval()
    memory = step_memory(job.model, loop.optimizers[0], lambda: loop._train_step(1))
    return model, sum(p.numel() for p in job.model.parameters() if p.requires_grad), memory


def one_hot(rows: Any, cardinalities: tuple[int, ...]) -> np.ndarray:
    parts = [np.eye(n, dtype=np.float32)[rows.categories[:, j]] for j, n in enumerate(cardinalities)]
    return np.concatenate([rows.numbers, *parts], 1)


def measure(
    rows: np.ndarray, frame: Any, test: Any, truth: np.ndarray, base: Path, seed: int, only: str
) -> dict[str, Any]:
    """Accuracy, AUC, trained parameters, seconds of processor time and memory of every way, on some labelled rows."""
    few = frame.iloc[rows].reset_index(drop=True)
    found: dict[str, Any] = {}

    def note(name: str, scores: np.ndarray, learned: int, started: float, memory: float = float("nan")) -> None:
        accuracy = float(((scores > 0) == truth).mean())
        found[name] = (accuracy, roc_auc_score(truth, scores), learned, time.process_time() - started, memory)

    started = time.process_time()
    recipe: Any = MLPRecipe.make(data=few, target=TARGET, test=0.0, seed=seed)
    schema = recipe.read().parts.schema
    new = encode(schema, test.drop(columns=TARGET))
    if only in (scratch := "from scratch: mlp"):
        model, learned, memory = fit(recipe)
        scores = outputs_of(model, new)[:, 0].numpy()
        note(scratch, scores if schema.labels[1] == ">50K" else -scores, learned, started, memory)
    whole = recipe.read().parts
    labels = np.array([str(label) == ">50K" for label in few.frame()[TARGET]])
    both = encode(schema, few.frame().drop(columns=TARGET))
    for name, peer, shown in (
        ("scikit-learn: logistic regression", LogisticRegression(max_iter=3000), True),
        ("scikit-learn: gradient boosting", HistGradientBoostingClassifier(random_state=seed), False),
    ):
        if only not in name:
            continue
        x, z = (
            one_hot(part, whole.schema.cardinalities) if shown else np.concatenate([part.numbers, part.categories], 1)
            for part in (both, new)
        )
        started = time.process_time()
        peer.fit(x, labels)
        note(name, peer.predict_proba(z)[:, 1] - 0.5, 0, started)
    for name, way in WAYS.items():
        if only not in f"pretrained: {name}":
            continue
        started = time.process_time()
        settings: dict[str, Any] = dict(data=few, target=TARGET, validation=0.0, test=0.0, seed=seed) | way
        tuned: Any = TunedTableRecipe(base=str(base), **settings).settled()
        cells = tuned._prepared.data.schema
        places = schema_cells(base)
        model, learned, memory = fit(tuned)
        scores = scores_of(model, encode_cells(places, test, unknown=[TARGET]))[:, 0].numpy()
        note(f"pretrained: {name}", scores if str(cells.labels[1]) == ">50K" else -scores, learned, started, memory)
    return found


def schema_cells(base: Path) -> Any:
    from cutaway.runs.run import Run

    return schema_of(Run(base))


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("labels", nargs="*", type=int, default=[50, 100, 200, 500, 1000, 0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--base", default="")
    parser.add_argument("--only", default="", help="a part of the names of the models to measure")
    asked = parser.parse_args(list(arguments))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    frame, _, _ = read_columns(DATA / "adult-train.csv.xz")
    test, _, _ = read_columns(DATA / "adult-test.csv.xz")
    truth = test[TARGET].str.startswith(">50K").to_numpy()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(asked.base or Path(folder) / "base")
        if not asked.base:
            started = time.process_time()
            settings: dict[str, Any] = dict(leave_out=TARGET, test=0.0, out=base, show="quiet")
            train("masked-table", data=str(DATA / "adult-train.csv.xz"), **settings)
            print(f"pretraining without labels: {time.process_time() - started:.0f} s of processor time", flush=True)
        for count in asked.labels:
            seeds = range(asked.seeds if count else 1)
            results = []
            for seed in seeds:
                rows = np.random.default_rng(seed).permutation(len(frame))[: count or len(frame)]
                results.append(measure(rows, frame, test, truth, base, seed, asked.only))
            print(f"\n{count or len(frame):,} labels, {len(results)} draws of them")
            for name in results[0]:
                each = np.array([one[name] for one in results])
                spread = f" ± {each[:, 0].std():.3f}" if len(each) > 1 else ""
                print(
                    f"  {name:36s} accuracy {each[:, 0].mean():.3f}{spread}   AUC {each[:, 1].mean():.3f}   "
                    f"trained {int(each[0, 2]):>9,}   {each[:, 3].mean():6.1f} s"
                    + (f"   {each[0, 4]:6.1f} MB" if each[0, 4] > 0 else ""),
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
