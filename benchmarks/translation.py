"""English to Spanish with the `transformer` recipe, on the pairs and for the steps of Keras's example.

Keras's "English-to-Spanish translation with a sequence-to-sequence Transformer" (F. Chollet 2021; in the repository
keras-team/keras-io, examples/nlp/md/neural_machine_translation_with_transformer.md) shows the log of one epoch, 1,302
steps of 64 pairs: 52.1 % of the words of held-out translations right, given the true words before, by a model of 20
million weights. It counts words of 15,000, lower-case and without punctuation, an unknown word being right if it is
taken for one, and its validation pairs are drawn at random, so that a sentence may be in both parts with another
translation. Ours are all words as they are written, right if all their tokens are, and no text is in two parts.
"""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from timing import show

from cutaway.data.text.token_rows import PAD, TokenPairs, every_pair
from cutaway.recipes.text.transformer import TransformerRecipe
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


def report(run: Any) -> None:
    recipe: TransformerRecipe = run.recipe
    pairs = recipe.dataset()
    assert pairs.validation is not None
    whole = next(row for row in run.metrics if row["split"] == "validation-whole")
    weights = sum(p.numel() for p in run.model.parameters())
    right = words_right(run.model, pairs.validation.within(recipe.context), pairs.tokenizer)
    rows = [
        ("cutaway transformer, words right", f"{right:.3f}   ({weights / 1e6:.1f} million weights)"),
        ("Keras's example, words right (published)", "0.521   (20.0 million weights)"),
        ("tokens right, nats a token", f"{whole['accuracy']:.3f}   {whole['loss']:.3f}"),
        ("BLEU, exactly a reference (greedy)", f"{whole['bleu']:.1f}   {whole['exact']:.3f}"),
        ("seconds of training", f"{max(row.get('seconds', 0.0) for row in run.metrics):.0f}"),
    ]
    show(f"spa-eng: {pairs.counts['validation']:,} held-out pairs, {recipe.steps:,} steps of {recipe.batch}", rows)


def main(**settings: Any) -> None:
    if not DATA.is_file():
        print(f"\nspa-eng: skipped, {DATA} is not there; set CUTAWAY_DATA")
        return
    with tempfile.TemporaryDirectory() as folder:
        report(
            train("transformer", data=str(DATA), out=Path(folder) / "run", show="quiet", **{"steps": STEPS} | settings)
        )


if __name__ == "__main__":
    main()
