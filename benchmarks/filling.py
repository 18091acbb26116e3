"""Filling gaps in held-out text: the `bert` recipe's default run beside what counts know, and transformers' BERT.

All see the same gaps of Python's documentation. "Unigram" always answers with the frequencies of tokens; "neighbours"
takes p(x | left) p(x | right) / p(x) from counts of the training text, smoothed as suits it best. The peer is
transformers' BertForMaskedLM of the same size on the same batches, trained with AdamW at the best of some rates.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from timing import show
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from cutaway.data.text.masking import MaskedBatch, every_masked_batch
from cutaway.recipes.texts.bert import BERTRecipe
from cutaway.runs.execution import train

PULLS = (10.0, 30.0, 100.0, 300.0)  # how many sightings the plain frequencies count as
RATES = (3e-4, 1e-3, 3e-3, 1e-2)


class Counts:
    """Frequencies of tokens, and of tokens beside each other."""

    def __init__(self, ids: np.ndarray, vocabulary: int, pull: float) -> None:
        self.p = (np.bincount(ids, minlength=vocabulary) + 0.5) / (len(ids) + 0.5 * vocabulary)
        pairs = np.zeros((vocabulary, vocabulary))
        np.add.at(pairs, (ids[:-1], ids[1:]), 1)
        after = pairs + pull * self.p
        before = pairs.T + pull * self.p
        self.after = after / after.sum(1, keepdims=True)  # p(x | left neighbour)
        self.before = before / before.sum(1, keepdims=True)  # p(x | right neighbour)

    def unigram(self, gaps: MaskedBatch) -> np.ndarray:
        return np.broadcast_to(self.p, (len(gaps.targets), len(self.p)))

    def neighbours(self, gaps: MaskedBatch, special: set[int]) -> np.ndarray:
        rows, places = np.nonzero(gaps.chosen)
        found = []
        for row, place in zip(rows, places):
            left, right = gaps.tokens[row, place - 1], gaps.tokens[row, place + 1]
            p = self.p.copy()
            p *= 1 if left in special else self.after[left] / self.p
            p *= 1 if right in special else self.before[right] / self.p
            found.append(p / p.sum())
        return np.stack(found)


def figures(chances: list[np.ndarray], held_out: list[MaskedBatch]) -> tuple[float, str]:
    """The loss of guesses, and it with their accuracy in words."""
    p, y = np.concatenate(chances), np.concatenate([gaps.targets for gaps in held_out])
    right, cost = (p.argmax(1) == y).mean(), -np.log(p[np.arange(len(y)), y]).mean()
    return float(cost), f"accuracy {right:.3f}   loss {cost:.3f}"


def peer(recipe: BERTRecipe, rate: float, held_out: list[MaskedBatch]) -> tuple[float, str, float]:
    """The loss and figures of transformers' BERT after as many steps on the same batches, and its seconds."""
    job = recipe.job()
    torch.manual_seed(recipe.seed)
    config = BertConfig(
        vocab_size=job.model.spec.vocabulary,
        hidden_size=recipe.width,
        num_hidden_layers=recipe.depth,
        num_attention_heads=recipe.heads,
        intermediate_size=4 * recipe.width,
        max_position_embeddings=recipe.context,
        hidden_dropout_prob=recipe.dropout,
        attention_probs_dropout_prob=recipe.dropout,
    )
    model = BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.01)
    started = time.perf_counter()
    for step in range(recipe.steps):
        share = min(1.0, (step + 1) / max(1, recipe.warmup)) * (1 - step / recipe.steps)
        optimizer.param_groups[0]["lr"] = rate * share
        gaps = job.batches.at(step)
        hidden = model.bert(torch.from_numpy(gaps.tokens)).last_hidden_state[torch.from_numpy(gaps.chosen)]
        nn.functional.cross_entropy(model.cls(hidden), torch.from_numpy(gaps.targets)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - started
    model.eval()
    chances = []
    with torch.no_grad():
        for gaps in held_out:
            logits = model(torch.from_numpy(gaps.tokens)).logits[torch.from_numpy(gaps.chosen)]
            chances.append(logits.softmax(-1).numpy())
    return *figures(chances, held_out), seconds


def main(**settings: int) -> None:
    recipe = BERTRecipe(**settings)  # type: ignore[arg-type]
    learner = recipe.build(recipe.read())
    corpus, how = learner.task.parts, learner.masking
    assert corpus.validation is not None
    held_out = list(every_masked_batch(corpus.validation, how, 32))
    ids = np.asarray(corpus.train[:]).astype(np.int64)
    counts = [Counts(ids, corpus.vocabulary, pull) for pull in PULLS]
    special = {how.special.start, how.special.end, how.special.mask}
    with tempfile.TemporaryDirectory() as folder:
        run = train(recipe, out=Path(folder) / "run", show="quiet")
        whole = next(row for row in run.metrics if row["split"] == "validation-whole")
        seconds = max(row.get("seconds", 0.0) for row in run.metrics)
    rows = [
        ("unigram", figures([counts[0].unigram(gaps) for gaps in held_out], held_out)[1]),
        (
            "neighbours",
            min(figures([one.neighbours(gaps, special) for gaps in held_out], held_out) for one in counts)[1],
        ),
        ("cutaway bert", f"accuracy {whole['accuracy']:.3f}   loss {whole['loss']:.3f}   {seconds:.0f} s"),
    ]
    (_, told, spent), rate = min((peer(recipe, rate, held_out), rate) for rate in RATES)
    rows.append(("transformers BertForMaskedLM", f"{told}   {spent:.0f} s   (rate {rate:g})"))
    count = sum(len(batch.targets) for batch in held_out)
    show(
        f"Masked tokens of held-out python-docs, {count:,} of them, {recipe.steps} steps",
        rows,
    )


if __name__ == "__main__":
    main()
