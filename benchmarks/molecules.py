"""`gin` on BBBP (does a molecule reach the brain) and ESOL (how soluble is it), beside a random forest on fingerprints.

BBBP by scaffold split, where the test has new skeletons, and by random split; ESOL by random split. Molecules that come
again are kept once. Three seeds of weights on one split. `molecules.py bbbp-scaffold 0` runs one. Fingerprints: RDKit's
Morgan, radius 2, 2,048 bits. Data: CUTAWAY_DATA, else ../shared/data.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import cutaway as cut
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.extras import need
from cutaway.tasks.graphs.ranking_metrics import auc
from cutaway.tasks.graphs.whole_graph_baselines import fit_forest

RUNS = {
    "bbbp-scaffold": ("bbbp.csv.xz", "p_np", "scaffold"),
    "bbbp-random": ("bbbp.csv.xz", "p_np", "random"),
    "esol": ("esol_delaney.csv.xz", "measured log solubility in mols per litre", "random"),
}


def fingerprints(rows: GraphRows) -> np.ndarray:
    """A row of 2,048 bits for each molecule, by its SMILES."""
    chem = need("rdkit.Chem", "molecules", "fingerprints")
    maker = need("rdkit.Chem.rdFingerprintGenerator", "molecules", "fingerprints").GetMorganGenerator(2, fpSize=2048)
    return np.stack([maker.GetFingerprintAsNumPy(chem.MolFromSmiles(name)) for name in rows.names])


def by_forest(train: GraphRows, test: GraphRows, is_number: bool) -> float:
    """The AUC, or the RMSE, of a random forest on fingerprints."""
    assert train.targets is not None
    assert test.targets is not None
    model = fit_forest(fingerprints(train), train.targets.numpy(), is_number)
    if is_number:
        return float(np.sqrt(np.mean((model.predict(fingerprints(test)) - test.targets.numpy()) ** 2)))
    return auc(model.predict_proba(fingerprints(test))[:, 1], test.targets.numpy())


def main() -> None:
    asked = [name for name in sys.argv[1:] if name in RUNS] or list(RUNS)
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()] or [0, 1, 2]
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "graphs"
    if not folder.is_dir():
        print(f"molecules: needs BBBP and ESOL, got none at {folder}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    for name in asked:
        file, target, split = RUNS[name]
        figures, start = [], time.process_time()
        forest = None
        for seed in seeds:
            with tempfile.TemporaryDirectory() as out:
                settings = dict(data=str(folder / file), target=target, split=split, seed=seed)
                run = cut.train("gin", out=Path(out) / "run", show="quiet", **settings)  # type: ignore[arg-type]
                found = run.test()
                data = run.task.parts
                is_number = not data.classes
                figures.append(found["rmse" if is_number else "auc"])
                forest = by_forest(data.train, data.open_test(), is_number) if forest is None else forest
        what = "RMSE" if is_number else "AUC"
        spread = statistics.stdev(figures) if len(figures) > 1 else 0.0
        print(
            f"molecules {name}: test {what} {statistics.mean(figures):.3f} ± {spread:.3f} over {len(seeds)} seeds, "
            f"fingerprints and a random forest {forest:.3f} (first seed's split); "
            f"{(time.process_time() - start) / len(seeds):.0f} s of processor time a run",
            flush=True,
        )


if __name__ == "__main__":
    main()
