"""Values of vertices, values of edges and classes of edges on real data, beside rules without a network; three seeds.

`graph_values.py days` (or air, ratings, relations) runs one of them, `… 0 1` with other seeds.

days         the least temperature of 3,650 days (Melbourne, 1981–1990): each day is joined to the days before and after
             it and to its date in other years; it has the sine and cosine of its date. A fifth is for the test.
air          fine dust (PM2.5) in Beijing, the means of 1,826 days (2010–2014), by `spectral`: each day is joined to the
             next; it has its temperature, dew point, pressure, wind, rain and snow
ratings      how alike people find two words (SimLex-999): an edge for each pair, with vectors of GloVe as features
relations    which of 14 relations joins two words (the pairs of Google's analogies): capital, currency, plural …

Beside the rules of the reports stands a linear model without edges: ridge regression on the cosine and the products of
two vectors, or logistic regression on their difference. Settings are the recipes' defaults (of relations, which lead
one way, --directed --decoder ordered); weights are chosen on the validation part, and the test part is read once a run.
There is no signed graph among the data. Data: CUTAWAY_DATA, else ../shared/data.
"""

import itertools
import lzma
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import cutaway as cut

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def days(folder: Path) -> tuple[str, dict[str, Any]]:
    """Days as vertices, with their least temperature."""
    table = pd.read_csv(DATA / "series" / "daily-min-temperatures.csv", parse_dates=["Date"])
    place = {date: i for i, date in enumerate(table["Date"])}
    pairs = [(date, date + pd.Timedelta(days=1)) for date in place]
    pairs += [(date, date + pd.DateOffset(years=1)) for date in place]
    edges = [(a.date(), b.date()) for a, b in pairs if b in place]
    angle = 2 * np.pi * table["Date"].dt.day_of_year / 365.25
    dates = table["Date"].dt.date
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    vertices = pd.DataFrame({"id": dates, "sine": np.sin(angle), "cosine": np.cos(angle), "temperature": table["Temp"]})
    vertices.to_csv(folder / "vertices.csv", index=False)
    return "gcn", {"target": "temperature"}


def air(folder: Path) -> tuple[str, dict[str, Any]]:
    """Days as vertices, with the fine dust of their air and their weather."""
    table = pd.read_csv(DATA / "series" / "pollution.csv.xz").drop(columns=["No", "hour", "cbwd"])
    means = table.groupby(["year", "month", "day"]).mean().reset_index()
    date = pd.to_datetime(means[["year", "month", "day"]])
    angle = 2 * np.pi * date.dt.day_of_year / 365.25
    vertices = means.drop(columns=["year", "month", "day"]).assign(sine=np.sin(angle), cosine=np.cos(angle))
    vertices.insert(0, "id", date.dt.date)
    edges = [(a, b) for a, b in itertools.pairwise(vertices["id"])]
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    vertices.rename(columns={"pm2.5": "dust"}).to_csv(folder / "vertices.csv", index=False)
    return "spectral", {"target": "dust", "task": "values"}


def ratings(folder: Path) -> tuple[str, dict[str, Any]]:
    """Pairs of words with the mean of people's ratings, 0 to 10."""
    lines = (DATA / "text" / "word_eval" / "simlex999.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t")[:3] for line in lines if not line.startswith("#")]
    _write_words(folder, [(a, b, float(value)) for a, b, value in rows], "rating")
    return "links", {"target": "rating", "task": "values"}


def relations(folder: Path) -> tuple[str, dict[str, Any]]:
    """Pairs of words with the relation between them."""
    text = _text(DATA / "text" / "word_eval" / "questions-words.txt.xz")
    found: dict[tuple[str, str], str] = {}
    relation = ""
    for line in text.splitlines():
        if line.startswith(":"):
            relation = line[2:]
            continue
        a, b, c, d = line.lower().split()
        found.setdefault((a, b), relation)
        found.setdefault((c, d), relation)
    _write_words(folder, [(a, b, kind) for (a, b), kind in found.items()], "relation")
    return "links", {"target": "relation", "directed": True, "decoder": "ordered"}


def _text(path: Path) -> str:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read()


def _write_words(folder: Path, rows: list[tuple[str, str, Any]], target: str) -> None:
    """Files of edges and of vertices; words without a vector are left out."""
    place = DATA / "weights" / "glove"
    words = _text(place / "words.txt.xz").split("\n")
    with lzma.open(place / "glove.6B.50d.top20k.f16.npy.xz") as file:
        vectors = np.load(file).astype(np.float32)
    number = {word: i for i, word in enumerate(words) if word}
    known = [row for row in rows if row[0] in number and row[1] in number and row[0] != row[1]]
    names = sorted({word for a, b, _ in known for word in (a, b)})
    pd.DataFrame(known, columns=["source", "target", target]).to_csv(folder / "edges.csv", index=False)
    features = pd.DataFrame(vectors[[number[name] for name in names]], columns=[f"v{i}" for i in range(50)])
    features.insert(0, "id", names)
    features.to_csv(folder / "vertices.csv", index=False)


RUNS = {"days": days, "air": air, "ratings": ratings, "relations": relations}


def without_edges(run: Any) -> str:
    """A linear model of two vectors, on the test edges; "" of vertices, whose reports have one."""
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if run.recipe.name != "links":
        return ""
    task = run.task
    x = task.graph.x.numpy()
    held = task.open_test()

    def features(pairs: np.ndarray) -> np.ndarray:
        u, v = x[pairs[0]], x[pairs[1]]
        if task.classes:
            return v - u
        norms = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        return np.concatenate([(u * v).sum(1, keepdims=True) / norms[:, None], u * v], 1)

    if task.classes:
        model = LogisticRegression(max_iter=2000).fit(features(task.known.pairs), task.known.targets)
        return f"; logistic regression on the difference {model.score(features(held.pairs), held.targets):.3f}"
    ridge = RidgeCV(np.logspace(-2, 4, 13)).fit(features(task.known.pairs), task.known.targets)
    error = ridge.predict(features(held.pairs)) - held.targets
    return f"; ridge on cosine and products RMSE {np.sqrt((error**2).mean()):.3f}"


def main() -> None:
    asked = [name for name in sys.argv[1:] if name in RUNS] or list(RUNS)
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()] or [0, 1, 2]
    if not DATA.is_dir():
        print(f"graph_values: needs the real data, got none at {DATA}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    for name in asked:
        found: dict[str, list[float]] = {}
        start, linear = time.process_time(), ""
        for seed in seeds:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                recipe, settings = RUNS[name](folder)
                files = {"data": str(folder / "edges.csv"), "vertices": str(folder / "vertices.csv")}
                run = cut.train(recipe, **files, **settings, seed=seed, out=folder / "run", show="quiet")
                for key, value in run.test().items():
                    found.setdefault(key, []).append(value)
                linear = linear or without_edges(run)
        told = ", ".join(
            f"{key} {statistics.mean(v):.3f} ({' '.join(f'{x:.3f}' for x in v)})" for key, v in found.items()
        )
        seconds = (time.process_time() - start) / len(seeds)
        print(f"graph_values {name}: test {told}{linear} (the first seed's split); {seconds:.0f} s a run", flush=True)


if __name__ == "__main__":
    main()
