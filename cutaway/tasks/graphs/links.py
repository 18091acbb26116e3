r"""The task of finding links between vertices; of signed links, of telling two kinds apart: friend and foe.

    loss = mean over pairs of −log σ(±score(u, v))       + for edges, − for as many pairs without one

The pairs without an edge are drawn anew for every step of training, and once for validation and test. Of signed links
the pairs are the edges themselves, and the sign is asked for. Metrics: AUC, average precision and hits@k.
"""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.graphs.graph_data import GraphData
from cutaway.data.graphs.link_splits import LinkSplit, PairDraws, Pairs, split_labelled, split_links
from cutaway.overriding import override
from cutaway.tasks.graphs.link_baselines import LinkRules
from cutaway.tasks.graphs.pairs import PairTask, signed_graph
from cutaway.tasks.graphs.ranking_metrics import HITS, hits_rank, ranking_metrics

SIGNS = ("negative", "positive")  # kinds of edges that weights tell
_RULES = {
    "majority": "the more frequent sign, always",
    "balance": "the sign of what is between: friends of friends",
    "popularity": "how many links the two have already, multiplied",
    "shared taste": "paths of three steps: what those like who like what you like",
    "common neighbours": "how many neighbours two vertices share",
    "Adamic–Adar": "the same, rare neighbours counting more",
}


class Links(PairTask):
    """A graph whose links are to be found, or whose edges of two kinds are to be told apart.

    Of two kinds, ``classes`` has the names, and the second has weights above 0.
    """

    kind: ClassVar[str] = "graphs/links"
    scale = None

    @cached_property
    def whole(self) -> Graph:
        """All edges; those of two kinds have the weights −1 and 1."""
        return edge_kinds(self.parts, self.settings.task)[0]

    @override
    @cached_property
    def classes(self) -> tuple[str, ...]:
        return edge_kinds(self.parts, self.settings.task)[1]

    @override
    @property
    def target(self) -> str:
        return self.parts.edge_target if self.classes else ""

    @property
    def signed(self) -> bool:
        """Whether edges have two kinds."""
        return bool(self.classes)

    @override
    @cached_property
    def split(self) -> LinkSplit:
        settings, edges = self.settings, self.whole.edges.numpy()
        shares = settings.validation, settings.test, settings.seed
        if self.signed:
            return split_labelled(edges, self._kind_of_edges(), *shares)
        return split_links(edges, self.whole.vertices, *shares)

    def _kind_of_edges(self) -> np.ndarray:
        """1 for edges of the second kind, else 0."""
        assert self.whole.weights is not None
        return (self.whole.weights.numpy() > 0).astype(np.int64)

    @override
    @cached_property
    def known(self) -> Pairs:
        train = self.split.train
        targets = self._kind_of_edges()[train] if self.signed else np.ones(int(train.sum()), np.int64)
        return Pairs(self.whole.edges.numpy()[:, train], targets)

    @override
    @cached_property
    def graph(self) -> Graph:
        return self.features.apply(self.whole).without_edges(torch.from_numpy(~self.split.train))

    @cached_property
    def bipartite(self) -> bool:
        """Whether links lead from one kind of vertex to another, as from people to films."""
        return not self.signed and PairDraws(self.whole.edges.numpy(), self.whole.vertices).bipartite

    @override
    @cached_property
    def draws(self) -> PairDraws | None:  # type: ignore[override]
        """Training must not know which of its negatives are edges of validation and test."""
        return None if self.signed else PairDraws(self.known.pairs, self.whole.vertices, self.settings.seed)

    @override
    def model_settings(self) -> dict[str, Any]:
        return {"signed": self.signed}

    @override
    def pairs_in_words(self) -> str:
        parts = (("training", self.known), ("validation", self.split.validation), ("test", self.split.test))
        counts = ", ".join(
            f"{name} {int(part.targets.sum()) if not self.signed else len(part):,}" for name, part in parts
        )
        if self.signed:
            share = self.known.targets.mean()
            return f"edges of two kinds: {counts}; {share:.0%} of training are {self.classes[1]}"
        sides = "; two sides: links lead from one to the other" if self.bipartite else ""
        return (
            f"links: {counts}; as many pairs without a link beside them, fixed in validation and test{sides}"
            + self._hits_in_words()
        )

    def _hits_in_words(self) -> str:
        """Which k stands in hits@k, where a part has too few negatives for 20."""
        parts = (("validation", self.split.validation), ("test", self.split.test))
        ranks = {name: hits_rank(part.targets) for name, part in parts if len(part)}
        few = [
            f"hits@{k} in {name}, which has {int((part.targets == 0).sum())} of them"
            for name, part in parts
            if (k := ranks.get(name)) is not None and k < HITS[0]
        ]
        return f"\nhits@{HITS[0]} needs {HITS[0]} pairs without a link: {' and '.join(few)}" if few else ""

    @override
    def loss(self, scores: Float[Tensor, "n"], targets: Tensor) -> Tensor:
        """The mean log loss of pairs."""
        return nn.functional.binary_cross_entropy_with_logits(scores.float(), targets.float())

    @override
    def metrics(self, outputs: Float[Tensor, "n"], rows: Pairs) -> dict[str, float]:
        """Loss, AUC, average precision and hits@k, k = 20 at most; of signs also accuracy and macro F1."""
        scores = outputs.double().numpy()
        loss = np.logaddexp(0, np.where(rows.targets == 1, -scores, scores)).mean()
        return {"loss": float(loss)} | link_metrics(scores, rows, self.signed)

    @override
    def baselines(self, rows: Pairs) -> dict[str, dict[str, Any]]:
        return {
            name: {"rule": _RULES[name], "metrics": link_metrics(scores, rows, self.signed)}
            for name, scores in self.rule_scores(rows).items()
        }

    def rule_scores(self, rows: Pairs) -> dict[str, Float[np.ndarray, "n"]]:
        """The scores of pairs by rules without a model."""
        signs = np.where(self.known.targets == 1, 1.0, -1.0) if self.signed else None
        rules = LinkRules(self.known.pairs, self.whole.vertices, signs)
        if self.signed:
            share = self.known.targets.mean() - 0.5
            return {"majority": np.full(len(rows), share), "balance": rules.common(rows.pairs) + 1e-3 * share}
        if self.bipartite:
            return {"popularity": rules.attachment(rows.pairs), "shared taste": rules.three_steps(rows.pairs)}
        return {"common neighbours": rules.common(rows.pairs), "Adamic–Adar": rules.adamic_adar(rows.pairs)}


