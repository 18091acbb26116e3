r"""The task of drawing new graphs: graphs without targets in three parts, and how likely, alike and new drawn ones are.

    loss = mean over held-out graphs and some breadth-first orders of −log p(graph, order)
    metrics of drawn graphs: MMD² of degrees, clustering and components; how many are new (`generation/statistics.py`)
    baselines: edges that know nothing of one another (`generation/random_graphs.py`)

The loss is exact for a graph with an order; −log p of the graph in any order is smaller, by at most log n!. A graph
that fits the bandwidth in no order tried has probability 0: it is left out, and the notes count such graphs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows, GraphSet, is_graph_list, open_graphs, read_graphs
from cutaway.data.stored import Stored, store_graphs
from cutaway.overriding import override
from cutaway.tasks.graphs.generation.random_graphs import by_distance, erdos_renyi
from cutaway.tasks.graphs.generation.sequences import (
    GraphSequences,
    expect_undirected,
    fitting_bandwidth,
    fixed_sequences,
    narrow_order,
    plain_graphs,
)
from cutaway.tasks.graphs.generation.statistics import compare_graphs, novelty
from cutaway.tasks.graphs.whole_graphs import read_new_graphs
from cutaway.tasks.task import Task

DRAWN = 200  # graphs that drawn ones are judged by


@dataclass(frozen=True, eq=False)
class SimpleGraphs:
    """Simple graphs for training and validation, and how far back their edges may reach."""

    train: list[Graph]
    validation: list[Graph]
    bandwidth: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: GraphSet, largest: int, bandwidth: int = 0) -> "SimpleGraphs":
        """Those of a set; ``bandwidth`` 0 is found from the training graphs."""
        train, notes = plain_graphs(data.train, largest)
        held = [] if data.validation is None else plain_graphs(data.validation, largest)[0]
        if len(train) < 2:
            raise ValueError(
                f"there must be at least two graphs to learn from, got {len(train)} of up to {largest} vertices in "
                f"{data.name}; give more graphs, or raise largest"
            )
        found = bandwidth or fitting_bandwidth(train)
        fits = [narrow_order(graph, found) is not None for graph in train]
        if not any(fits):
            raise ValueError(f"there must be a graph that fits, got none with bandwidth={bandwidth}; raise it, or 0")
        if not all(fits):
            notes.append(f"{fits.count(False):,} training graphs have edges that reach further back than bandwidth="
                         f"{found}: left out")  # fmt: skip
        beyond = sum(narrow_order(graph, found) is None for graph in held)
        if beyond:
            notes.append(f"{beyond:,} of {len(held):,} validation graphs do not fit bandwidth={found}: left out")
        if any(graph.x is not None for graph in data.train.graphs) and data.feature_names not in ((), ("one",)):
            notes.append(f"{len(data.feature_names):,} features of vertices are left out: shapes alone are learned")
        return cls([graph for graph, fit in zip(train, fits) if fit], held, found, tuple(notes))


class DrawnGraphs(Task):
    """Graphs to draw others like: files and folders of them, molecules in a table, or graphs in memory."""

    kind: ClassVar[str] = "graphs/generate"
    parts: GraphSet

    @override
    def read_parts(self) -> GraphSet:
        settings = self.settings
        return read_graphs(
            settings.data,
            validation=settings.validation,
            test=settings.test,
            seed=settings.seed,
            encoding=settings.encoding,
            labelled=False,
        )

    @cached_property
    def simple(self) -> SimpleGraphs:
        """The graphs as they are drawn: simple, small enough, in orders that fit the bandwidth."""
        return SimpleGraphs.of(self.parts, self.settings.largest, self.settings.bandwidth)

    @override
    def count(self) -> int:
        return len(self.simple.train)

    @cached_property
    def held_sequences(self) -> list[GraphSequences]:
        """The validation graphs in fixed orders."""
        return fixed_sequences(self.simple.validation, self.simple.bandwidth)

    @override
    def facts(self) -> dict[str, Any]:
        notes = "".join(f"\n{self.parts.name}: {note}" for note in self.simple.notes)
        facts = super().facts() | {"summary": self.parts.summary() + notes}
        facts["meanings"] = dict(self.settings.meanings)
        if self.held_sequences:
            facts["baselines"] = graph_rules(self.simple.train, self.simple.validation, self.simple.bandwidth)
        return facts

    def drawn_metrics(self, drawn: Sequence[Graph], held: Sequence[Graph]) -> dict[str, float]:
        """How alike drawn graphs are to held-out ones, and how many of them are new."""
        return compare_graphs(drawn, held) | novelty(drawn, self.simple.train)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """The likelihood of the test graphs and what drawn ones are beside them, and the figures of Erdős–Rényi."""
        simple = self.simple
        graphs = plain_graphs(self.parts.open_test(), self.settings.largest)[0]
        sequences = fixed_sequences(graphs, simple.bandwidth)
        if not sequences:
            raise ValueError(f"there must be a test graph that fits, got none of {len(graphs)}; raise the bandwidth")
        naive = graph_rules(simple.train, graphs, simple.bandwidth)["Erdős–Rényi"]["metrics"]
        metrics = likelihood_metrics(learner.log_probabilities(sequences), sequences)
        metrics |= self.drawn_metrics(learner.draw(DRAWN), graphs)
        return metrics | {f"baseline_{name}": value for name, value in naive.items()}

    # What a person gives, and what they get.

    def inputs(self, source: Any) -> GraphRows:
        """New graphs, as simple ones: a file or folder, SMILES, or graphs in memory."""
        rows = read_new_graphs(source, self.settings.encoding)
        largest = max(graph.vertices for graph in rows.graphs)
        return GraphRows(tuple(plain_graphs(rows, max(largest, 1))[0]), rows.names, None)

    def answers(self, outputs: Sequence[Float[Tensor, "_"]], rows: GraphRows) -> list[dict[str, Any]]:
        """For each graph the mean of log p over some breadth-first orders; None where p is 0."""
        answers = []
        for graph, name, logs in zip(rows.graphs, rows.names, outputs, strict=True):
            edges = graph.edges.shape[1]
            by_edge = -float(logs.sum()) / (len(logs) * edges) if len(logs) and edges else None
            answers.append(
                {
                    "graph": name,
                    "vertices": graph.vertices,
                    "edges": edges,
                    "log p": float(logs.mean()) if len(logs) else None,
                    "nats an edge": by_edge,
                }
            )
        return answers


def keep_several(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """Graphs in memory, as `cutaway.data.stored.plain` keeps them; a single one is refused."""
    source = settings["data"]
    if not is_graph_list(source):
        raise ValueError(
            f"a generator learns from many graphs, got one {type(source).__name__}; give a list of graphs, or a folder"
        )
    raw = open_graphs(source)
    expect_undirected(raw.graphs, raw.names)
    return store_graphs(raw), {}


def likelihood_metrics(logs: Float[Tensor, "n"], sequences: Sequence[GraphSequences]) -> dict[str, float]:
    """−log p, in nats a graph and nats an edge, of log p of graphs with their orders."""
    edges = sum(float(part.rows.sum()) for part in sequences)
    return {"loss": -float(logs.mean()), "nats_per_edge": -float(logs.sum()) / max(edges, 1.0)}


def graph_rules(train: Sequence[Graph], held: Sequence[Graph], bandwidth: int) -> dict[str, dict[str, Any]]:
    """Rules without a network, learned from the training graphs, with the same figures on held-out ones."""
    sequences = fixed_sequences(held, bandwidth)
    rules = {
        "Erdős–Rényi": ("every pair of vertices is joined as often as in training", erdos_renyi(train)),
        "distance alone": (
            "joined as often as in training, by the distance in breadth-first order",
            by_distance(train),
        ),
    }
    results = {}
    for name, (words, rule) in rules.items():
        logs = torch.cat([rule.log_probability(part) for part in sequences])
        drawn = rule.sample(DRAWN, torch.Generator().manual_seed(0))
        results[name] = {"rule": words, "metrics": likelihood_metrics(logs, sequences) | compare_graphs(drawn, held)}
    return results
