r"""The job of `wordvectors`: its model, its chunks of text, its steps, and how its loss is measured.

By negative sampling the steps are those of block_steps.py. Other output layers learn by autograd and AdamW, from the
same windows. Either way the loss is the objective's own: mean over words (CBOW) or pairs of words (skip-gram).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import Stretch, WindowDraws, WordChunk, WordPasses
from cutaway.data.words.word_streams import WordCorpus, write_counted_words
from cutaway.data.words.word_tests import Analogy, RatedPair, read_analogies, read_rated_pairs
from cutaway.models.words.word_vectors import WordVectors, WordVectorsSpec
from cutaway.recipes.words.vector_runs import WORDS
from cutaway.tasks.words.block_steps import BlockSteps, Method
from cutaway.tasks.words.word_scores import analogies, similarity
from cutaway.training.jobs import Job

if TYPE_CHECKING:
    from cutaway.recipes.words.wordvectors import WordVectorsRecipe

_AT_ONCE = 2048  # examples of an evaluation


class Examples(NamedTuple):
    """Contexts (words, padded) with a mask of their real words, and the word that is to be guessed from each."""

    contexts: Tensor
    mask: Tensor
    targets: Tensor


def word_job(recipe: "WordVectorsRecipe", rank: int = 0, world: int = 1) -> Job:
    """Data, model and objective of a run."""
    data, tests = recipe.dataset(), word_tests(recipe)
    torch.manual_seed(recipe.seed)
    spec = WordVectorsSpec(
        vocabulary=len(data.words),
        width=recipe.width,
        context=recipe.context if recipe.method == "cbow" else "sum",
        output=recipe.output,
        samples=recipe.negatives,
        buckets=recipe.subwords,
    )
    model = WordVectors.of_words(spec, data.words, torch.from_numpy(data.counts))
    draws = WindowDraws(data.train, data.counts, recipe.window, recipe.sample, recipe.seed)
    passes = WordPasses(len(data.train), recipe.passes, recipe.steps, recipe.seed, rank, world)
    skip_gram = recipe.method == "skip-gram"
    steps = BlockSteps(draws, Method(skip_gram, recipe.context == "mean", recipe.negatives), recipe.batch)

    def update(model: nn.Module, chunk: WordChunk, share: float) -> dict[str, float]:
        assert isinstance(model, WordVectors)
        return {"loss": steps(model, chunk, recipe.rate * share), "rate": recipe.rate * share}

    def objective(model: nn.Module, chunk: WordChunk) -> Tensor:
        return guess_cost(model, draws, chunk, skip_gram)

    def evaluate(model: nn.Module, limit: int | None = recipe.evaluate_words) -> dict[str, float]:
        return own_loss(model, data.validation, data.counts, recipe, limit)

    def whole(model: nn.Module) -> dict[str, float]:
        assert isinstance(model, WordVectors)
        return evaluate(model, None) | word_scores(data.words, model.vectors().detach().cpu().numpy(), tests)

    raw = data.raw["train"] / len(data.train)
    return Job(
        model=model,
        batches=passes,
        objective=objective,
        evaluate=evaluate,
        units=round(passes.total / passes.steps * raw),
        unit="words",
        files={WORDS: lambda path: write_counted_words(path, data.words, data.counts.tolist())},
        data=_facts(data, recipe),
        whole=whole,
        update=update if recipe.output == "negative" else None,
    )


def guess_cost(model: Any, draws: WindowDraws, chunk: WordChunk, skip_gram: bool) -> Tensor:
    """The mean loss of the output layer over the windows of a chunk."""
    losses, count = [], 0
    for stretch in draws.stretches(chunk):
        for part in examples_of(stretch, draws.window, skip_gram):
            found = model.output.losses(model.encode(part.contexts, part.mask), part.targets)
            losses.append(found.sum())
            count += len(found)
    if not losses:
        return model.embed.weight.sum() * 0.0
    return torch.stack(losses).sum() / count


def own_loss(
    model: Any, tokens: Tokens | None, counts: np.ndarray, recipe: "WordVectorsRecipe", limit: int | None = None
) -> dict[str, float]:
    """The objective's mean loss over a text: all its words, windows and negatives drawn the same each time."""
    if tokens is None or len(tokens) < 2:
        return {}
    draws = WindowDraws(tokens, counts, recipe.window, recipe.sample, seed=0)
    generator = torch.Generator().manual_seed(0)
    end = len(tokens) if limit is None else min(limit, len(tokens))
    total, count = 0.0, 0
    with torch.no_grad():
        for stretch in draws.stretches(WordChunk(0, end)):
            for part in examples_of(stretch, recipe.window, recipe.method == "skip-gram"):
                found = model.output.losses(model.encode(part.contexts, part.mask), part.targets, generator)
                total, count = total + float(found.double().sum()), count + len(found)
    return {"loss": total / count} if count else {}


