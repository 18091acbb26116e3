"""`links` on Cora: AUC, average precision and hits@20 of held-out citations, beside common neighbours and Adamic–Adar.

5 % of the edges are for validation, 10 % for the test, as in Kipf, Welling 2016, whose graph autoencoders with features
reach an AUC of 91.0 to 91.4 and an average precision of 92.0 to 92.6. `graph_links.py 0` for one seed. Data:
CUTAWAY_DATA, else ../shared/data.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

import cutaway as cut


def main() -> None:
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()] or [0, 1, 2]
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "graphs"
    if not folder.is_dir():
        print(f"graph_links: needs Cora, got none at {folder}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    found, start = [], time.process_time()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as out:
            path = str(folder / "cora.npz")
            run = cut.train("links", data=path, seed=seed, out=Path(out) / "run", show="quiet")
            found.append(run.test())
    seconds = (time.process_time() - start) / len(seeds)
    for name in ("auc", "average_precision", "hits_at_20", "baseline_auc"):
        values = [100 * one[name] for one in found]
        print(f"graph_links cora: test {name} {statistics.mean(values):.1f} ({', '.join(f'{v:.1f}' for v in values)})")
    print(f"graph_links cora: {seconds:.1f} s of processor time a run")


if __name__ == "__main__":
    main()
