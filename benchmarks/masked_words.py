"""Tokens, whole words or spans: what does a small `bert` learn from each kind of mask, at the same cost?

Three models of one size, trained on summaries of Wikipedia for the same number of batches, fill the same gaps of
held-out text: single tokens, and whole words. Their frozen means then tell subjective from objective sentences.
`python benchmarks/run.py masked_words`; needs the data, and takes about four minutes of one thread.
"""

import csv
import os
import random
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import torch
from text_pairs import no_page, training_summaries

import cutaway as cut
from cutaway.data.text.word_starts import word_table
from cutaway.runs import execution
from cutaway.tasks.texts.masked_tokens import masked_metrics

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
SETTINGS: dict[str, Any] = dict(tokenizer="bpe-4000", batch=64, steps=300, evaluate_every=300, checkpoint_every=3000)
TOKENS, SENTENCES = 30_000, 4_000  # of the gaps and of the classes


def main() -> None:
    if not DATA.is_dir():
        print(f"masked_words: needs wiki_vital_summaries_en.tsv.xz and subjectivity.zip in {DATA}")
        return
    torch.set_num_threads(1)
    execution.report_run = no_page
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        for mask in ("tokens", "words", "spans"):
            began = time.process_time()
            text = str(folder / "wiki.txt")
            run = cut.train("bert", data=text, mask=mask, out=folder / mask, show="quiet", **SETTINGS)
            seconds = time.process_time() - began
            tuned = cut.tune(
                run,
                data=folder / "classes.csv",
                task="classify",
                head_only=True,
                pooling="mean",
                epochs=15,
                out=folder / f"{mask}-head",
                show="quiet",
            )
            print(f"{mask:<8}{gaps(run)}  subjectivity {tuned.test()['accuracy']:.3f}  {seconds:,.0f} s", flush=True)


def gaps(run: Any) -> str:
    """Loss and accuracy on hidden tokens and on hidden words of the same held-out text."""
    words, told = word_table(run.tokenizer), []
    for kind in ("tokens", "words"):
        masking = run.learner.masking._replace(kind=kind, words=None if kind == "tokens" else words)
        found = masked_metrics(run.model, run.task.parts.validation, masking, TOKENS)
        told.append(f"{kind}: loss {found['loss']:.2f}, right {found['accuracy']:.3f}")
    return "  ".join(told)


def write_data(folder: Path) -> None:
    training_summaries(folder)
    rows = []
    with zipfile.ZipFile(DATA / "subjectivity.zip") as archive:
        for kind, label in (("plot", "objective"), ("quote", "subjective")):
            lines = archive.read(f"subjectivity/{kind}.tok.gt9.5000").decode("latin-1").splitlines()
            rows += [(line.strip(), label) for line in lines]
    random.Random(0).shuffle(rows)
    with (folder / "classes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows[:SENTENCES]])


if __name__ == "__main__":
    main()