def examples_of(stretch: Stretch, window: int, skip_gram: bool) -> "list[Examples]":
    """What a stretch gives to learn from: a word with its context, or (skip-gram) with each word of it."""
    n = len(stretch.words)
    offsets = np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
    places = np.arange(n)[:, None] + offsets
    left, right = stretch.sides()
    mask = (offsets >= -left[:, None]) & (offsets <= right[:, None])
    contexts = stretch.words[np.where(mask, places, 0)] if n else np.zeros((0, 2 * window), np.int64)
    targets = stretch.words
    if skip_gram:
        targets, contexts = np.repeat(targets, mask.sum(1)), contexts[mask][:, None]
        mask = np.ones_like(contexts, bool)
    else:
        real = mask.any(1)
        contexts, targets, mask = contexts[real], targets[real], mask[real]
    whole = Examples(*(torch.from_numpy(np.ascontiguousarray(part)) for part in (contexts, mask, targets)))
    return [Examples(*parts) for parts in zip(*(part.split(_AT_ONCE) for part in whole))] if len(targets) else []


def _facts(data: WordCorpus, recipe: "WordVectorsRecipe") -> dict[str, Any]:
    facts = {"summary": data.summary(), "fingerprint": data.fingerprint.to_dict(), "source": recipe.data}
    baseline = frequency_baseline(data.validation, data.counts, recipe)
    return facts | ({"baseline": baseline} if baseline else {})


def frequency_baseline(tokens: Tokens | None, counts: np.ndarray, recipe: "WordVectorsRecipe") -> dict[str, Any]:
    r"""The loss of guessing each word by its frequency alone, whatever stands around it.

    full, hierarchical    −log p_w
    negative sampling     b_w = log p_w − log q_w − log k, the best score of a word that does not depend on z
                          −log σ(b_w) − k Σ_v q_v log σ(−b_v)
    """
    if tokens is None or len(tokens) < 2 or recipe.output in ("sampled", "nce"):
        return {}
    draws = WindowDraws(tokens, counts, recipe.window, recipe.sample, seed=0)
    seen = np.bincount(
        np.concatenate([s.words for s in draws.stretches(WordChunk(0, len(tokens)))]), minlength=len(counts)
    )
    thinned = counts * WindowDraws(tokens, counts, 1, recipe.sample).keep
    p = thinned / thinned.sum()
    if recipe.output == "negative":
        q = counts**0.75 / (counts**0.75).sum()
        b, k = np.log(p / q / recipe.negatives), recipe.negatives
        losses = np.logaddexp(0, -b) + k * (q * np.logaddexp(0, b)).sum()
    else:
        losses = -np.log(p)
    rule = "each word by its frequency, whatever stands around it"
    return {"rule": rule, "metrics": {"loss": float((seen * losses).sum() / max(seen.sum(), 1))}}


class WordTests(NamedTuple):
    """Rated pairs of words and analogies, of the recipe's files; None where none is given."""

    pairs: "list[RatedPair] | None"
    questions: "list[Analogy] | None"


def word_tests(recipe: "WordVectorsRecipe") -> WordTests:
    return WordTests(
        read_rated_pairs(recipe.similarity) if recipe.similarity else None,
        read_analogies(recipe.analogies) if recipe.analogies else None,
    )


def word_scores(words: Sequence[str], matrix: np.ndarray, tests: WordTests) -> dict[str, float]:
    """Similarity and analogies, with how many pairs and questions had vectors."""
    found: dict[str, float] = {}
    if tests.pairs is not None:
        alike = similarity(words, matrix, tests.pairs)
        found |= {"similarity": alike.correlation, "similarity_pairs": alike.pairs}
    if tests.questions is not None:
        solved = analogies(words, matrix, tests.questions)
        found |= {"analogies": solved.accuracy, "analogy_questions": solved.questions}
    return found


__all__ = [
    "Examples",
    "WordTests",
    "examples_of",
    "frequency_baseline",
    "guess_cost",
    "own_loss",
    "word_job",
    "word_scores",
    "word_tests",
]
