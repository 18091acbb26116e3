"""Parts of speech (UPOS) on the English Web Treebank with the `tagger` recipe, with GloVe's vectors and without.

The treebank's own train, dev and test files; settings were chosen on dev, and the test file is read once, at the end of
each run. Beside it: the most frequent tag of each word, computed in the same run. Published or measured elsewhere on
the same test file: logistic regression on BERT's features 94.2 %, spaCy's transformer pipeline 96.9 %.
`python benchmarks/tagging.py 784` trains for 784 steps (two epochs) instead.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from timing import show

from cutaway.runs.execution import train

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
TREEBANK = DATA / "text" / "ud_ewt"
VECTORS = DATA / "weights" / "glove" / "glove.6B.50d.top20k.f16.npy.xz"


def measure(name: str, folder: Path, **settings: Any) -> tuple[str, str]:
    started = time.process_time()
    run = train("tagger", data=str(TREEBANK), out=folder / name, show="quiet", preset="treebank", **settings)
    seconds = time.process_time() - started
    dev, test = run.metrics[-1], run.test()
    figures = (
        f"{test['accuracy']:.4f}   {test['accuracy_on_unknown_words']:.3f}   {dev['accuracy']:.4f}   {seconds:.0f}"
    )
    naive = f"{test['baseline_accuracy']:.4f}   {test['baseline_accuracy_on_unknown_words']:.3f}"
    return figures, naive


def main(steps: int | None = None) -> None:
    if not TREEBANK.is_dir():
        print(f"\ntagging: skipped, {TREEBANK} is not there; set CUTAWAY_DATA")
        return
    given = {} if steps is None else {"steps": steps}
    rows = []
    naive = ""
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("with vectors", {"vectors": str(VECTORS)}), ("without", {})):
            figures, naive = measure(name, Path(folder), **given | more)
            rows.append((f"cutaway tagger, {name}", figures))
    rows.append(("most frequent tag of each word", naive))
    threads = torch.get_num_threads()
    show(f"UPOS, EWT: test, its unknown words, dev, processor seconds ({threads} threads)", rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
