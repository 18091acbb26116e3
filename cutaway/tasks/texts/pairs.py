r"""Pairs of texts as a tuned model takes them: the cost of a batch, and how well the model finds what belongs together.

    cost = mean −log softmax_j(20 cos(a_i, b_j))_i      each first text finds its second among all of the batch
    cost = mean (cos(a_i, b_i) − score_i)²              where pairs have scores

    recall@k    the share of first texts whose second is among the k nearest of all
    mrr         mean 1 / rank of the second
    spearman    the correlation of the ranks of cosines and scores

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
from cutaway.data.labelled.text_pairs import PairRows
from cutaway.models.transformers.sentence_vectors import embed_rows, encode_texts, padded, sentence_vectors

RECALLS = (1, 5, 10)


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
        known: dict[str, int] = {}
        places = np.array([known.setdefault(text, len(known)) for text in pairs.seconds], np.int64)
        return cls(firsts, seconds, negatives, pairs.scores, places, cut + more)

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


def pair_metrics(model: Any, pairs: EncodedPairs, scale: float) -> dict[str, float]:
    """The cost over all pairs as one batch, and how well seconds are found, or scores are ranked."""
    a, b = embed_rows(model, pairs.firsts).double().cpu(), embed_rows(model, pairs.seconds).double().cpu()
    if pairs.scores is not None:
        cosine = nn.functional.cosine_similarity(a, b).numpy()
        loss = float(np.mean((cosine - pairs.scores) ** 2))
        return {"loss": loss, "spearman": spearman(cosine, pairs.scores)}
    _, first = np.unique(pairs.places, return_index=True)
    found = nn.functional.normalize(a, dim=1) @ nn.functional.normalize(b[first], dim=1).T
    own = torch.from_numpy(np.searchsorted(pairs.places[first], pairs.places))
    return {"loss": float(nn.functional.cross_entropy(scale * found, own))} | ranking(found, own)


def ranking(scores: Float[Tensor, "n m"], own: Int[Tensor, "n"]) -> dict[str, float]:
    """recall@k and mean reciprocal rank of each row's own column; one that is as high as another ranks behind it.

    >>> ranking(torch.tensor([[0.9, 0.1], [0.8, 0.2]]), torch.tensor([0, 1]))["mrr"]
    0.75
    """
    mine = scores.gather(1, own[:, None])
    rank = (scores >= mine).sum(1).clamp(min=1).double()
    return {f"recall@{k}": float((rank <= k).double().mean()) for k in RECALLS} | {"mrr": float((1 / rank).mean())}


def spearman(x: Float[np.ndarray, "n"], y: Float[np.ndarray, "n"]) -> float:
    """The correlation of ranks, equal values sharing their mean rank; 0 if all of one are equal."""
    ranks = [_ranks(np.asarray(values, float)) for values in (x, y)]
    if min(rank.std() for rank in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(x: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]


__all__ = ["EncodedPairs", "pair_cost", "pair_metrics", "ranking", "spearman"]
