r"""The learner of the recipe `links`: a network whose states of two vertices give a pair its scores.

    cost = task.loss(score(u, v), y)        over the pairs of a step; see links.py and edges.py

Messages run over the training edges alone, in training without those that a step asks for: else the network would learn
to find a link by the message that runs along it.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.link_splits import PairDraws, Pairs
from cutaway.models.graphs.link_scorer import LinkScorer
from cutaway.overriding import override
from cutaway.tasks.graphs.edge_inputs import edge_settings, edges_in_words
from cutaway.tasks.graphs.edges import labelled_messages
from cutaway.tasks.graphs.learners.one_graph import GraphLearner, device_of, in_own_unit
from cutaway.tasks.graphs.links import SIGNS, Links
from cutaway.tasks.graphs.outcomes import Scale
from cutaway.tasks.graphs.pairs import AskedPairs, PairTask, asked_pairs, candidates, pair_answers, signed_graph
from cutaway.tasks.graphs.transfer import OtherGraph
from cutaway.tasks.graphs.vertex_names import find_vertices
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job

_PAIRS = 100_000  # scored at once
_ASKED = 0.3  # share of the training edges that a step asks for, at most
_LOOKED_AT = 10  # new links of a vertex


class PairNetwork(GraphLearner):
    """A network that scores pairs of vertices by messages over the training edges."""

    unit = "links"
    task: PairTask

    @classmethod
    def new(cls, settings: Any, task: PairTask) -> "PairNetwork":
        """An untrained network of the layers that the settings name."""
        graph = task.graph
        assert graph.x is not None
        torch.manual_seed(settings.seed)
        model = LinkScorer(
            inputs=graph.x.shape[1],
            layer=settings.layer,
            width=settings.width,
            depth=settings.depth,
            dropout=settings.dropout,
            decoder=settings.decoder,
            **edge_settings(settings.layer, [graph], ignore=True),
            **task.model_settings(),
        )
        return cls(settings, task, model)

    # Training.

    @override
    def batches(self, rank: int, world: int) -> "PairBatches":
        settings, task = self.settings, self.task
        return PairBatches(task.known, task.draws, settings.batch, settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: "PairBatch") -> Tensor:
        """The mean loss of a batch of pairs; messages run over the edges that are not asked for."""
        device, keys = device_of(model), self.task.known_keys
        hidden = torch.from_numpy(np.isin(keys, keys[batch.edges])).to(device)
        graph = self.passes.whole(model).without_edges(hidden)
        scores = model(graph, torch.from_numpy(batch.pairs.pairs).to(device))
        return self.task.loss(scores, torch.from_numpy(batch.pairs.targets).to(device))

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        rows = self.task.split.validation
        return self.task.metrics(self.outputs(rows, model), rows) if len(rows) else {}

    @override
    def facts(self) -> dict[str, Any]:
        parts, spec = self.task.parts, self.model.spec
        edges = edges_in_words(spec.to_dict(), spec.layer, [parts.graph], parts.edge_feature_names)
        return {"summary": self.task.summary() + edges}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units = job.batches.batch
        return job

    # A run that is there.

    def outputs(self, rows: Pairs | AskedPairs, model: nn.Module | None = None) -> Float[Tensor, "n *o"]:
        """The scores of pairs, above 0 for a link; of labels those of classes, or values (n, 1) in their own unit."""
        model = self.model if model is None else model
        return pair_outputs(model, self.passes.whole(model), rows.pairs, self.task.scale)

    def predict_in(self, inputs: Any, data: Any, vertices: Any = None) -> list[dict[str, Any]]:
        """P(link), class or value of pairs of another graph, which has the same columns."""
        if not inputs:
            raise ValueError("there must be pairs or a vertex to answer for, got none; give them beside data")
        other = self.task.other_graph(data, vertices, self.model.spec.inputs)
        rows = asked_pairs(inputs, other.data, other.reading)
        outputs = pair_outputs(self.model, messages_of_other(other), rows.pairs, other.reading.values)
        return pair_answers(outputs, rows, other.data.names, other.reading)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """The graph of training edges and some pairs that it was not trained on; those of a vertex, if one is named."""
        task, parts = self.task, self.task.parts
        graph, device = self.passes.whole(self.model), device_of(self.model)
        if given is None:
            held = task.split.validation if len(task.split.validation) else task.known
            some = held.pairs[:, :: max(1, held.pairs.shape[1] // 64)]
            return Subject((graph, torch.from_numpy(some).to(device)), "the training edges, and pairs to tell apart")
        (vertex,) = find_vertices([given], parts.names)
        if isinstance(task, Links):
            pairs = candidates(parts.graph, int(vertex), task.bipartite)
            scores = self.outputs(AskedPairs(pairs)).double().numpy()
            pairs = pairs[:, np.argsort(-scores, kind="stable")[:_LOOKED_AT]]
            words = f"the training edges, and the best new links of {parts.names[vertex]}"
        else:
            pairs = task.known.pairs[:, (task.known.pairs == vertex).any(0)]
            words = f"the training edges, and those of {parts.names[vertex]}"
        return Subject((graph, torch.from_numpy(pairs).to(device)), words, vertices=(int(vertex),))


class PairBatch(NamedTuple):
    """Pairs to tell apart, and the numbers of the training edges among them."""

    pairs: Pairs
    edges: Int[np.ndarray, "k"]


class PairBatches(Batches[PairBatch]):
    """A part of the training edges, and beside each a pair without an edge; of labelled edges, edges alone."""

    def __init__(
        self, known: Pairs, draws: PairDraws | None, batch: int, seed: int = 0, rank: int = 0, world: int = 1
    ) -> None:
        most = max(1, int(len(known) * _ASKED))
        batch = min(batch, most - most % world) or world
        super().__init__(batch, seed, rank, world)
        self.known, self.draws = known, draws
        self._order = ShuffledRows(len(known), batch, seed, rank, world)

    @override
    def at(self, step: int) -> PairBatch:
        rows = self._order.at(step)
        pairs, targets = self.known.pairs[:, rows], self.known.targets[rows]
        if self.draws is not None:
            false = self.draws.draw("unlinked", step * self.world + self.rank, len(rows))
            pairs = np.concatenate([pairs, false], 1)
            targets = np.concatenate([targets, np.zeros_like(targets)])
        return PairBatch(Pairs(pairs, targets), rows)


@torch.no_grad()
def pair_outputs(model: Any, graph: Graph, pairs: Int[np.ndarray, "2 n"], scale: Scale | None) -> Float[Tensor, "n *o"]:
    """The scores of any number of pairs by messages over a graph, on the CPU; with a ``scale`` values (n, 1)."""
    device = device_of(model)
    states = model.states(graph.to(device))
    parts = torch.from_numpy(pairs).to(device).split(_PAIRS, 1) if pairs.shape[1] else ()
    scores = torch.cat([model.score(states, part).float().cpu() for part in parts]) if parts else torch.empty(0)
    return scores if scale is None else in_own_unit(scores[:, None], scale)


def messages_of_other(other: OtherGraph) -> Graph:
    """What messages run over in another graph: its edges, which tell their labels where those of training did."""
    data, reading, graph = other
    if reading.classes in ((), SIGNS) and reading.values is None:
        return graph
    assert data.edge_targets is not None
    if len(reading.classes) == 2:
        return signed_graph(graph, data.edge_targets)
    return labelled_messages(graph, data.edge_targets, len(reading.classes), reading.values)
