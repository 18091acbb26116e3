r"""The learner of the recipe `tagger`: a bidirectional LSTM reads words by vector, letters, affixes and shape.

    cost = −mean log p(tag_t | sentence)        over the words that have a tag

A word that training has n times is hidden with chance a / (a + n), so that unknown ones are learned too. Kiperwasser,
Goldberg 2016.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import NO_TAG, EncodedSentences, TagBatch, TagBatches, every_sentence
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.models.sequences.tagger import Tagger, TaggerInput
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.tasks.texts.tag import WordTags, untagged, write_samples
from cutaway.tasks.texts.tag_metrics import Probabilities, whole_metrics
from cutaway.training.jobs import Job


class WordTagger(Learner):
    """A `Tagger`, which takes sentences as the lexicon of its task encodes them."""

    unit = "words"
    task: WordTags
    model: Tagger

    @classmethod
    def new(cls, settings: Any, task: WordTags) -> "WordTagger":
        """An untrained model for the words and tags of a task, with the vectors that were given."""
        vectors = task.vectors
        torch.manual_seed(settings.seed)
        model = Tagger(settings.spec(task.lexicon, vectors.matrix.shape[1] if vectors else 0))
        if vectors:
            model.set_vectors(torch.from_numpy(vectors.matrix))
        return cls(settings, task, model)

    @override
    def fit_first(self) -> None:
        text = self.task.parts
        self.train = self.task.encode(text.train, self.settings.hide)
        self.validation = None if text.validation is None else self.task.encode(text.validation)

    @property
    def batch(self) -> int:
        """Sentences in a batch: not more than there are."""
        return min(self.settings.batch, len(self.task.parts.train))

    @override
    def batches(self, rank: int, world: int) -> TagBatches:
        return TagBatches(self.train, self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: TagBatch) -> Tensor:
        return tag_cost(model, batch)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if self.validation is None:
            return {}
        return self.task.metrics(tag_probabilities(model, self.validation), self.validation)

    def evaluate_whole(self, model: nn.Module) -> dict[str, float]:
        """What is said of validation at the end of a run: F1 too, and no share of errors."""
        if self.validation is None:
            return {}
        return whole_metrics(tag_probabilities(model, self.validation), self.validation)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        shown = self.task.sentences_to_write()
        encoded = self.task.encode(shown)
        job.whole = self.evaluate_whole
        job.units = max(1, self.batch * len(self.train.types) // len(self.train))
        job.samples = lambda model: write_samples(tag_probabilities(model, encoded), self.task.lexicon, shown)
        return job

    def outputs(self, rows: Sequence[Tagged]) -> Probabilities:
        """p(tag | sentence) of every word of every sentence."""
        return tag_probabilities(self.model, self.task.encode(rows))

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A sentence to look at, cut to what a page can show."""
        sentence, about = self.task.sentence_to_show(given)
        words = self.task.split(sentence) if isinstance(sentence, str) else sentence
        if not words:
            raise ValueError("a sentence to look at must have a word, got none; give it some")
        if len(words) > SHOWN:
            about = f"the first {SHOWN} of {len(words):,} words of {about}"
        shown = tuple(words[:SHOWN])
        inputs = sentence_input(shown, self.task.lexicon, next(self.model.parameters()).device)
        return Subject((inputs,), about, shown, " ".join(shown))


def as_input(batch: TagBatch, device: torch.device) -> TaggerInput:
    """A batch as the model takes it."""
    return TaggerInput(*(torch.from_numpy(getattr(batch, name)).to(device) for name in TaggerInput._fields))


def sentence_input(words: Sequence[str], lexicon: Lexicon, device: torch.device) -> TaggerInput:
    """One sentence as the model takes it."""
    return as_input(EncodedSentences([untagged(words)], lexicon).batch(np.array([0])), device)


def tag_cost(model: nn.Module, batch: TagBatch) -> Tensor:
    """−mean log p(tag) in nats, in training with some words hidden."""
    device = next(model.parameters()).device
    inputs = as_input(batch, device)
    if model.training:
        hidden = torch.rand(batch.hide.shape, device=device) < torch.from_numpy(batch.hide).to(device)
        inputs = inputs._replace(words=inputs.words.masked_fill(hidden, 0))
    logits = model(inputs).flatten(0, 1).float()
    tags = torch.from_numpy(batch.tags).to(device).flatten()
    return nn.functional.cross_entropy(logits, tags, ignore_index=NO_TAG, reduction="sum") / max(batch.each, 1.0)


@torch.no_grad()
def tag_probabilities(model: nn.Module, sentences: EncodedSentences) -> Probabilities:
    """p(tag | sentence) of every word of every sentence."""
    device = next(model.parameters()).device
    found: list[Any] = [None] * len(sentences)
    for rows, batch in every_sentence(sentences):
        p = model(as_input(batch, device)).float().softmax(-1).cpu().numpy()
        for row, length, own in zip(rows.tolist(), batch.lengths.tolist(), p, strict=True):
            found[row] = own[:length]
    return found
