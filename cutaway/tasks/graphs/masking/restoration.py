r"""Hidden vertices and edges of graphs, restored from what is left: batches, the cost of a step, metrics, baselines.

    vertices, kinds       mean over hidden v of −log softmax(x̂_v)_{k_v}            one-hot features: atoms, tags
    vertices, features    mean over hidden v of (1 − cos(x_v, x̂_v))^γ              words, measurements
    edges                 mean over hidden edges and as many random pairs of −log P(edge or not)

Which are hidden is a function of the seed and the step. A random pair is seldom an edge, and then counts as none.
Hou et al. 2022 (GraphMAE); Hu et al. 2020 (kinds of atoms); Li et al. 2023 (MaskGAE: edges).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.graphs.compressed_rows import is_sparse_rows, take_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.restoration import scaled_cosine_error
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.data.seeded_draws import draw_integers, draw_uniform
from cutaway.overriding import override
from cutaway.tasks.graphs.link_baselines import LinkRules
from cutaway.tasks.graphs.ranking_metrics import auc


class HiddenParts(NamedTuple):
    """A graph (or several as one), which of its vertices and edges are hidden, and pairs that are no edges."""

    graph: Graph
    vertices: Bool[np.ndarray, "n"]
    edges: Bool[np.ndarray, "m"]
    pairs: Int[np.ndarray, "2 k"]


class Kinds(NamedTuple):
    """Features of a vertex of which exactly one is 1: a name, and the columns from ``first`` to before ``last``."""

    name: str
    first: int
    last: int
    values: tuple[str, ...]


def find_kinds(names: Sequence[str], graphs: Sequence[Graph]) -> tuple[Kinds, ...]:
    """The one-hot groups among neighbouring features with names such as element=C, element=N, or tag 1, tag 2."""
    found = []
    first = 0
    while first < len(names):
        prefix = _prefix(names[first])
        last = first + 1
        while last < len(names) and prefix and _prefix(names[last]) == prefix:
            last += 1
        if last - first > 1 and all(_one_hot(graph.x, first, last) for graph in graphs):
            values = tuple(name[len(prefix) + 1 :] for name in names[first:last])
            found.append(Kinds(prefix, first, last, values))
        first = last
    return tuple(found)


def _prefix(name: str) -> str:
    for mark in ("=", " "):
        if mark in name:
            return name.rpartition(mark)[0]
    return ""


def _one_hot(x: Tensor | None, first: int, last: int) -> bool:
    if x is None or is_sparse_rows(x):
        return False
    part = x[:, first:last]
    return bool(((part == 0) | (part == 1)).all()) and bool((part.sum(1) == 1).all())


def draw_parts(
    graph: Graph,
    share: tuple[float, float],
    seed: int,
    number: int,
    purpose: str = "",
    open_vertices: Bool[np.ndarray, "n"] | None = None,
    open_edges: Bool[np.ndarray, "m"] | None = None,
) -> HiddenParts:
    """Hides shares of vertices and edges, of those that are open; as many random pairs as hidden edges, each within
    one of the graphs."""
    n, m = graph.vertices, graph.edges.shape[1]
    vertices = draw_uniform(seed, f"v{purpose}", number, n) < share[0]
    edges = draw_uniform(seed, f"e{purpose}", number, m) < share[1]
    vertices = vertices if open_vertices is None else vertices & open_vertices
    edges = edges if open_edges is None else edges & open_edges
    return HiddenParts(graph, vertices, edges, random_pairs(graph, edges, seed, number, purpose))


def random_pairs(
    graph: Graph, edges: Bool[np.ndarray, "m"], seed: int, number: int, purpose: str = ""
) -> Int[np.ndarray, "2 k"]:
    """For each of some edges its source, and a random vertex of the same graph."""
    sources = graph.edges[0].cpu().numpy()[edges]
    if graph.membership is None:
        return np.stack([sources, draw_integers(seed, f"p{purpose}", number, len(sources), max(1, graph.vertices))])
    membership = graph.membership.cpu().numpy()
    sizes = np.bincount(membership, minlength=graph.graphs)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of = membership[sources]
    u = draw_uniform(seed, f"p{purpose}", number, len(sources))
    return np.stack([sources, starts[of] + (u * sizes[of]).astype(np.int64)])


class GraphMasks(Batches[HiddenParts]):
    """One graph, other parts of it hidden in every step; only of those that are open."""

    def __init__(
        self,
        graph: Graph,
        share: tuple[float, float],
        open_vertices: Bool[np.ndarray, "n"],
        open_edges: Bool[np.ndarray, "m"],
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if world > 1:
            raise ValueError(f"a step over the whole graph is taken by one process, got {world}; train in one process")
        super().__init__(1, seed, rank, world)
        self.graph, self.shares = graph, share
        self.open_vertices, self.open_edges = open_vertices, open_edges

    @override
    def at(self, step: int) -> HiddenParts:
        return draw_parts(self.graph, self.shares, self.seed, step, "", self.open_vertices, self.open_edges)


class GraphSetMasks(Batches[HiddenParts]):
    """Every graph once in each epoch, other parts of it hidden each time."""

    def __init__(
        self, rows: GraphRows, share: tuple[float, float], batch: int, seed: int = 0, rank: int = 0, world: int = 1
    ) -> None:
        super().__init__(batch, seed, rank, world)
        self.rows, self.shares = rows, share
        self._order = ShuffledRows(len(rows), batch, seed, rank, world)

    @override
    def at(self, step: int) -> HiddenParts:
        graph = Graph.batch(list(self.rows.take(self._order.at(step)).graphs))
        return draw_parts(graph, self.shares, self.seed, step * self.world + self.rank)


@dataclass(frozen=True)
class Restoration:
    """What is asked of hidden parts: ``kinds`` of vertices, else their features (with γ = ``power``)."""

    kinds: tuple[Kinds, ...] = ()
    power: float = 2.0

    def cost(self, model: nn.Module, parts: HiddenParts) -> Tensor:
        """The loss of the hidden vertices and that of the hidden edges, added."""
        costs = [loss for loss, _ in self._answers(model, parts)]
        return torch.stack(costs).sum() if costs else next(model.parameters()).sum() * 0.0

    @torch.no_grad()
    def metrics(self, model: nn.Module, parts: HiddenParts) -> dict[str, float]:
        """The loss, the accuracy of kinds or the cosine of features, and the AUC of edges."""
        found = list(self._answers(model, parts))
        scores: dict[str, float] = {}
        for _, own in found:
            scores |= own
        return {"loss": sum(loss.item() for loss, _ in found)} | scores

    def _answers(self, model: Any, parts: HiddenParts) -> "list[tuple[Tensor, dict[str, float]]]":
        device = next(model.parameters()).device
        graph = parts.graph if parts.graph.edges.device == device else parts.graph.to(device)
        seen = graph.without_edges(torch.from_numpy(parts.edges).to(device)) if parts.edges.any() else graph
        hidden = torch.from_numpy(parts.vertices).to(device)
        asked = bool(parts.vertices.any())
        states = model.encode(seen, hidden if asked else None)
        found = []
        if asked:
            restored = model.restore(states, seen, hidden)[hidden].float()
            found.append(self.vertex_loss(rows_at(graph, hidden), restored))
        if parts.edges.any():
            there = graph.edges[:, torch.from_numpy(parts.edges).to(device)]
            pairs = torch.cat([there, torch.from_numpy(parts.pairs).to(device)], 1)
            scores = model.score(states, pairs).float()
            truth = torch.cat([torch.ones(there.shape[1]), torch.zeros(parts.pairs.shape[1])]).to(device)
            loss = nn.functional.binary_cross_entropy_with_logits(scores, truth)
            area = auc(scores.detach().double().cpu().numpy(), truth.long().cpu().numpy())
            found.append((loss, {"auc": area}))
        return found

    def vertex_loss(self, x: Float[Tensor, "h i"], restored: Float[Tensor, "h i"]) -> tuple[Tensor, dict[str, float]]:
        """The loss of restored vertices and how many of their kinds are right, or the mean cosine."""
        if not self.kinds:
            loss = scaled_cosine_error(x, restored, self.power).mean()
            return loss, {"cosine": nn.functional.cosine_similarity(x, restored, dim=-1).mean().item()}
        losses, right = [], []
        for kind in self.kinds:
            scores, truth = restored[:, kind.first : kind.last], x[:, kind.first : kind.last].argmax(-1)
            losses.append(nn.functional.cross_entropy(scores, truth))
            right.append((scores.argmax(-1) == truth).double().mean().item())
        return torch.stack(losses).mean(), {"accuracy": float(np.mean(right))}

    def baselines(self, parts: HiddenParts, known: Float[Tensor, "n i"]) -> dict[str, dict[str, Any]]:
        """What two rules reach: always the mean of training (``known`` rows), and the mean of known neighbours."""
        hidden = torch.from_numpy(parts.vertices)
        if not hidden.any():
            return self._link_rule(parts)
        x = rows_at(parts.graph, hidden)
        mean = known.mean(0).expand_as(x)
        around = neighbour_means(parts.graph, hidden)
        around = torch.where((around != 0).any(1, keepdim=True), around, mean)
        names = ("most frequent", "neighbours") if self.kinds else ("mean", "neighbours")
        rules = (
            "the most frequent kind of training, always" if self.kinds else "the mean features of training",
            "the most frequent kind among the neighbours" if self.kinds else "the mean features of the neighbours",
        )
        found = {}
        for name, rule, guess in zip(names, rules, (mean, around), strict=True):
            found[name] = {"rule": rule, "metrics": self.vertex_loss(x, guess)[1]}
        return found | self._link_rule(parts)

    def _link_rule(self, parts: HiddenParts) -> dict[str, dict[str, Any]]:
        if not parts.edges.any():
            return {}
        edges = parts.graph.edges.numpy()
        pairs = np.concatenate([edges[:, parts.edges], parts.pairs], 1)
        truth = np.repeat([1, 0], [int(parts.edges.sum()), parts.pairs.shape[1]])
        area = auc(LinkRules(edges[:, ~parts.edges], parts.graph.vertices).common(pairs), truth)
        return {"common neighbours": {"rule": "how many neighbours two vertices share", "metrics": {"auc": area}}}


def rows_at(graph: Graph, chosen: Bool[Tensor, "n"]) -> Float[Tensor, "h i"]:
    """The features of some vertices, dense."""
    assert graph.x is not None
    rows = take_rows(graph.x, chosen.nonzero()[:, 0])
    return (rows.to_dense() if is_sparse_rows(rows) else rows).float()


def neighbour_means(graph: Graph, hidden: Bool[Tensor, "n"]) -> Float[Tensor, "h i"]:
    """For each hidden vertex the mean features of its neighbours that are not hidden; 0 without any."""
    assert graph.x is not None
    x = (graph.x.to_dense() if is_sparse_rows(graph.x) else graph.x).float()
    sources, targets = graph.arcs
    kept = hidden[targets] & ~hidden[sources]
    sums = torch.zeros_like(x).index_add(0, targets[kept], x[sources[kept]])
    counts = torch.bincount(targets[kept], minlength=graph.vertices).clamp(min=1)
    return (sums / counts[:, None])[hidden]