def link_metrics(scores: Float[np.ndarray, "n"], rows: Pairs, signed: bool) -> dict[str, float]:
    """How well scores tell pairs apart; what has no value, as the AUC of pairs of one kind, is left out."""
    ranked = {name: value for name, value in ranking_metrics(scores, rows.targets).items() if np.isfinite(value)}
    if not signed:
        return ranked
    predicted, targets = torch.from_numpy(scores > 0).long(), torch.from_numpy(rows.targets)
    answers = {"accuracy": accuracy(predicted, targets), "macro_f1": macro_f1(predicted, targets)}
    return answers | {name: ranked[name] for name in ("auc", "average_precision") if name in ranked}


def edge_kinds(data: GraphData, task: str) -> tuple[Graph, tuple[str, ...]]:
    """The graph, its two kinds of edges as weights −1 and 1, and their names; () where links are asked for."""
    graph = data.graph if data.edge_targets is not None and task != "links" else data.graph.without_absent()
    if task == "links":
        return graph, ()
    if data.edge_targets is not None:
        return signed_graph(graph, data.edge_targets), data.edge_classes
    if graph.signed:
        return graph, SIGNS
    if task == "signs":
        raise ValueError(
            f"signs need edges with weights above and below 0, got none below in {data.name}; name their column by "
            "weight, or by target if it holds words"
        )
    return graph, ()
