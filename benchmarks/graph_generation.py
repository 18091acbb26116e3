"""Graphs drawn by `graph-rnn`: nats a graph and MMD on test graphs, beside Erdős–Rényi graphs, and edges by distance.

`graph_generation.py communities` (or mutag, proteins) runs one of them, `… 0 1` with other seeds. Settings are the
recipe's defaults; a fifth of MUTAG and of PROTEINS is for validation, and a fifth for the test, which is read once a
run. Data: CUTAWAY_DATA, else ../shared/data; communities are generated.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import cutaway as cut
from cutaway.tasks.graphs.generate import graph_rules
from cutaway.tasks.graphs.generation.sequences import plain_graphs
from cutaway.tasks.graphs.generation.statistics import compare_graphs

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "graphs"
FIFTHS = dict(validation=0.2, test=0.2)
RUNS: dict[str, dict[str, Any]] = {
    "communities": {"data": "communities"},
    "mutag": {"data": str(DATA / "MUTAG.txt.xz"), **FIFTHS},
    "proteins": {"data": str(DATA / "PROTEINS.txt.xz"), "largest": 60, **FIFTHS},
}


def main() -> None:
    asked = [name for name in sys.argv[1:] if name in RUNS] or ["communities", "mutag"]
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()] or [0]
    torch.set_num_threads(1)
    for name in asked:
        if name != "communities" and not DATA.is_dir():
            print(f"graph_generation {name}: needs the data, got none at {DATA}; set CUTAWAY_DATA")
            continue
        found: list[dict[str, float]] = []
        start = time.process_time()
        for seed in seeds:
            with tempfile.TemporaryDirectory() as out:
                run = cut.train("graph-rnn", **RUNS[name], seed=seed, out=Path(out) / "run", show="quiet")
                found.append(run.test())
        seconds = (time.process_time() - start) / len(seeds)
        print(f"graph_generation {name}, {len(seeds)} seeds, {seconds:.0f} s of processor time a run")
        task: Any = run.task  # the rules, on the last seed's parts
        parts, test = task.simple, plain_graphs(task.parts.open_test(), task.settings.largest)[0]
        means = {key: statistics.mean(one[key] for one in found) for key in found[0] if not key.startswith("baseline")}
        _tell("graph-rnn", means)
        for rule, told in graph_rules(parts.train, test, parts.bandwidth).items():
            _tell(rule, told["metrics"])
        _tell("the training graphs", compare_graphs(parts.train, test))


def _tell(name: str, figures: dict[str, float]) -> None:
    print(f"  {name:<20} " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
