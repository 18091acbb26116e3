r"""The figures of a generator of graphs: how likely held-out graphs are, and how alike drawn ones are to them.

    loss = mean over held-out graphs and some breadth-first orders of −log p(graph, order)

It is exact for a graph with an order; −log p of the graph in any order is smaller, by at most log n!. A graph that fits
the bandwidth in no order tried has probability 0: it is left out, and ``beyond`` counts such graphs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from cutaway.blocks.graphs.breadth_first import graph_of_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import is_graph_list, open_graphs
from cutaway.data.stored import Stored, store_graphs
from cutaway.tasks.graphs.generation.random_graphs import by_distance, erdos_renyi
from cutaway.tasks.graphs.generation.sequences import (
    GraphSequences,
    as_sequences,
    expect_undirected,
    fitting_bandwidth,
    fixed_sequences,
    narrow_order,
    plain_graphs,
)
from cutaway.tasks.graphs.generation.statistics import compare_graphs, novelty
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_set import GraphSet

_DRAWN = 200  # graphs that drawn ones are judged by
_SHOWN = 40  # vertices of a graph that is looked at


@dataclass(frozen=True, eq=False)
class GraphParts:
    """Simple graphs for training and validation, and how far back their edges may reach."""

    train: list[Graph]
    validation: list[Graph]
    bandwidth: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: "GraphSet", largest: int, bandwidth: int = 0) -> "GraphParts":
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


def keep_several(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """Graphs in memory, as `cutaway.data.stored.plain` keeps them; a single one is refused."""
    source = settings["data"]
    if not is_graph_list(source):
        raise ValueError(
            f"a generator learns from many graphs, got one {type(source).__name__}; give a list of graphs, or a folder"
        )
    found = open_graphs(source)
    expect_undirected(found.graphs, found.names)
    return store_graphs(found), {}


@torch.no_grad()
def likelihood_metrics(model: Any, sequences: Sequence[GraphSequences]) -> dict[str, float]:
    """−log p, in nats a graph and nats an edge."""
    logs = [model(part.rows.to(model.device), part.sizes.to(model.device)).double().cpu() for part in sequences]
    return _figures(torch.cat(logs), sequences)


def _figures(logs: torch.Tensor, sequences: Sequence[GraphSequences]) -> dict[str, float]:
    edges = sum(float(part.rows.sum()) for part in sequences)
    return {"loss": -float(logs.mean()), "nats_per_edge": -float(logs.sum()) / max(edges, 1.0)}


def draw_graphs(model: Any, count: int, seed: int = 0) -> list[Graph]:
    """New graphs."""
    return [graph_of_rows(rows) for rows in model.sample(count, torch.Generator().manual_seed(seed))]


def drawn_metrics(model: Any, train: Sequence[Graph], held: Sequence[Graph]) -> dict[str, float]:
    """How alike drawn graphs are to held-out ones, and how many of them are new."""
    drawn = draw_graphs(model, _DRAWN)
    return compare_graphs(drawn, held) | novelty(drawn, train)


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
    found = {}
    for name, (words, rule) in rules.items():
        logs = torch.cat([rule.log_probability(part) for part in sequences])
        drawn = rule.sample(_DRAWN, torch.Generator().manual_seed(0))
        found[name] = {"rule": words, "metrics": _figures(logs, sequences) | compare_graphs(drawn, held)}
    return found


def graph_scores(model: Any, graphs: Sequence[Graph], names: Sequence[str]) -> list[dict[str, Any]]:
    """For each graph the mean of log p over some breadth-first orders; None where p is 0."""
    found = []
    for graph, name in zip(graphs, names, strict=True):
        sequences = fixed_sequences([graph], model.spec.bandwidth)
        figures = likelihood_metrics(model, sequences) if sequences else {}
        found.append(
            {
                "graph": name,
                "vertices": graph.vertices,
                "edges": graph.edges.shape[1],
                "log p": -figures["loss"] if figures else None,
                "nats an edge": figures["nats_per_edge"] if figures and graph.edges.shape[1] else None,
            }
        )
    return found


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


__all__ = [
    "GraphParts",
    "draw_graphs",
    "drawn_metrics",
    "graph_rules",
    "graph_scores",
    "keep_several",
    "likelihood_metrics",
    "one_graph",
]
