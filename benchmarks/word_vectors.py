"""Word vectors beside gensim's, turn by turn: similarity, analogies, and raw words a second.

Both arms: text8's first 10 MB, 100 numbers, window 5, sample 1e-3, 5 epochs, words seen at least 5 times, scored by
the same code. gensim draws 5 negatives for each word; ours shares 32 in a block of 32 words, each at a weight of 5/32.

    python benchmarks/run.py word_vectors                       three seeds, CBOW and skip-gram, one and two threads
    WORD_VECTORS=short python benchmarks/run.py word_vectors    one seed of CBOW, one thread, a fifth of the text
"""

import lzma
import os
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from timing import machine

from cutaway.data.words.word_tests import read_analogies, read_rated_pairs
from cutaway.recipes.words.wordvectors import WordVectorsRecipe
from cutaway.tasks.words.word_scores import analogies, similarity

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
EPOCHS = 5
Vectors = tuple[list[str], np.ndarray, float, float]  # words, vectors, seconds on the clock and of the processor


def ours(text: Path, method: str, context: str, rate: float, seed: int, threads: int) -> Vectors:
    torch.set_num_threads(threads)
    recipe = WordVectorsRecipe(
        data=str(text),
        method=method,  # type: ignore[arg-type]
        context=context,  # type: ignore[arg-type]
        rate=rate,
        seed=seed,
        passes=EPOCHS,
        validation=0.0,
        test=0.0,
        words="spaces",
    )
    begun = recipe.begin()
    job = begun.job()
    assert job.update is not None
    assert job.batches is not None
    clock, processor = time.perf_counter(), time.process_time()
    for step in range(recipe.steps):
        share = max(1 - step / recipe.steps, recipe.floor)
        job.update(job.model, job.batches.at(step), share)
    taken = time.perf_counter() - clock, time.process_time() - processor
    vectors = job.model.vectors().detach().numpy()  # type: ignore[operator]
    return begun.task.parts.words, vectors, *taken


def theirs(text: Path, method: str, context: str, rate: float, seed: int, threads: int) -> Vectors:
    from gensim.models import Word2Vec
    from gensim.models.word2vec import Text8Corpus

    sentences = list(Text8Corpus(str(text)))
    model = Word2Vec(
        vector_size=100,
        window=5,
        negative=5,
        sample=1e-3,
        min_count=5,
        workers=threads,
        seed=seed,
        sg=int(method == "skip-gram"),
        cbow_mean=int(context == "mean"),
        alpha=rate,
    )
    model.build_vocab(sentences)
    clock, processor = time.perf_counter(), time.process_time()
    model.train(sentences, total_examples=model.corpus_count, epochs=EPOCHS)
    taken = time.perf_counter() - clock, time.process_time() - processor
    return model.wv.index_to_key, model.wv.vectors, *taken


def scores(words: list[str], matrix: np.ndarray) -> tuple[float, float, float]:
    """WordSim-353, SimLex-999 (Spearman), analogies (share); what has a word without a vector is left out."""
    folder = DATA / "word_eval"
    pairs = [read_rated_pairs(folder / name) for name in ("wordsim353.tsv", "simlex999.txt")]
    found = [similarity(words, matrix, rated).correlation for rated in pairs]
    return found[0], found[1], analogies(words, matrix, read_analogies(folder / "questions-words.txt.xz")).accuracy


def compare(text: Path, raw: int, method: str, context: str, rate: float, seeds: range, threads: int) -> None:
    """One table: an arm's scores and speed for each seed, the arms taking turns."""
    label = method if method == "skip-gram" else f"CBOW, {context}"
    print(
        f"\n{label}, rate {rate:g}, {threads} thread{'s' if threads > 1 else ''}: WordSim, SimLex, analogies; words/s"
    )
    speeds: dict[str, list[float]] = {}
    for seed in seeds:
        for name, arm in (("Cutaway", ours), (f"gensim {version('gensim')}", theirs)):
            words, matrix, clock, processor = arm(text, method, context, rate, seed, threads)
            alike, like, solved = scores(words, matrix)
            speed = EPOCHS * raw / (clock if threads > 1 else processor)
            speeds.setdefault(name, []).append(speed)
            print(
                f"  {name:<13} seed {seed}  {alike:.3f}  {like:.3f}  {100 * solved:4.1f} %  {speed:9,.0f}", flush=True
            )
    a, b = (statistics.median(values) for values in speeds.values())
    print(f"  ratio of the medians {a / b:.2f}")


def main() -> None:
    short = os.environ.get("WORD_VECTORS") == "short"
    print(f"\nWord vectors\n{machine()}")
    with tempfile.TemporaryDirectory() as folder:
        with lzma.open(DATA / "text8_first10MB.txt.xz", "rt", encoding="utf-8") as file:
            words = file.read().split()
        words = words[: len(words) // 5] if short else words
        text = Path(folder) / "text8.txt"
        text.write_text(" ".join(words), encoding="utf-8")
        compare(text, len(words), "cbow", "mean", 0.05, range(1, 2 if short else 4), 1)
        if not short:
            compare(text, len(words), "skip-gram", "mean", 0.025, range(1, 4), 1)
            compare(text, len(words), "cbow", "mean", 0.05, range(1, 2), 2)


if __name__ == "__main__":
    main()
