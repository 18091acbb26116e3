r"""Texts with a label each, as a tuned model takes them: the cost of a batch, probabilities, metrics.

cost = mean −log softmax(model(tokens))_y
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.data.similar_lengths import by_length
from cutaway.data.text.token_rows import TokenRows
from cutaway.tasks.frozen_features import (
    KeptFeatures,
    Representation,
    features_in_memory,
    head_width,
    keep_features,
    represent_still,
)
from cutaway.waiting import doing

if TYPE_CHECKING:
    from cutaway.data.similar_lengths import SimilarLengths

_TEXTS = 64  # evaluated together


class TokenBatch(NamedTuple):
    """Tokens padded with 0, and which of them are real."""

    tokens: Int[Tensor, "b t"]
    mask: Bool[Tensor, "b t"]


@dataclass(frozen=True)
class LabelledRows:
    """Many texts as tokens, and the numbers of their labels."""

    tokens: TokenRows
    labels: Int[np.ndarray, "n"]

    def __len__(self) -> int:
        return len(self.labels)


def token_batch(tokens: TokenRows, rows: Int[np.ndarray, "b"], device: torch.device) -> TokenBatch:
    """Some texts side by side."""
    padded = torch.from_numpy(tokens.padded(rows)).to(device)
    lengths = torch.from_numpy(tokens.lengths[rows]).to(device)
    return TokenBatch(padded, torch.arange(padded.shape[1], device=device) < lengths[:, None])


def call(model: Any, batch: TokenBatch, **options: Any) -> Tensor:
    """The model's answer; without a mask where no token is padding."""
    return model(batch.tokens, **options if bool(batch.mask.all()) else options | {"mask": batch.mask})


Compute = Callable[[Int[np.ndarray, "b"]], Representation]


class TextFeatures:
    """What a head reads of some texts: kept if they fit into ``megabytes``, else computed again each time."""

    def __init__(self, model: Any, texts: TokenRows, megabytes: float) -> None:
        self.model, self.texts, self.lengths = model, texts, texts.lengths
        width, each = head_width(model, self.compute)
        vectors = int(texts.lengths.sum()) if each else len(texts)
        self.megabytes = features_in_memory(vectors, width)
        self.each = each
        self.kept: KeptFeatures | None = None
        self.fits = self.megabytes <= megabytes

    def keep(self) -> None:
        """Computes them, once, if they fit."""
        if self.fits and self.kept is None:
            lengths = self.texts.lengths if self.each else None
            with doing(f"computing the features of {len(self.texts):,} texts"):
                self.kept = keep_features(self.compute, by_length(self.lengths, _TEXTS), len(self.texts), lengths)

    def compute(self, rows: Int[np.ndarray, "b"]) -> Representation:
        batch = token_batch(self.texts, rows, next(self.model.parameters()).device)
        mask = None if bool(batch.mask.all()) else batch.mask
        values = represent_still(self.model, batch.tokens, mask=mask)
        return Representation(values, batch.mask if values.ndim == 3 else None)

    def __call__(self, rows: Int[np.ndarray, "b"]) -> Representation:
        return self.compute(rows) if self.kept is None else self.kept(rows)


def text_logits(model: Any, texts: LabelledRows, rows: Int[np.ndarray, "b"], features: TextFeatures | None) -> Tensor:
    """The logits of some texts, from their features where the body is frozen."""
    if features is not None:
        found = features(rows)
        return model.decide(found.values, found.mask)
    return call(model, token_batch(texts.tokens, rows, next(model.parameters()).device))


def text_cost(model: nn.Module, rows: Int[np.ndarray, "b"], texts: LabelledRows, features: Any = None) -> Tensor:
    """Mean of −log p(label | text) over a batch, in nats."""
    logits = text_logits(model, texts, rows, features).float()
    return nn.functional.cross_entropy(logits, torch.from_numpy(texts.labels[rows]).to(logits.device))


def label_probabilities(model: Any, texts: LabelledRows, features: TextFeatures | None = None) -> Any:
    """The probability of every label for any number of texts, (n, c)."""
    return label_logits(model, texts, features).softmax(-1).numpy()


@torch.no_grad()
def label_logits(model: Any, texts: LabelledRows, features: TextFeatures | None = None) -> Float[Tensor, "n c"]:
    """The logits of every label for any number of texts, in double precision."""
    found: Tensor | None = None
    for rows in by_length(texts.tokens.lengths, _TEXTS):
        logits = text_logits(model, texts, rows, features).double().cpu()
        found = logits.new_empty(len(texts), logits.shape[1]) if found is None else found
        found[torch.from_numpy(rows)] = logits
    assert found is not None
    return found


def padding_share(batches: "SimilarLengths") -> float:
    """The share of an epoch's tokens that are padding."""
    rows = [batches.whole(step) for step in range(batches.per_epoch)]
    room = sum(int(batches.lengths[one].max()) * len(one) for one in rows)
    return 1 - sum(int(batches.lengths[one].sum()) for one in rows) / room


__all__ = [
    "LabelledRows",
    "TextFeatures",
    "TokenBatch",
    "call",
    "label_logits",
    "label_probabilities",
    "padding_share",
    "text_cost",
    "token_batch",
]
