"""English to Spanish with the recipes `transformer` and `seq2seq`, on the pairs and for the steps of Keras's example.

Keras's "English-to-Spanish translation with a sequence-to-sequence Transformer" (F. Chollet 2021; in the repository
keras-team/keras-io, examples/nlp/md/neural_machine_translation_with_transformer.md) shows the log of one epoch, 1,302
steps of 64 pairs: 52.1 % of the words of held-out translations right, given the true words before, by a model of 20
million weights. It counts words of 15,000, lower-case and without punctuation, an unknown word being right if it is
taken for one, and its validation pairs are drawn at random, so that a sentence may be in both parts with another
translation. Ours are all words as they are written, right if all their tokens are, and no text is in two parts.

`python benchmarks/translation.py seq2seq --seconds 900` trains one of the two for about that processor time (the steps
are counted out from the time of the first few), and says BLEU as sacrebleu counts it, too (Post 2018).
"""

import argparse
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from timing import show

from cutaway.data.text.token_rows import PAD, TokenPairs, every_pair
from cutaway.runs.execution import train

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text" / "spa-eng.zip"
STEPS = 1302


@torch.no_grad()
def words_right(model: Any, pairs: TokenPairs, tokenizer: Any) -> float:
    """The share of target words (and ends) whose every token comes first, given the true tokens before it."""
    right = count = 0
    for batch in every_pair(pairs, 64):
        source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        best = model(source, target[:, :-1], source != PAD).argmax(-1).numpy()
        for guesses, row in zip(best, batch.target):
            truth = row[1:][row[1:] != PAD]
            hits = guesses[: len(truth)] == truth
            # a word begins with a space, or behind a sign; signs are none, the end, which reads as nothing, is one
            names = [tokenizer.decode([i]) for i in truth.tolist()]
            plain = [re.search(r"\w", name) is not None for name in names]
            starts = [i for i, name in enumerate(names) if not (i and plain[i] and plain[i - 1]) or name[0] == " "]
            for first, last in zip(starts, [*starts[1:], len(truth)]):
                if plain[first] or names[first] == "":
                    right += bool(hits[first:last].all())
                    count += 1
    return right / count


def sacre_bleu(run: Any, limit: int = 2000) -> str:
    """BLEU of greedy translations of held-out sources by sacrebleu's defaults, with its signature."""
    import sacrebleu

    from cutaway.tasks.texts.translate import sources_of
    from cutaway.tasks.texts.translator import translate

    sources = sources_of(run.task.validation, run.tokenizer, limit)
    most = max(len(one.references) for one in sources)
    references = [[one.references[i] if i < len(one.references) else None for one in sources] for i in range(most)]
    metric = sacrebleu.BLEU()
    found = metric.corpus_score(translate(run.model, run.tokenizer, [one.source for one in sources]), references)
    return f"{found.score:.1f}   {metric.get_signature()}"


def report(run: Any) -> None:
    recipe: Any = run.recipe
    pairs = run.task.parts
    assert pairs.validation is not None
    whole = next(row for row in run.metrics if row["split"] == "validation-whole")
    weights = sum(p.numel() for p in run.model.parameters())
    right = words_right(run.model, run.task.validation, run.tokenizer)
    rows = [
        (f"cutaway {recipe.name}, words right", f"{right:.3f}   ({weights / 1e6:.1f} million weights)"),
        ("Keras's example, words right (published)", "0.521   (20.0 million weights)"),
        ("tokens right, nats a token", f"{whole['accuracy']:.3f}   {whole['loss']:.3f}"),
        ("BLEU, exactly a reference (greedy)", f"{whole['bleu']:.1f}   {whole['exact']:.3f}"),
        ("BLEU by sacrebleu", sacre_bleu(run)),
        ("seconds of training", f"{max(row.get('seconds', 0.0) for row in run.metrics):.0f}"),
    ]
    show(f"spa-eng: {pairs.counts['validation']:,} held-out pairs, {recipe.steps:,} steps of {recipe.batch}", rows)


def steps_for(name: str, seconds: float, folder: Path) -> int:
    """How many steps a recipe takes in so much processor time, from the time of its first steps."""
    times = []
    for steps in (2, 10, 40):  # the first prepares the data and is not counted
        start = time.process_time()
        train(name, data=str(DATA), out=folder / f"{steps}", show="quiet", steps=steps, validation=0.0, warmup=1)
        times.append(time.process_time() - start)
    return int(30 * seconds / (times[2] - times[1]))


def main(name: str = "transformer", seconds: float = 0.0, **settings: Any) -> None:
    if not DATA.is_file():
        print(f"\nspa-eng: skipped, {DATA} is not there; set CUTAWAY_DATA")
        return
    with tempfile.TemporaryDirectory() as folder:
        steps = steps_for(name, seconds, Path(folder)) if seconds else STEPS
        start = time.process_time()
        run = train(name, data=str(DATA), out=Path(folder) / "run", show="quiet", **{"steps": steps} | settings)
        print(f"\n{name}: {time.process_time() - start:.0f} s of processor time, evaluations and report included")
        report(run)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?", default="transformer", choices=["transformer", "seq2seq"])
    parser.add_argument("--seconds", type=float, default=0.0)
    asked = parser.parse_args()
    main(asked.name, asked.seconds)
