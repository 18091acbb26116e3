r"""The learner of `wordvectors` (word2vec): chunks of text, steps, and how the loss is measured.

    CBOW          guesses a word from the mean of its context
    skip-gram     guesses a word from one word of its context

By negative sampling the steps are those of block_steps.py. Other output layers learn by autograd and AdamW, from the
same windows. Either way the loss is the objective's own: mean over words (CBOW) or pairs of words (skip-gram).
Mikolov et al. 2013.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import Stretch, WindowDraws, WordChunk, WordPasses
from cutaway.models.words.word_vectors import WordVectors, WordVectorsSpec
from cutaway.overriding import override
from cutaway.tasks.words.block_steps import BlockSteps, Method
from cutaway.tasks.words.vector_table import VectorTable
from cutaway.tasks.words.vectors import WordsInContext
from cutaway.training.jobs import Job

_AT_ONCE = 2048  # examples of an evaluation


class Examples(NamedTuple):
    """Contexts (words, padded) with a mask of their real words, and the word that is to be guessed from each."""

    contexts: Tensor
    mask: Tensor
    targets: Tensor


class Word2Vec(VectorTable):
    """CBOW or skip-gram on the words of a task."""

    unit = "words"
    task: WordsInContext

    @classmethod
    def new(cls, settings: Any, task: WordsInContext) -> "Word2Vec":
        """Untrained vectors of the words of a task."""
        data = task.parts
        torch.manual_seed(settings.seed)
        spec = WordVectorsSpec(
            vocabulary=len(data.words),
            width=settings.width,
            context=settings.context if settings.method == "cbow" else "sum",
            output=settings.output,
            samples=settings.negatives,
            buckets=settings.subwords,
        )
        return cls(settings, task, WordVectors.of_words(spec, data.words, torch.from_numpy(data.counts)))

    @property
    def skip_gram(self) -> bool:
        return self.settings.method == "skip-gram"

    @override
    def fit_first(self) -> None:
        """Draws windows; nothing is fitted."""
        data, settings = self.task.parts, self.settings
        self.draws = WindowDraws(data.train, data.counts, settings.window, settings.sample, settings.seed)
        method = Method(self.skip_gram, settings.context == "mean", settings.negatives)
        self.steps = BlockSteps(self.draws, method, settings.batch)

    @override
    def batches(self, rank: int, world: int) -> WordPasses:
        settings = self.settings
        return WordPasses(len(self.task.parts.train), settings.passes, settings.steps, settings.seed, rank, world)

    def update(self, model: nn.Module, chunk: WordChunk, share: float) -> dict[str, float]:
        """Steps of negative sampling over a chunk, without autograd."""
        assert isinstance(model, WordVectors)
        rate = self.settings.rate * share
        return {"loss": self.steps(model, chunk, rate), "rate": rate}

    @override
    def cost(self, model: nn.Module, chunk: WordChunk) -> Tensor:
        return guess_cost(model, self.draws, chunk, self.skip_gram)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        data = self.task.parts
        return own_loss(model, data.validation, data.counts, self.settings, self.settings.evaluate_words)

    def evaluate_whole(self, model: nn.Module) -> dict[str, float]:
        """What is said of validation at the end of a run: all of it, and the scores."""
        assert isinstance(model, WordVectors)
        data = self.task.parts
        loss = own_loss(model, data.validation, data.counts, self.settings)
        return loss | self.task.scores(data.words, model.vectors().detach().cpu().numpy())

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, data = super().job(rank, world), self.task.parts
        passes: Any = job.batches
        job.whole = self.evaluate_whole
        job.units = round(passes.total / passes.steps * (data.raw["train"] / len(data.train)))
        job.update = self.update if self.settings.output == "negative" else None
        return job

    def loss(self, tokens: Tokens | None) -> dict[str, float]:
        """The objective's mean loss over a text."""
        return own_loss(self.model, tokens, self.task.parts.counts, self.settings)


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
    model: Any, tokens: Tokens | None, counts: np.ndarray, settings: Any, limit: int | None = None
) -> dict[str, float]:
    """The objective's mean loss over a text: all its words, windows and negatives drawn the same each time."""
    if tokens is None or len(tokens) < 2:
        return {}
    draws = WindowDraws(tokens, counts, settings.window, settings.sample, seed=0)
    generator = torch.Generator().manual_seed(0)
    end = len(tokens) if limit is None else min(limit, len(tokens))
    total, count = 0.0, 0
    with torch.no_grad():
        for stretch in draws.stretches(WordChunk(0, end)):
            for part in examples_of(stretch, settings.window, settings.method == "skip-gram"):
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
