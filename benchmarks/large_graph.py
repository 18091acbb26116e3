"""`gcn` on a generated graph of 1,000,000 vertices and 5,000,000 edges: an epoch by samples of neighbours.

Ten groups; a vertex mostly knows its own, and 16 features tell its group faintly. Prints the seconds of an epoch over
100,000 labelled vertices, the largest memory of the process, and the accuracy on held-out vertices.
`large_graph.py 100000` takes another number of vertices.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import cutaway as cut

GROUPS, FEATURES, DEGREE, BATCH = 10, 16, 5, 1024


def write_graph(path: Path, vertices: int, labelled: int) -> None:
    """The graph as an .npz: edges, features, classes and parts."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, GROUPS, vertices)
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(GROUPS + 1))
    sources = rng.integers(0, vertices, DEGREE * vertices)
    own = rng.random(len(sources)) < 0.8
    place = starts[groups[sources]] + (rng.random(len(sources)) * np.diff(starts)[groups[sources]]).astype(np.int64)
    targets = np.where(own, order[place], rng.integers(0, vertices, len(sources)))
    centres = rng.normal(size=(GROUPS, FEATURES)).astype(np.float32)
    x = 0.3 * centres[groups] + rng.normal(size=(vertices, FEATURES)).astype(np.float32)
    rows = rng.permutation(vertices)
    held = min(5_000, labelled // 4)
    np.savez(
        path,
        edges=np.stack([sources, targets], 1),
        x=x,
        y=groups,
        train=rows[:labelled],
        val=rows[labelled : labelled + held],
        test=rows[labelled + held : labelled + 2 * held],
    )


def main() -> None:
    vertices = next((int(word) for word in sys.argv[1:] if word.isdigit()), 1_000_000)
    labelled = vertices // 10
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        write_graph(path, vertices, labelled)
        steps = max(1, labelled // BATCH)
        start = time.process_time()
        run = cut.train(
            "gcn",
            data=str(path),
            neighbours="10,5",
            batch=BATCH,
            width=32,
            dropout=0.0,
            steps=steps,
            evaluate_every=steps,
            checkpoint_every=steps,
            out=Path(folder) / "run",
            show="quiet",
        )
        seconds = time.process_time() - start
        last = [row for row in run.metrics if row["split"] == "validation"][-1]
        trained = max(row.get("seconds", 0.0) for row in run.metrics)
        found = run.about["data"]["baselines"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    naive = ", ".join(f"{name} {one['metrics']['accuracy']:.3f}" for name, one in found.items())
    print(
        f"large_graph: {vertices:,} vertices, {DEGREE * vertices:,} edges: {steps} steps, an epoch, in {trained:.0f} s "
        f"({seconds:.0f} s of processor time with reading and evaluation), at most {peak:.2f} GB; accuracy "
        f"{last['accuracy']:.3f} ({naive})"
    )


if __name__ == "__main__":
    main()
