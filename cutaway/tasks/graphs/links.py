r"""Links between vertices: the cost of a step, metrics, and predictions for pairs.

    cost = mean over pairs of −log σ(±score(u, v))       + for training edges, − for as many pairs without one

Messages run over the training edges alone, in training without those that a step asks for: else the network would learn
to find a link by the message that runs along it. The pairs without an edge are drawn anew for every step of training,
and once for validation and test. Of signed links the pairs are the edges themselves, and the sign is asked for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.link_splits import PairDraws, Pairs, pair_keys, sides, split_labelled, split_links
from cutaway.tasks.graphs.link_baselines import LinkRules
from cutaway.tasks.graphs.ranking_metrics import HITS, hits_rank, ranking_metrics
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run

SIGNS = ("negative", "positive")  # kinds of edges that weights tell
_RULES = {
    "majority": "the more frequent sign, always",
    "balance": "the sign of what is between: friends of friends",
    "popularity": "how many links the two have already, multiplied",
    "shared taste": "paths of three steps: what those like who like what you like",
    "common neighbours": "how many neighbours two vertices share",
    "Adamic–Adar": "the same, rare neighbours counting more",
}
_PAIRS = 100_000  # scored at once
_ASKED = 0.3  # share of the training edges that a step asks for, at most


class AskedLinks(NamedTuple):
    """Pairs to tell apart, and the numbers of the training edges among them."""

    pairs: Pairs
    edges: Int[np.ndarray, "k"]


class PairBatches(Batches[AskedLinks]):
    """A part of the training edges, and beside each a pair without an edge; of signed edges, edges alone."""

    def __init__(
        self, known: Pairs, draws: PairDraws | None, batch: int, seed: int = 0, rank: int = 0, world: int = 1
    ) -> None:
        most = max(1, int(len(known) * _ASKED))
        batch = min(batch, most - most % world) or world
        super().__init__(batch, seed, rank, world)
        self.known, self.draws = known, draws
        self._order = ShuffledRows(len(known), batch, seed, rank, world)

    def at(self, step: int) -> AskedLinks:
        rows = self._order.at(step)
        pairs, targets = self.known.pairs[:, rows], self.known.targets[rows]
        if self.draws is not None:
            false = self.draws.draw("unlinked", step * self.world + self.rank, len(rows))
            pairs = np.concatenate([pairs, false], 1)
            targets = np.concatenate([targets, np.zeros_like(targets)])
        return AskedLinks(Pairs(pairs, targets), rows)


class LinkTask:
    """A graph whose links are to be found, or whose edges of two ``kinds`` are to be told apart: friend and foe.

    ``graph`` is what messages run over: its training edges. Of kinds, the second has weights above 0.
    """

    def __init__(self, whole: Graph, validation: float, test: float, seed: int, kinds: tuple[str, ...] = ()) -> None:
        edges = whole.edges.numpy()
        self.kinds, self.signed, self.seed = kinds, bool(kinds), seed
        signed = self.signed
        if signed:
            assert whole.weights is not None
            positive = whole.weights.numpy() > 0
            self.split = split_labelled(edges, positive.astype(np.int64), validation, test, seed)
            targets = positive[self.split.train].astype(np.int64)
        else:
            self.split = split_links(edges, whole.vertices, validation, test, seed)
            targets = np.ones(int(self.split.train.sum()), np.int64)
        self.graph = whole.without_edges(torch.from_numpy(~self.split.train))
        self.known = Pairs(edges[:, self.split.train], targets)
        self._keys = pair_keys(self.known.pairs, whole.vertices)  # all edges between two vertices have one
        self.bipartite = PairDraws(edges, whole.vertices).bipartite if not signed else False
        # training must not know which of its negatives are edges of validation and test
        self.draws = None if signed else PairDraws(self.known.pairs, whole.vertices, seed)
        self._moved: dict[torch.device, Graph] = {}

    def open_test(self) -> Pairs:
        """The test pairs, for the end."""
        if not len(self.split.test):
            raise ValueError("a test needs links that were kept for it, got none; train with test above 0")
        return self.split.test

    def summary(self) -> str:
        """What the parts are."""
        parts = (("training", self.known), ("validation", self.split.validation), ("test", self.split.test))
        counts = ", ".join(
            f"{name} {int(part.targets.sum()) if not self.signed else len(part):,}" for name, part in parts
        )
        if self.signed:
            share = self.known.targets.mean()
            return f"edges of two kinds: {counts}; {share:.0%} of training are {self.kinds[1]}"
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

    def batches(self, batch: int, rank: int, world: int) -> PairBatches:
        return PairBatches(self.known, self.draws, batch, self.seed, rank, world)

    def cost(self, model: nn.Module, batch: AskedLinks) -> Tensor:
        """The mean log loss of a batch of pairs; messages run over the edges that are not asked for."""
        device = next(model.parameters()).device
        hidden = torch.from_numpy(np.isin(self._keys, self._keys[batch.edges])).to(device)
        graph = self._on(device).without_edges(hidden)
        scores = model(graph, torch.from_numpy(batch.pairs.pairs).to(device)).float()
        targets = torch.from_numpy(batch.pairs.targets).to(device)
        return nn.functional.binary_cross_entropy_with_logits(scores, targets.float())

    def model_settings(self) -> dict[str, Any]:
        """What the spec of a model for this says."""
        return {"signed": self.signed}

    def scores(self, model: Any, pairs: Int[np.ndarray, "2 n"]) -> Float[np.ndarray, "n"]:
        """The scores of pairs; above 0 is a link (a friend)."""
        return pair_scores(model, self._on(next(model.parameters()).device), pairs).double().numpy()

    def metrics(self, model: nn.Module, held: Pairs) -> dict[str, float]:
        """Loss, AUC, average precision and hits@k, k = 20 at most; of signs also accuracy and macro F1."""
        scores = self.scores(model, held.pairs)
        loss = np.logaddexp(0, np.where(held.targets == 1, -scores, scores)).mean()
        return {"loss": float(loss)} | pair_metrics(scores, held, self.signed)

    def baselines(self, held: Pairs) -> dict[str, dict[str, Any]]:
        """Rules without a model, by name, with their metrics."""
        return {
            name: {"rule": _RULES[name], "metrics": pair_metrics(scores, held, self.signed)}
            for name, scores in self.rule_scores(held).items()
        }

    def rule_scores(self, held: Pairs) -> dict[str, Float[np.ndarray, "n"]]:
        """The scores of pairs by rules without a model."""
        signs = np.where(self.known.targets == 1, 1.0, -1.0) if self.signed else None
        rules = LinkRules(self.known.pairs, self.graph.vertices, signs)
        if self.signed:
            share = self.known.targets.mean() - 0.5
            return {"majority": np.full(len(held), share), "balance": rules.common(held.pairs) + 1e-3 * share}
        if self.bipartite:
            return {"popularity": rules.attachment(held.pairs), "shared taste": rules.three_steps(held.pairs)}
        return {"common neighbours": rules.common(held.pairs), "Adamic–Adar": rules.adamic_adar(held.pairs)}

    def _on(self, device: torch.device) -> Graph:
        if device not in self._moved:
            self._moved[device] = self.graph if device == self.graph.edges.device else self.graph.to(device)
        return self._moved[device]


@torch.no_grad()
def pair_scores(model: Any, graph: Graph, pairs: Int[np.ndarray, "2 n"]) -> Float[Tensor, "n *o"]:
    """The scores of pairs by messages over a graph, on the CPU; of any number of pairs."""
    device = next(model.parameters()).device
    states = model.states(graph.to(device))
    parts = torch.from_numpy(pairs).to(device).split(_PAIRS, 1)
    return torch.cat([model.score(states, part).float().cpu() for part in parts])


def pair_metrics(scores: Float[np.ndarray, "n"], held: Pairs, signed: bool) -> dict[str, float]:
    """How well scores tell pairs apart; what has no value, as the AUC of pairs of one kind, is left out."""
    ranked = {name: value for name, value in ranking_metrics(scores, held.targets).items() if np.isfinite(value)}
    if not signed:
        return ranked
    predicted, targets = torch.from_numpy(scores > 0).long(), torch.from_numpy(held.targets)
    found = {"accuracy": accuracy(predicted, targets), "macro_f1": macro_f1(predicted, targets)}
    return found | {name: ranked[name] for name in ("auc", "average_precision") if name in ranked}


def edge_kinds(data: "GraphData", task: str) -> tuple[Graph, tuple[str, ...]]:
    """The graph, its two kinds of edges as weights −1 and 1, and their names; () where links are asked for."""
    graph = data.graph if data.edge_targets is not None and task != "links" else data.graph.without_absent()
    if task == "links":
        return graph, ()
    if data.edge_targets is not None:
        signs = torch.where(data.edge_targets == 1, 1.0, -1.0)
        return Graph(graph.edges, graph.vertices, signs, graph.x, directed=graph.directed), data.edge_classes
    if graph.signed:
        return graph, SIGNS
    if task == "signs":
        raise ValueError(
            f"signs need edges with weights above and below 0, got none below in {data.name}; name their column by "
            "weight, or by target if it holds words"
        )
    return graph, ()


def candidates(whole: Graph, vertex: int, bipartite: bool) -> Int[np.ndarray, "2 k"]:
    """The pairs of a vertex with all others that it has no edge with; of a bipartite graph, on the other side."""
    edges = whole.edges[:, whole.present].numpy()
    others = sides(edges, whole.vertices)[1] if bipartite else np.arange(whole.vertices)
    if bipartite and vertex in others:
        others = sides(edges, whole.vertices)[0]
    joined = edges[:, (edges == vertex).any(0)]
    others = np.setdiff1d(others, np.append(joined.ravel(), vertex))
    pairs = np.stack([np.full(len(others), vertex), others])
    return pairs if not bipartite or vertex in sides(edges, whole.vertices)[0] else pairs[::-1].copy()


def new_links(
    task: LinkTask, model: nn.Module, whole: Graph, vertex: int, most: int = 10
) -> tuple[Int[np.ndarray, "2 k"], Float[np.ndarray, "k"]]:
    """The most probable links of a vertex that the graph does not have, and their scores."""
    pairs = candidates(whole, vertex, task.bipartite)
    scores = task.scores(model, pairs) if pairs.shape[1] else np.empty(0)
    best = np.argsort(-scores, kind="stable")[:most]
    return pairs[:, best], scores[best]


def link_subject(run: "Run", task: Any, data: "GraphData", given: str | None) -> Subject:
    """The graph and pairs for the model: those of a vertex that is named, else held-out ones."""
    from cutaway.tasks.graphs.vertex_names import find_vertices

    device = next(run.model.parameters()).device
    graph = task.graph.to(device)
    if given is not None:
        (vertex,) = find_vertices([given], data.names)
        if isinstance(task, LinkTask):
            pairs, _ = new_links(task, run.model, data.graph, int(vertex))
            words = f"the training edges, and the best new links of {data.names[vertex]}"
        else:
            pairs = task.known.pairs[:, (task.known.pairs == vertex).any(0)]
            words = f"the training edges, and those of {data.names[vertex]}"
        return Subject((graph, torch.from_numpy(pairs).to(device)), words, vertices=(int(vertex),))
    held = task.split.validation if len(task.split.validation) else task.known
    some = held.pairs[:, :: max(1, held.pairs.shape[1] // 64)]
    return Subject((graph, torch.from_numpy(some).to(device)), "the training edges, and pairs to tell apart")


def predicted_pairs(
    scores: Float[np.ndarray, "n"], pairs: Int[np.ndarray, "2 n"], names: Sequence[str], kinds: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """For each pair its two names, and the probability of a link (or of the second kind)."""
    what = f"P({kinds[1]})" if kinds else "P(link)"
    p = 1 / (1 + np.exp(-scores))
    return [{"source": names[u], "target": names[v], what: float(value)} for u, v, value in zip(*pairs, p, strict=True)]


__all__ = [
    "SIGNS",
    "AskedLinks",
    "LinkTask",
    "PairBatches",
    "candidates",
    "edge_kinds",
    "link_subject",
    "new_links",
    "pair_metrics",
    "pair_scores",
    "predicted_pairs",
]
