r"""Classes of texts by a trained model of text: one vector is pooled of what it makes of the tokens, and scored.

    cost = mean −log softmax(model(tokens))_y

With --head-only the body computes its features once (`TextFeatures`); training and evaluation both read them.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.data.similar_lengths import SimilarLengths
from cutaway.data.text.whole_texts import encode_whole_texts
from cutaway.overriding import override
from cutaway.tasks.subjects import Subject, text_subject
from cutaway.tasks.texts.classify import TextClasses
from cutaway.training.jobs import Job
from cutaway.tuning.batch_parts import mean_parts
from cutaway.tuning.comparison import Answers, class_answers, same_labels, text_inputs
from cutaway.tuning.head_learning import calibrate, learn_head
from cutaway.tuning.label_heads import known_labels
from cutaway.tuning.labelled_rows import (
    LabelledRows,
    TextFeatures,
    label_logits,
    label_probabilities,
    padding_share,
    text_cost,
)
from cutaway.tuning.learner import TunedLearner
from cutaway.tuning.settings import features_in_words

_COMPARED = 400  # texts that base and tuned model both answer


class TunedTextClasses(TunedLearner):
    """A model of text with a head of labels."""

    unit = "texts"
    task: TextClasses

    def encode(self, rows: TextRows, model: Any = None) -> tuple[LabelledRows, int]:
        """Texts as the model takes them, and how many were cut."""
        model = self.model if model is None else model
        most = min(self.settings.context, model.spec.context)
        encoded = encode_whole_texts(self.tokenizer, rows.texts, most)
        return LabelledRows(encoded.tokens, rows.labels), encoded.cut

    @override
    def fit_first(self) -> None:
        parts = self.task.parts
        self.train, self.cut = self.encode(parts.train)
        self.validation = None if parts.validation is None else self.encode(parts.validation)[0]
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
    def batches(self, rank: int, world: int) -> SimilarLengths:
        return SimilarLengths(self.train.tokens.lengths, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Int[np.ndarray, "b"]) -> Tensor:
        return text_cost(model, batch, self.train, self.features[0])

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if self.validation is None or self.task.parts.validation is None:
            return {}
        p = label_probabilities(model, self.validation, self.features[1])
        return self.task.metrics(p, self.task.parts.validation)

    @override
    def facts(self) -> dict[str, Any]:
        settings = self.settings
        lines = [self.task.parts.summary(), f"padding: {padding_share(self.batches(0, 1)):.1%} of an epoch's tokens"]
        if self.cut:
            most = min(settings.context, self.model.spec.context)
            lines.append(
                f"cut: {self.cut:,} of {len(self.train):,} training texts are longer than the context of {most} tokens"
            )
        if settings.head_only:
            lines.append(features_in_words(self.features, settings.features_memory))
        return {"summary": "\n".join(lines)}

    @override
    def task_job(self, rank: int, world: int) -> Job:
        job, settings = super().task_job(rank, world), self.settings
        assert self.start is not None
        if world == 1 and not settings.head_only:
            job.parts = mean_parts(self.model, self.train.tokens.lengths)
        if settings.calibrate and self.validation is not None and world == 1:  # shards of weights cannot be divided
            job.calibrate = lambda model: calibrate(model, self._scores)
        if settings.fit_head and self.head_is_new:
            seen = self.features[0] or TextFeatures(self.model, self.train.tokens, settings.features_memory)
            known = known_labels(self.start.base.model.spec.head, self.model.spec.head)
            learn_head(job, settings, seen, self.train.labels, bool(known), world)
        return job

    def _scores(self, model: Any) -> tuple[Tensor, Tensor]:
        assert self.validation is not None
        logits = label_logits(model, self.validation, self.features[1])
        return logits, torch.from_numpy(self.validation.labels)

    def outputs(self, rows: TextRows) -> Float[np.ndarray, "n c"]:
        """P(label) of some texts."""
        return label_probabilities(self.model, self.encode(rows)[0])

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text between the special tokens of the model."""
        text, words = self.task.text_to_show(given, self)
        ids = encode_whole_texts(self.tokenizer, [text], self.model.spec.context).tokens[0]
        return text_subject(self.run, ids, words)

    # Beside the base.

    @override
    def held_out_inputs(self) -> list[tuple[Any, ...]]:
        """Arguments of the model that it was not tuned on."""
        rows = self.task.parts.validation
        return [] if rows is None else text_inputs(self.model, rows.texts)

    @override
    def answers_before_and_after(self, base: Any) -> Answers | None:
        """What the base and the tuned model answer to held-out texts."""
        data = self.task.parts
        if data.validation is None:
            return None
        some = TextRows(data.validation.texts[:_COMPARED], data.validation.labels[:_COMPARED])
        own = None
        if same_labels(base, data.labels):
            order = [data.labels.index(label) for label in base.spec.head.labels]
            own = np.array(order)[label_probabilities(base, self.encode(some, base)[0]).argmax(1)]
        return class_answers(base, data, self.outputs(some).argmax(1), own)
