r"""Vectors of texts by a trained model of text, in which texts that belong together are near.

    cost = mean −log softmax_j(20 cos(a_i, b_j))_i      each first text finds its second among all of the batch
    cost = mean (cos(a_i, b_i) − score_i)²              where pairs have scores

Henderson et al. 2017; Reimers and Gurevych 2019. sentence-transformers calls the costs MultipleNegativesRankingLoss and
CosineSimilarityLoss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.losses.contrastive import retrieval_loss
from cutaway.data.batches import ShuffledRows
from cutaway.data.labelled.text_pairs import PairRows
from cutaway.models.transformers.sentence_vectors import embed_rows, encode_texts, padded, sentence_vectors
from cutaway.overriding import override
from cutaway.tasks.subjects import Subject
from cutaway.tasks.texts.pairs import GivenPairs, MatchingTexts, text_places
from cutaway.tuning.bases import open_base
from cutaway.tuning.comparison import Answers, pair_answers, text_inputs
from cutaway.tuning.learner import TunedLearner
from cutaway.tuning.tuned_subjects import whole_text_subject


class TunedPairs(TunedLearner):
    """A model of text that makes one vector of a text."""

    unit = "pairs"
    task: MatchingTexts
    model: Any  # a model of text

    @override
    def fit_first(self) -> None:
        parts = self.task.parts
        self.train = EncodedPairs.of(self.model, parts.train)
        self.validation = None if parts.validation is None else EncodedPairs.of(self.model, parts.validation)

    @override
    def batches(self, rank: int, world: int) -> ShuffledRows:
        return ShuffledRows(len(self.train), self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Int[np.ndarray, "b"]) -> Tensor:
        return pair_cost(model, batch, self.train, self.settings.scale)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if self.validation is None or self.task.parts.validation is None:
            return {}
        return self.task.metrics(pair_vectors(model, self.validation), self.task.parts.validation)

    @override
    def facts(self) -> dict[str, Any]:
        lines = [self.task.parts.summary()]
        if self.train.cut:
            most = self.model.spec.sentence.context
            lines.append(f"cut: {self.train.cut:,} training texts are longer than {most} tokens")
        facts: dict[str, Any] = {"summary": "\n".join(lines)}
        if self.validation is not None:
            rule = "the base as it was before tuning"
            if self.validation.scores is None:  # the more there are to choose from, the harder it is
                rule += f", which chooses among the same {len(set(self.validation.places.tolist())):,} second texts"
            facts["baseline"] = {"rule": rule, "metrics": self.evaluate(self.model)}
        return facts

    # Verbs of a run.

    def measure(self, rows: PairRows, model: Any = None) -> dict[str, float]:
        """Metrics of some pairs."""
        model = self.model if model is None else model
        return self.task.metrics(pair_vectors(model, EncodedPairs.of(model, rows)), rows)

    def measure_base(self, rows: PairRows) -> dict[str, float]:
        """Metrics of the base as it was; {} if it was moved or deleted: the run needs it for the comparison alone."""
        try:
            before: Any = self.settings.headed(open_base(self.settings.base), self.task)
        except ValueError:
            return {}
        before.tokenizer = self.tokenizer
        return self.measure(rows, before)

    def outputs(self, rows: GivenPairs) -> list[float]:
        """The cosine of each pair."""
        a, b = (self.model.embed(texts) for texts in (rows.firsts, rows.seconds))
        return nn.functional.cosine_similarity(a, b).tolist()

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text between the special tokens of the model."""
        return whole_text_subject(self.run, *self.task.text_to_show(given))

    # Beside the base.

    @override
    def held_out_inputs(self) -> list[tuple[Any, ...]]:
        """Arguments of the model that it was not tuned on."""
        rows = self.task.parts.validation
        return [] if rows is None else text_inputs(self.model, rows.firsts)

    @override
    def answers_before_and_after(self, base: Any) -> Answers | None:
        """The second text that base and tuned model find nearest; None where pairs have scores."""
        rows = self.task.parts.validation
        return None if rows is None or rows.scores is not None else pair_answers(base, self.model, rows)


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs as tokens; ``places`` numbers different second texts, so that the same one is known again."""

    firsts: list[np.ndarray]
    seconds: list[np.ndarray]
    negatives: list[np.ndarray] | None
    scores: Float[np.ndarray, "n"] | None
    places: Int[np.ndarray, "n"]
    cut: int

    @classmethod
    def of(cls, model: Any, pairs: PairRows) -> "EncodedPairs":
        """Pairs by the tokenizer of a model."""
        firsts, cut = encode_texts(model, pairs.firsts)
        same = pairs.seconds == pairs.firsts  # texts without a partner
        seconds, more = (firsts, 0) if same else encode_texts(model, pairs.seconds)
        negatives = None if pairs.negatives is None else encode_texts(model, pairs.negatives)[0]
        return cls(firsts, seconds, negatives, pairs.scores, text_places(pairs.seconds), cut + more)

    def __len__(self) -> int:
        return len(self.firsts)


def vectors_of(model: Any, rows: Sequence[np.ndarray]) -> Float[Tensor, "b w"]:
    """The vectors of a batch, with gradients."""
    tokens, mask = padded(rows)
    device = next(model.parameters()).device
    return sentence_vectors(model, tokens.to(device), None if mask is None else mask.to(device))


def pair_cost(model: Any, rows: Int[np.ndarray, "b"], pairs: EncodedPairs, scale: float) -> Tensor:
    """The mean cost of a batch of pairs."""
    a = vectors_of(model, [pairs.firsts[i] for i in rows])
    b = vectors_of(model, [pairs.seconds[i] for i in rows])
    if pairs.scores is not None:
        cosine = nn.functional.cosine_similarity(a, b)
        return nn.functional.mse_loss(cosine, torch.from_numpy(pairs.scores[rows]).to(cosine))
    excluded = same_again(pairs.places[rows], a.device)
    if pairs.negatives is not None:
        b = torch.cat([b, vectors_of(model, [pairs.negatives[i] for i in rows])])
        excluded = nn.functional.pad(excluded, (0, len(rows)))
    return retrieval_loss(a, b, 1 / scale, excluded).mean()


def same_again(places: Int[np.ndarray, "b"], device: Any) -> Tensor:
    """Which second texts of a batch are those of another pair, once more: they are no wrong answers."""
    same = torch.from_numpy(places[:, None] == places[None, :])
    return same.fill_diagonal_(False).to(device)


def pair_vectors(model: Any, pairs: EncodedPairs) -> tuple[Float[Tensor, "n w"], Float[Tensor, "n w"]]:
    """The vectors of all first and all second texts."""
    return embed_rows(model, pairs.firsts).double().cpu(), embed_rows(model, pairs.seconds).double().cpu()
