r"""Tags of words by a trained model of text: what it makes of the first piece of a word says the word's tag.

    cost = mean −log p(tag) over the first pieces of words (`tagged_rows.py`)

With --head-only the body computes its features once (`TextFeatures`); training and evaluation both read them.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from cutaway.data.text.tagged_sentences import Tagged
from cutaway.overriding import override
from cutaway.tasks.subjects import Subject
from cutaway.tasks.texts.tag import WordTags, write_samples
from cutaway.tasks.texts.tag_metrics import Probabilities, whole_metrics
from cutaway.training.jobs import Job
from cutaway.tuning.batch_parts import sum_parts
from cutaway.tuning.head_learning import learn_head
from cutaway.tuning.label_heads import known_labels
from cutaway.tuning.labelled_rows import TextFeatures
from cutaway.tuning.learner import TunedLearner
from cutaway.tuning.settings import features_in_words
from cutaway.tuning.tagged_rows import (
    TaggedBatches,
    TaggedRows,
    TagRows,
    encode_tagged,
    tagged_cost,
    tagged_features,
    word_probabilities,
)
from cutaway.tuning.tuned_subjects import whole_text_subject


class TunedTags(TunedLearner):
    """A model of text with a head of tags for every token."""

    unit = "words"
    task: WordTags
    model: Any  # a model of text

    def encode(self, sentences: Sequence[Tagged]) -> TaggedRows:
        """Sentences as the model takes them."""
        most = min(self.settings.context, self.model.spec.context)
        return encode_tagged(self.tokenizer, sentences, self.task.lexicon.tag_ids, most)

    @override
    def fit_first(self) -> None:
        text = self.task.parts
        self.train = self.encode(text.train)
        self.validation = self.truth = None
        if text.validation is not None:
            self.validation, self.truth = self.encode(text.validation), self.task.encode(text.validation)
        self.features: list[TextFeatures | None] = [None, None]
        if self.settings.head_only:
            self.features = [
                None if rows is None else TextFeatures(self.model, rows.tokens, self.settings.features_memory)
                for rows in (self.train, self.validation)
            ]
        for kept in self.features:
            if kept is not None:
                kept.keep()

    @override
    def batches(self, rank: int, world: int) -> TaggedBatches:
        return TaggedBatches(self.train, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: TagRows) -> Tensor:
        return tagged_cost(model, batch, self.train, self.features[0])

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if self.validation is None or self.truth is None:
            return {}
        return self.task.metrics(word_probabilities(model, self.validation, self.features[1]), self.truth)

    def evaluate_whole(self, model: nn.Module) -> dict[str, float]:
        """What is said of validation at the end of a run: F1 too, and no share of errors."""
        if self.validation is None or self.truth is None:
            return {}
        return whole_metrics(word_probabilities(model, self.validation, self.features[1]), self.truth)

    @override
    def facts(self) -> dict[str, Any]:
        lines = [self.task.parts.summary()]
        if self.train.longer:
            lines.append(f"pieces: {self.train.longer:,} more than sentences, as some are longer than the context")
        if self.settings.head_only:
            lines.append(features_in_words(self.features, self.settings.features_memory))
        return {"summary": "\n".join(lines)}

    @override
    def task_job(self, rank: int, world: int) -> Job:
        job, settings = super().task_job(rank, world), self.settings
        assert self.start is not None
        shown = self.task.sentences_to_write()
        rows = self.encode(shown)
        job.whole = self.evaluate_whole
        job.units = max(1, settings.batch * int(self.train.words.sum()) // len(self.train))
        job.samples = lambda model: write_samples(word_probabilities(model, rows), self.task.lexicon, shown)
        if world == 1 and not settings.head_only:
            job.parts = sum_parts(self.model, self.train.tokens.lengths)
        if settings.fit_head and self.head_is_new:
            seen = self.features[0] or TextFeatures(self.model, self.train.tokens, settings.features_memory)
            known = known_labels(self.start.base.model.spec.head, self.model.spec.head)
            learn_head(job, settings, *tagged_features(seen, self.train), bool(known), world)
        return job

    def outputs(self, rows: Sequence[Tagged]) -> Probabilities:
        """p(tag | sentence) of every word of every sentence."""
        return word_probabilities(self.model, self.encode(rows))

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A sentence between the special tokens of the model."""
        sentence, about = self.task.sentence_to_show(given)
        return whole_text_subject(self.run, sentence if isinstance(sentence, str) else " ".join(sentence), about)
