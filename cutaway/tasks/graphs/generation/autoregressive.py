r"""The learner of the recipe `graph-rnn`: graphs are written and drawn vertex by vertex, each with its edges to those
before it.

    cost = mean over graphs of −log p(graph, order)        a new breadth-first order in every step
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.graphs.breadth_first import graph_of_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.overriding import override
from cutaway.tasks.graphs.generate import DRAWN, DrawnGraphs, likelihood_metrics
from cutaway.tasks.graphs.generation.sequences import (
    GraphSequences,
    SequenceBatches,
    as_sequences,
    fixed_sequences,
    narrow_order,
)
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job

_MOST = 10_000  # graphs drawn in one call
_SHOWN = 40  # vertices of a graph that is looked at


class VertexByVertex(Learner):
    """A recurrent model of graphs as sequences of rows."""

    unit = "graphs"
    task: DrawnGraphs
    model: Any

    @property
    def batch(self) -> int:
        """Graphs in a batch; fewer are taken whole."""
        return min(self.settings.batch, len(self.task.simple.train))

    @override
    def batches(self, rank: int, world: int) -> SequenceBatches:
        graphs = self.task.simple
        return SequenceBatches(graphs.train, graphs.bandwidth, self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: Any, batch: GraphSequences) -> Tensor:
        return -model(*(part.to(model.device) for part in batch)).mean()

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        held = self.task.held_sequences
        return likelihood_metrics(log_probabilities(model, held), held) if held else {}

    def evaluate_whole(self, model: nn.Module) -> dict[str, float]:
        """The same, and what drawn graphs are beside held-out ones."""
        if not self.task.held_sequences:
            return {}
        drawn = draw_graphs(model, DRAWN)
        return self.evaluate(model) | self.task.drawn_metrics(drawn, self.task.simple.validation)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.whole, job.units = self.evaluate_whole, self.batch
        return job

    def log_probabilities(self, sequences: Sequence[GraphSequences]) -> Float[Tensor, "n"]:
        """log p of graphs with their orders."""
        return log_probabilities(self.model, sequences)

    def draw(self, count: int, seed: int = 0) -> list[Graph]:
        """New graphs."""
        return draw_graphs(self.model, count, seed)

    def outputs(self, rows: GraphRows) -> list[Float[Tensor, "_"]]:
        """log p of each graph in some breadth-first orders; none where it fits the bandwidth in no order."""
        outputs = []
        for graph in rows.graphs:
            sequences = fixed_sequences([graph], self.model.spec.bandwidth)
            outputs.append(self.log_probabilities(sequences) if sequences else torch.empty(0))
        return outputs

    def make_samples(
        self,
        count: int = 16,
        label: Any = None,
        guidance: float | None = None,
        steps: int | None = None,
        seed: int = 0,
    ) -> list[Graph]:
        """New graphs; the same seed gives the same ones."""
        for name, value in (("label", label), ("guidance", guidance), ("steps", steps)):
            if value is not None:
                raise ValueError(f"graphs are drawn without {name}, got {name}={value!r}; leave it out")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise ValueError(f"count must be from 1 to {_MOST:,} graphs, got {count}; call several times for more")
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed must be from -2⁶³ to below 2⁶³, got {seed}; try seed=0")
        return self.draw(count, seed)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A graph of a path or a SMILES; without one, a graph that it was not trained on, of middling size."""
        if given is not None:
            return one_graph(self.model, self.task.inputs(given).graphs, "your graph")
        simple = self.task.simple
        words = f"a graph that it was {'not ' * bool(simple.validation)}trained on"
        return one_graph(self.model, simple.validation or simple.train, words)


@torch.no_grad()
def log_probabilities(model: Any, sequences: Sequence[GraphSequences]) -> Float[Tensor, "n"]:
    """log p of graphs with their orders, on the CPU."""
    return torch.cat([model(*(part.to(model.device) for part in some)).double().cpu() for some in sequences])


def draw_graphs(model: Any, count: int, seed: int = 0) -> list[Graph]:
    """New graphs."""
    return [graph_of_rows(rows) for rows in model.sample(count, torch.Generator().manual_seed(seed))]


def one_graph(model: Any, graphs: Sequence[Graph], words: str) -> Subject:
    """The rows of one graph of middling size, as the model reads them."""
    fitting = [graph for graph in graphs if narrow_order(graph, model.spec.bandwidth) is not None]
    if not fitting:
        raise ValueError(
            f"a graph must fit the bandwidth of {model.spec.bandwidth}, got none that does; give one whose edges reach "
            "less far back in breadth-first order"
        )
    some = sorted((graph for graph in fitting if graph.vertices <= _SHOWN), key=lambda graph: graph.vertices) or fitting
    graph = some[len(some) // 2]
    order = narrow_order(graph, model.spec.bandwidth)
    assert order is not None
    rows, sizes = as_sequences([graph], [order], model.spec.bandwidth)
    names = tuple(f"vertex {i + 1}" for i in range(graph.vertices))
    return Subject((rows.to(model.device), sizes.to(model.device)), words, names, ", ".join(names))
