"""A little table with all kinds of columns, and training without a folder, for the tests of recipes for tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from cutaway.recipes.base import Recipe
from cutaway.runs.execution import optimizers_of, plan_of
from cutaway.training.loop import Loop

QUICK: dict[str, Any] = dict(steps=4, evaluate_every=2, checkpoint_every=2, show="quiet")


def little_frame(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    """Numbers, a category, gaps in both, and a target for every task."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": draw.normal(50, 12, rows).round(3),
            "weight": draw.normal(0, 1, rows).round(3),
            "colour": draw.choice(["red", "green", "blue"], rows),
            "shape": draw.choice(["round", "square"], rows),
        }
    )
    score = (frame["size"] - 50) / 12 + 2 * (frame["colour"] == "red") - frame["weight"] + draw.normal(0, 0.3, rows)
    frame.loc[draw.choice(rows, rows // 13, replace=False), "weight"] = np.nan
    frame.loc[draw.choice(rows, rows // 17, replace=False), "colour"] = None
    frame["price"] = (1000 + 100 * score).round(2)
    frame["sold"] = np.where(score > 0.5, "yes!", "no!")
    frame["grade"] = np.digitize(score, [-0.5, 1.0]) + 3  # 3, 4 or 5
    frame["cheap"] = (score < 0).astype(int)
    frame["small"] = (frame["size"] < 50).astype(int)
    return frame


INPUTS = ["size", "weight", "colour", "shape"]


def little_table(folder: Path, *targets: str, rows: int = 120, name: str = "table.csv", seed: int = 0) -> Path:
    """The table as CSV, with the inputs and these targets."""
    path = folder / name
    little_frame(rows, seed)[[*INPUTS, *targets]].to_csv(path, index=False)
    return path


def fit(recipe: Recipe) -> tuple[nn.Module, Any]:
    """The model of a recipe after its training, without a run folder; and its table."""
    torch.manual_seed(0)
    job = recipe.job()
    loop = Loop(job, optimizers_of(recipe, job.model), plan_of(recipe, torch.device("cpu")))
    loop.run()
    return loop.evaluated.eval(), recipe.read().parts  # type: ignore[attr-defined]
