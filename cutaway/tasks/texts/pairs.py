r"""The task of matching texts: pairs that belong together, and how well a model's vectors tell it.

    recall@k    the share of first texts whose second is among the k nearest of all
    mrr         mean 1 / rank of the second
    spearman    the correlation of the ranks of cosines and scores, where pairs have scores

`cutaway tune BASE --task pairs` learns it by a trained model of text. Henderson et al. 2017; Reimers and Gurevych 2019.
"""

import os
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.labelled.text_pairs import PairRows, TextPairs, find_columns, first_row_as_pair, read_text_pairs
from cutaway.data.tables.text_tables import read_columns
from cutaway.overriding import override
from cutaway.tasks.task import Task
from cutaway.tasks.texts.equal_texts import TOGETHER, kept_together
from cutaway.tasks.texts.text_inputs import first_line, is_file

RECALLS = (1, 5, 10)


class GivenPairs(NamedTuple):
    """The texts of a table to compare, row by row, and the names of their columns."""

    columns: tuple[str, str]
    firsts: list[str]
    seconds: list[str]


class MatchingTexts(Task):
    """Pairs of texts with or without scores, or texts without a partner."""

    kind: ClassVar[str] = "texts/pairs"
    more_is_better = True
    parts: TextPairs

    @override
    @property
    def figure(self) -> str:  # type: ignore[override]
        """Scores are to be ranked; of other pairs the second is to be found."""
        return "mrr" if self.parts.train.scores is None else "spearman"

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that the settings name."""
        given = self.settings.columns
        return tuple(name.strip() for name in given.split(",")) if given else ()

    @override
    def read_parts(self) -> TextPairs:
        settings = self.settings
        if len(self.columns) > 3:
            raise ValueError(f"columns must name one to three columns, got {settings.columns!r}; try columns='a,b'")
        return read_text_pairs(
            settings.data,
            self.columns,
            settings.validation,
            settings.test,
            settings.seed,
            settings.encoding,
            kept_together(self.run),
        )

    @override
    def facts(self) -> dict[str, Any]:
        return super().facts() | {TOGETHER: True}

    def metrics(self, vectors: tuple[Tensor, Tensor], rows: PairRows) -> dict[str, float]:
        """The cost over all pairs as one batch, and how well seconds are found, or scores are ranked."""
        return pair_metrics(*vectors, rows, self.settings.scale)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside those of the base as it was before tuning, if it is still there."""
        rows = self.parts.open_test()
        naive = learner.measure_base(rows)
        return learner.measure(rows) | {f"baseline_{name}": value for name, value in naive.items()}

    # What a person gives, and what they get.

    def inputs(self, source: Any) -> GivenPairs:
        """The pairs of a table: a path, a DataFrame, a dict of columns."""
        if isinstance(source, (str, os.PathLike)) and not is_file(os.fspath(source)):
            raise ValueError(
                f"pairs to compare come in a table, got {os.fspath(source)!r}, which is no file; give the path of one, "
                "in Python also a DataFrame or a dict of two columns"
            )
        table = first_row_as_pair(read_columns(source, self.settings.encoding), source)
        first, second, *_ = find_columns(list(table), self.columns[:2] if len(self.columns) > 1 else ())
        if not second:
            raise ValueError(f"pairs need two columns of texts, got {first!r} alone; add the texts to compare with")
        return GivenPairs((first, second), table[first], table[second])

    def answers(self, cosines: Sequence[float], given: GivenPairs) -> list[dict[str, Any]]:
        """Each pair and the cosine of its vectors."""
        first, second = given.columns
        return [
            {first: x, second: y, "cosine": cosine}
            for x, y, cosine in zip(given.firsts, given.seconds, cosines, strict=True)
        ]

    def text_to_show(self, given: str | None) -> tuple[str, str]:
        """A text for a look, and what it is: yours, else one that the model was not trained on."""
        if given is not None:
            return first_line(given, self.settings.encoding), "your text"
        if self.parts.validation is None:
            return self.parts.train.firsts[0], "a text that it was trained on"
        return self.parts.validation.firsts[0], "a text that it was not trained on"


def text_places(texts: Sequence[str]) -> Int[np.ndarray, "n"]:
    """A number for each different text, so that the same one is known again.

    >>> text_places(["a", "b", "a"]).tolist()
    [0, 1, 0]
    """
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in texts], np.int64)


def pair_metrics(a: Float[Tensor, "n w"], b: Float[Tensor, "n w"], rows: PairRows, scale: float) -> dict[str, float]:
    """The cost of the vectors of first and second texts as one batch, and how well seconds are found, or ranked."""
    if rows.scores is not None:
        cosine = nn.functional.cosine_similarity(a, b).numpy()
        loss = float(np.mean((cosine - rows.scores) ** 2))
        return {"loss": loss, "spearman": spearman(cosine, rows.scores)}
    places = text_places(rows.seconds)
    _, first = np.unique(places, return_index=True)
    found = nn.functional.normalize(a, dim=1) @ nn.functional.normalize(b[first], dim=1).T
    own = torch.from_numpy(np.searchsorted(places[first], places))
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
