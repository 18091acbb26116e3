"""The recipes for tables beside scikit-learn on the same rows: how good, and in what time.

Adult is UCI's census table with its own test file; the peers have default settings and all rows that are not for the
test, mlp keeps a tenth of them for validation. Digits and diabetes: means over five splits.
"""

import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.neural_network import MLPClassifier, MLPRegressor
from timing import show

from cutaway.data import read_table
from cutaway.runs.execution import train

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "tables"
SPLITS = range(10, 15)


def ours(recipe: str, **settings: Any) -> tuple[dict[str, float], float]:
    """The test metrics of a recipe, and the seconds that its training took, report and all."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = train(recipe, out=Path(folder) / "run", show="quiet", **settings)
        seconds = time.perf_counter() - started
        return run.test(), seconds


def one_hot(table: Any, rows: Any) -> np.ndarray:
    """Standardised numbers and one-hot categories, as scikit-learn's own network needs them."""
    parts = [np.eye(n, dtype=np.float32)[rows.categories[:, j]] for j, n in enumerate(table.schema.cardinalities)]
    return np.concatenate([rows.numbers, *parts], 1)


def plain(table: Any, rows: Any) -> np.ndarray:
    """Numbers, then ids of categories."""
    return np.concatenate([rows.numbers, rows.categories], 1)


def peer(model: Any, table: Any, encode: Any) -> tuple[float, float]:
    """The score of a peer on the test rows, trained on all others; and its seconds."""
    parts = [table.train] if table.validation is None else [table.train, table.validation]
    x, y = np.concatenate([encode(table, rows) for rows in parts]), np.concatenate([rows.targets for rows in parts])
    started = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - started
    test = table.open_test()
    return model.score(encode(table, test), test.targets), seconds


def adult() -> None:
    train_file, test_file = DATA / "adult-train.csv.xz", DATA / "adult-test.csv.xz"
    if not train_file.is_file():
        print(f"\nAdult: skipped, {train_file} is not there; set CUTAWAY_DATA")
        return
    table = read_table(train_file, test=test_file)
    columns = range(len(table.schema.numbers), len(table.schema.numbers) + len(table.schema.cardinalities))
    peers = {
        "scikit-learn LogisticRegression": (LogisticRegression(max_iter=1000), one_hot),
        "scikit-learn MLPClassifier": (MLPClassifier(random_state=0), one_hot),
        "scikit-learn HistGradientBoosting": (
            HistGradientBoostingClassifier(categorical_features=list(columns)),
            plain,
        ),
    }
    rows = []
    for name in ("mlp", "logistic"):
        metrics, seconds = ours(name, data=str(train_file), test_file=str(test_file))
        rows.append((f"cutaway {name}", f"{metrics['accuracy']:.4f}   {seconds:.1f} s"))
    for name, (model, encode) in peers.items():
        score, seconds = peer(model, table, encode)
        rows.append((name, f"{score:.4f}   {seconds:.1f} s"))
    show("Adult: accuracy on its 16,281 test rows (aim ≥ 0.855)", rows)


def small(data: str, metric: str, recipes: list[str], peers: list[Any]) -> None:
    tables = {seed: read_table(data, seed=seed, test=0.2) for seed in SPLITS}
    rows = []
    for name in recipes:
        found = [ours(name, data=data, test=0.2, seed=seed)[0][metric] for seed in SPLITS]
        rows.append((f"cutaway {name}", f"{np.mean(found):.4f} ± {np.std(found):.4f}"))
    for kind in peers:
        how = {"random_state": 0} if "random_state" in kind().get_params() else {}
        found = [peer(kind(**how), table, plain)[0] for table in tables.values()]
        rows.append((f"scikit-learn {kind.__name__}", f"{np.mean(found):.4f} ± {np.std(found):.4f}"))
    show(f"{data}: {metric} on a fifth of the rows, mean ± deviation over {len(SPLITS)} splits", rows)


def main() -> None:
    warnings.simplefilter("ignore")  # that a peer's default number of epochs was too few to converge
    torch.manual_seed(0)
    trees = HistGradientBoostingClassifier
    small("diabetes", "r2", ["mlp", "linear"], [MLPRegressor, HistGradientBoostingRegressor, LinearRegression])
    small("digits", "accuracy", ["mlp", "softmax"], [MLPClassifier, trees, LogisticRegression])
    small(
        "breast-cancer",
        "accuracy",
        ["mlp", "logistic", "perceptron"],
        [MLPClassifier, trees, LogisticRegression, Perceptron],
    )
    adult()


if __name__ == "__main__":
    main()
