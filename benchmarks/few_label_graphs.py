"""Graphs with few labels: what it is worth to have restored hidden parts first.

cora        1, 3, 5 or 20 labelled vertices a class, drawn ten times from those in neither the public validation nor
            the public test part; accuracy on the 1,000 public test vertices. `masked-graph` learns from all vertices
            without labels, once.
molecules   50, 100 or 500 labelled molecules of BBBP (AUC) and ESOL (RMSE), drawn from four fifths of them, the last
            fifth is the test. `masked-graph` learns from the molecules of both that are in no test, without labels.

No way has validation data: all of them take the default settings, chosen before at other amounts of labels, a number of
steps that is set beforehand, and the last weights. Ours from scratch stand beside ours from the pretrained base, from
the same base without its pretraining, and rules that need no network. Means ± deviations over draws.

    python benchmarks/run.py few_label_graphs                           about 15 minutes of one core
    python benchmarks/few_label_graphs.py cora 1 5 --draws 2            some sizes alone
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from molecules import by_forest

from cutaway.data.graphs.graph_set import GraphRows, GraphSet, read_graphs
from cutaway.data.splits import Splits
from cutaway.recipes.graphs.gcn import GCNRecipe
from cutaway.recipes.graphs.gin import GINRecipe
from cutaway.runs.execution import optimizers_of, plan_of, train
from cutaway.tasks.graphs.graph_networks import outcome_outputs
from cutaway.tasks.graphs.vertex_baselines import vertex_rules
from cutaway.tasks.graphs.whole_graphs import WholeGraphs
from cutaway.training.loop import Loop
from cutaway.tuning.tasks.graphs import TunedGraphsRecipe
from cutaway.tuning.tasks.vertices import TunedVerticesRecipe

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "graphs"
WAYS: dict[str, dict[str, Any]] = {
    "head only": {"head_only": True},
    "LoRA, rank 8": {"lora": 8},
    "all weights": {"full": True},
}
SETS = {
    "bbbp": ("bbbp.csv.xz", "p_np"),
    "esol": ("esol_delaney.csv.xz", "measured log solubility in mols per litre"),
}
SIZES = {"cora": (1, 3, 5, 20), "molecules": (50, 100, 500)}
GIN_STEPS = 300
Found = dict[str, tuple[float, int, float]]  # score, trained parameters, processor seconds


def fit(recipe: Any) -> tuple[torch.nn.Module, int]:
    """The model of a recipe after its training, without a run folder; and how many parameters learned."""
    torch.manual_seed(recipe.seed)
    begun = recipe.begin()
    recipe, job = begun.recipe, begun.job()
    loop = Loop(job, optimizers_of(recipe, job.model), plan_of(recipe, torch.device("cpu")))
    loop.run()
    return loop.evaluated.eval(), sum(p.numel() for p in job.model.parameters() if p.requires_grad)


def measure(found: Found, name: str, recipe: Any, score: Callable[[Any], float]) -> None:
    started = time.process_time()
    model, learned = fit(recipe)
    found[name] = (score(model), learned, time.process_time() - started)


# ----------------------------------------------------------------------------------------------------------------------


def cora_draw(labels: int, draw: int, bases: dict[str, Path], folder: Path) -> Found:
    """Every way, on one draw of labelled vertices."""
    arrays = dict(np.load(DATA / "cora.npz"))
    rng = np.random.default_rng(draw)
    y, known = arrays["y"], np.setdiff1d(np.arange(len(arrays["y"])), np.r_[arrays["val"], arrays["test"]])
    rows = np.concatenate([rng.permutation(known[y[known] == k])[:labels] for k in range(int(y.max()) + 1)])
    path = folder / "cora.npz"
    np.savez(path, **arrays | {"train": np.sort(rows), "val": np.empty(0, np.int64)})
    settings: dict[str, Any] = dict(data=str(path), seed=draw, final="last")
    found: Found = {}
    scratch = GCNRecipe(**settings)
    own = scratch.read()
    data = own.parts
    assert data.targets is not None
    test, truth = data.open_test(), data.targets
    started = time.process_time()
    rules = vertex_rules(data.graph, truth, torch.from_numpy(data.train), torch.from_numpy(test), len(data.classes))
    for name in ("features alone", "label propagation"):
        said = "logistic regression on features" if name == "features alone" else name
        found[f"rule: {said}"] = (rules[name]["metrics"]["accuracy"], 0, time.process_time() - started)
    measure(found, "from scratch: gcn", scratch, lambda m: _accuracy(scratch, own, m))
    for source, base in bases.items():
        for name, way in WAYS.items():
            if source != "pretrained" and name != "all weights":
                continue
            recipe = TunedVerticesRecipe(base=str(base), **settings, **way)
            begun = recipe.begin()
            measure(found, f"{source}: {name}", recipe, lambda m, b=begun: _accuracy(b.recipe, b.task, m))
    return found


def _accuracy(recipe: Any, task: Any, model: torch.nn.Module) -> float:
    """Of a trained model, on the test vertices."""
    rows = task.parts.open_test()
    return task.metrics(recipe.build(task, model=model).outputs(rows), rows)["accuracy"]


def molecules_draw(kind: str, labels: int, draw: int, bases: dict[str, Path], parts: dict[str, Any]) -> Found:
    """Every way, on one draw of labelled molecules."""
    whole, pool, test = parts[kind]
    rows = pool.take(np.random.default_rng(draw).permutation(len(pool))[:labels])
    few = GraphSet(
        whole.name, Splits(whole.name, rows, None, None), whole.classes, whole.target, whole.feature_names,
        whole.edge_feature_names, {"training": labels}, whole.fingerprint, (), whole.features,
    )  # fmt: skip
    scratch = _with_data(GINRecipe, few)(data="few", seed=draw, steps=GIN_STEPS, validation=0.0, test=0.0)
    task = scratch.read()
    scale = task.scale

    def score(model: Any) -> float:
        metrics = task.metrics(outcome_outputs(model, test.graphs, scale), test)
        return metrics["auc" if scale is None else "rmse"]

    found: Found = {}
    started = time.process_time()
    found["rule: forest on fingerprints"] = (by_forest(rows, test, scale is not None), 0, 0.0)
    found["rule: forest on fingerprints"] = (*found["rule: forest on fingerprints"][:2], time.process_time() - started)
    measure(found, "from scratch: gin", scratch, score)
    for source, base in bases.items():
        for name, way in WAYS.items():
            if source != "pretrained" and name != "all weights":
                continue
            tuned = _with_data(TunedGraphsRecipe, few)
            recipe = tuned(base=str(base), data="few", validation=0.0, test=0.0, seed=draw, **way)
            measure(found, f"{source}: {name}", recipe, score)
    return found


def _with_data(kind: Any, few: GraphSet) -> Any:
    """The recipe, which takes these graphs for its data."""

    def read(self: Any, base: Any = None) -> WholeGraphs:
        task = WholeGraphs(self)
        task.parts = few
        return task

    return type(kind.__name__, (kind,), {"read": read})


def molecule_parts(seed: int = 0) -> dict[str, tuple[GraphSet, GraphRows, GraphRows]]:
    """Of each set the whole, what labels are drawn from, and the test."""
    found = {}
    for kind, (file, target) in SETS.items():
        whole = read_graphs(str(DATA / file), target=target, validation=0.0, test=0.2, seed=seed)
        found[kind] = (whole, whole.train, whole.open_test())
    return found


def pretrain(folder: Path, data: str, many: bool, **settings: Any) -> dict[str, Path]:
    """The base, and the same network as it begins."""
    bases = {"pretrained": folder / "base", "not pretrained": folder / "raw"}
    started = time.process_time()
    shared: dict[str, Any] = dict(data=data, validation=0.05 if many else 0.1, test=0.0, show="quiet", **settings)
    run = train("masked-graph", out=bases["pretrained"], **shared)
    last = {name: round(value, 3) for name, value in run.metrics[-1].items() if name in ("accuracy", "cosine", "loss")}
    print(f"  pretraining: {run.recipe.steps} steps, {time.process_time() - started:.0f} s; {last}", flush=True)
    train("masked-graph", out=bases["not pretrained"], **shared | {"steps": 1, "rate": 1e-12, "final": "last"})
    return bases


def tell(what: str, results: list[Found]) -> None:
    print(f"\n{what}, {len(results)} draws")
    for name in results[0]:
        each = np.array([one[name][0] for one in results])
        seconds = np.mean([one[name][2] for one in results])
        print(
            f"  {name:38s} {each.mean():.3f} ± {each.std():.3f}   trained {results[0][name][1]:>8,}   {seconds:5.1f} s",
            flush=True,
        )


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("asked", nargs="*", default=list(SIZES))
    parser.add_argument("--draws", type=int, default=0)
    asked = parser.parse_args(list(arguments))
    sizes = [int(word) for word in asked.asked if word.isdigit()]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if "cora" in asked.asked:
            print("cora: accuracy on the public test vertices")
            bases = pretrain(folder / "cora", str(DATA / "cora.npz"), many=False)
            for labels in sizes or SIZES["cora"]:
                draws = range(asked.draws or 10)
                tell(f"{labels} labels a class", [cora_draw(labels, draw, bases, folder) for draw in draws])
        if "molecules" in asked.asked:
            print("\nmolecules: BBBP, AUC; ESOL, RMSE")
            parts = molecule_parts()
            smiles = "\n".join(f'"{name}"' for _, pool, _ in parts.values() for name in pool.names)
            (folder / "all.csv").write_text(f"smiles\n{smiles}\n")
            bases = pretrain(folder / "molecules", str(folder / "all.csv"), many=True)
            for labels in sizes or SIZES["molecules"]:
                for kind in SETS:
                    draws = range(asked.draws or 3)
                    found = [molecules_draw(kind, labels, draw, bases, parts) for draw in draws]
                    tell(f"{kind}, {labels} labels", found)


if __name__ == "__main__":
    main(sys.argv[1:])
