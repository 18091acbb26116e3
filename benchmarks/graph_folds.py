"""`gin` on MUTAG and PROTEINS: nested 10-fold cross-validation, beside what choosing on the test folds would say.

Headline: in each of 10 folds the weights are chosen on a tenth of the training graphs, and the fold is read once.
"chosen on the test folds": the protocol of Xu et al. 2019, the one epoch whose mean accuracy over the ten test folds is
best; it flatters. structure-blind: a random forest on sums of vertex features. `graph_folds.py MUTAG`, `… PROTEINS 5`
for the first 5 folds, `… MUTAG readout=global`, `pooling=clusters`, `layer=gatv2` for other settings of `gin`.
Data: CUTAWAY_DATA, else ../shared/data. Processor seconds are those of one thread.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

from cutaway.data.graphs.graph_set import GraphRows, read_graphs
from cutaway.data.splits import split_rows
from cutaway.recipes.graphs.gin import GINRecipe
from cutaway.runs.execution import optimizers_of
from cutaway.tasks.graphs.graph_networks import GraphBatches, outcome_cost, outcome_outputs
from cutaway.tasks.graphs.outcomes import outcome_metrics
from cutaway.tasks.graphs.whole_graph_baselines import graph_baselines

FOLDS = 10
EPOCHS = {"MUTAG": 100, "PROTEINS": 20}
SETTINGS = dict(width=32, depth=4, dropout=0.5, rate=0.01, weight_decay=0.0, batch=32)  # of the paper's choices
EVERY = {"MUTAG": 2, "PROTEINS": 1}  # epochs between evaluations


def folds(targets: np.ndarray) -> list[np.ndarray]:
    """Ten parts, each class in its share."""
    order = np.random.default_rng(0).permutation(len(targets))
    order = order[np.argsort(targets[order], kind="stable")]
    return [np.sort(order[k::FOLDS]) for k in range(FOLDS)]


def train_fold(recipe: GINRecipe, name: str, parts: list[GraphRows], data: object) -> list[tuple[float, float, float]]:
    """(validation loss, validation accuracy, test accuracy) after each evaluation."""
    train, held, test = parts
    model = recipe.network(data)  # type: ignore[arg-type]
    optimizers = optimizers_of(recipe, model)
    batches, found = GraphBatches(train, min(recipe.batch, len(train)), recipe.seed), []
    steps = max(1, len(train) // recipe.batch)
    total = EPOCHS[name] * steps
    for epoch in range(EPOCHS[name]):
        model.train()
        for step in range(epoch * steps, (epoch + 1) * steps):
            for group in optimizers[0].param_groups:
                group["lr"] = recipe.rate * (1 - step / total)
            outcome_cost(model, batches.at(step)).backward()
            optimizers[0].step()
            optimizers[0].zero_grad()
        if (epoch + 1) % EVERY[name] == 0:
            model.eval()
            on = [outcome_metrics(outcome_outputs(model, part.graphs), part.targets) for part in (held, test)]
            found.append((on[0]["loss"], on[0]["accuracy"], on[1]["accuracy"]))
    return found


def main() -> None:
    asked = [name for name in sys.argv[1:] if name in EPOCHS] or list(EPOCHS)
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), FOLDS)
    other = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    told = "".join(f", {setting}={value}" for setting, value in other.items())
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "graphs"
    if not folder.is_dir():
        print(f"graph_folds: needs MUTAG and PROTEINS, got none at {folder}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    for name in asked:
        start = time.process_time()
        data = read_graphs(str(folder / f"{name}.txt.xz"), validation=0.0, test=0.0)
        rows, recipe = data.train, GINRecipe(data=name, **SETTINGS | other)  # type: ignore[arg-type]
        targets = rows.targets.numpy()
        chosen, curves, blind = [], [], []
        for fold in folds(targets)[:count]:
            rest = np.setdiff1d(np.arange(len(rows)), fold)
            inner = split_rows(len(rest), 0.1, 0.0, 0, targets[rest])
            parts = [rows.take(rest[inner[0]]), rows.take(rest[inner[1]]), rows.take(fold)]
            curve = train_fold(recipe, name, parts, data)
            chosen.append(min(curve)[2])  # by the validation loss
            curves.append([accuracy for _, _, accuracy in curve])
            naive = graph_baselines(rows.take(rest), parts[2], None, len(data.classes))
            blind.append(naive["structure-blind"]["metrics"]["accuracy"])
        flattered = np.array(curves)[:, np.mean(curves, 0).argmax()]
        seconds = time.process_time() - start
        for what, values in (
            ("nested cross-validation", chosen),
            ("chosen on the test folds", flattered),
            ("structure-blind", blind),
        ):
            print(
                f"graph_folds {name}{told}, {what}: {100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}",
                flush=True,
            )
        print(f"graph_folds {name}{told}: {len(chosen)} folds, {seconds:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
