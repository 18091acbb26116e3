"""Recommendation as link prediction, beside popularity; ratings as values of edges; friend or foe on signed edges.

python examples/recommend_films.py [folder for the runs]
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cutaway as cut

PEOPLE, FILMS, TASTES = 60, 40, 3


def likes(rng: np.random.Generator) -> pd.DataFrame:
    """Who saw which film, with stars: people of one taste see and like the same films; some films are seen by all."""
    taste, kind = rng.integers(0, TASTES, PEOPLE), rng.integers(0, TASTES, FILMS)
    fame = rng.uniform(0.3, 1, FILMS)
    rows = [
        (f"person {i}", f"film {j}", round(2.5 + 1.5 * (taste[i] == kind[j]) + rng.normal(0, 0.4), 1))
        for i in range(PEOPLE)
        for j in range(FILMS)
        if rng.random() < fame[j] * (0.6 if taste[i] == kind[j] else 0.08)
    ]
    return pd.DataFrame(rows, columns=["person", "film", "stars"])


def feuds(rng: np.random.Generator) -> pd.DataFrame:
    """Two clans: friends inside (weight 1), foes between (−1)."""
    pairs = [(i, j) for i in range(40) for j in range(i) if rng.random() < 0.2]
    return pd.DataFrame([(f"p{i}", f"p{j}", 1 if i // 20 == j // 20 else -1) for i, j in pairs], columns=list("uvw"))


def show(what: str, run: cut.runs.Run, metric: str) -> None:
    found = run.test()
    print(f"{what}: test {metric} {found[metric]:.2f}; best rule without a network {found[f'baseline_{metric}']:.2f}")


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    seen = likes(rng)
    seen.to_csv(folder / "seen.csv", index=False)
    seen[["person", "film"]].to_csv(folder / "pairs.csv", index=False)
    feuds(rng).to_csv(folder / "feuds.csv", index=False)
    small: dict[str, Any] = dict(width=16, steps=100, show="quiet")

    run = cut.train("links", data=str(folder / "pairs.csv"), out=folder / "recommend", **small)
    for name, rule in run.about["data"]["baselines"].items():
        print(f"  {name}: validation AUC {rule['metrics']['auc']:.2f}")
    show("which film next", run, "auc")
    print("  for person 0:", ", ".join(row["target"] for row in run.predict("person 0")[:5]))

    run = cut.train(
        "links", data=str(folder / "seen.csv"), target="stars", task="values", out=folder / "stars", **small
    )
    show("how many stars", run, "rmse")
    print("  best for person 0:", {row["target"]: round(row["stars"], 1) for row in run.predict("person 0")[:3]})

    run = cut.train("links", data=str(folder / "feuds.csv"), weight="w", out=folder / "feuds", **small)
    show("friend or foe", run, "auc")
    (row,) = run.predict([("p1", "p30")])
    print(f"  p1 and p30 are friends with probability {row['P(positive)']:.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
