r"""`graph-rnn`: learns from a set of graphs, and draws new ones, vertex by vertex."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Recipe, without_idle_patience
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_set import GraphRows, GraphSet
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.generation.likelihoods import GraphParts
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

_MOST = 10_000  # graphs drawn in one call


@dataclass(frozen=True)
class GraphRNNRecipe(Recipe):
    """Learns from a set of graphs and draws new ones: vertex by vertex, each with its edges to those before it.

    Data as for gin; targets are not needed, and features, weights and self-loops are left out: it learns the shape
    alone. `cutaway sample RUN --count 8` draws graphs, `cutaway predict RUN graphs/` tells how likely each graph is.
    """

    name: ClassVar[str] = "graph-rnn"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="graphs/",
            gives="graphs in; log p of each (nats), with the vertices in breadth-first order, out",
        ),
        Offer("sample", writer="cutaway.runs.sampled_graphs"),
    )
    memory: ClassVar[str] = "cutaway.tasks.graphs.generation.likelihoods:keep_several"
    quality: ClassVar[str] = (
        "Nats a test graph, one seed: communities 43.7 (Erdős–Rényi 86.4), 27 s of one core; MUTAG 20.8 (65.3; edges "
        "by their distance in breadth-first order alone 47.6), 24 s, and MMD² of degrees 0.040 (0.370; training graphs "
        "0.004), of clustering 0.020 (0.280; 0). `python benchmarks/run.py graph_generation` measures it."
    )
    unit: ClassVar[str] = "nats a graph"
    meanings: ClassVar[dict[str, str]] = {
        "loss": "−log p of a graph with its vertices in breadth-first order",
        "nats_per_edge": "−log p of all graphs, divided by all edges",
        "degree_mmd": "how far the degrees of drawn graphs are from those of held-out ones (MMD², 0: alike)",
        "clustering_mmd": "how far drawn graphs are in how often neighbours of a vertex are joined",
        "component_mmd": "how far drawn graphs are in the sizes of their components",
        "novel": "share of drawn graphs with the shape of no training graph",
        "unique": "share of different shapes among drawn graphs",
    }

    data: str = "communities"
    """a folder or .txt of graphs, TU files, a CSV with a column of SMILES, or an embedded sample"""
    validation: float = setting(0.1, DATA)
    """share of the graphs to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the graphs for `cutaway test`; 0 for none"""
    largest: int = setting(100, DATA)
    """vertices of a graph, at most; larger ones are left out"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""

    edges: Literal["recurrent", "independent"] = setting("recurrent", FIRST)
    """how the edges of a vertex are drawn: one after another, each seeing those before it, or each by itself"""
    bandwidth: int = setting(0, FIRST)
    """how many vertices back an edge may reach, in breadth-first order; 0: found from the training graphs"""
    width: int = setting(64, FIRST)
    """numbers that hold what was drawn so far"""
    depth: int = 1
    """recurrent layers over the vertices"""
    edge_width: int = 16
    """numbers that hold what was drawn of a vertex's edges"""
    dropout: float = 0.0
    """share of the state that is dropped in training"""
    batch: int = setting(32, FIRST)
    """graphs in a batch; fewer are taken whole"""
    steps: int = 1000
    """optimizer steps, at most"""
    rate: float = 1e-2
    """full learning rate"""
    beta: float = 0.99
    """how long Adam remembers squared gradients"""
    clip: float = 20.0
    """longest gradient allowed; 0 for any"""
    warmup: int = setting(20, SCHEDULE)
    """steps in which the rate rises from zero"""
    evaluate_every: int = setting(50, RESULTS)
    """steps between evaluations"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, "width", "depth", "edge_width")
        expect_at_least(self, 0, "bandwidth")
        expect_at_least(self, 2, "largest")

    def settled(self, task: Any = None, base: Any = None) -> "Recipe":
        return without_idle_patience(self)

    def dataset(self, run: "Run | None" = None) -> "GraphSet":
        """The graphs as they are, in their three parts; those of a ``run`` must be as they were."""
        found = self._read()
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def _read(self) -> "GraphSet":
        from cutaway.data.graphs.graph_set import read_graphs

        return read_graphs(
            self.data,
            validation=self.validation,
            test=self.test,
            seed=self.seed,
            encoding=self.encoding,
            labelled=False,
        )

    def parts(self, data: "GraphSet") -> "GraphParts":
        """The graphs as the network reads them: simple, small enough, in orders that fit the bandwidth."""
        from cutaway.tasks.graphs.generation.likelihoods import GraphParts

        return GraphParts.of(data, self.largest, self.bandwidth)

    def build(self, parts: "GraphParts") -> "nn.Module":
        """The untrained model; graphs that it draws are at most twice as large as those of training."""
        from cutaway.models.graphs.graph_rnn import GraphRNN

        return GraphRNN(
            bandwidth=parts.bandwidth,
            width=self.width,
            depth=self.depth,
            edges=self.edges,
            edge_width=self.edge_width,
            dropout=self.dropout,
            largest=2 * max(graph.vertices for graph in parts.train),
        )

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.tasks.graphs.generation.likelihoods import drawn_metrics, graph_rules, likelihood_metrics
        from cutaway.tasks.graphs.generation.sequences import SequenceBatches, fixed_sequences
        from cutaway.training.jobs import Job

        data = self.dataset()
        parts = self.parts(data)
        torch.manual_seed(self.seed)
        model = self.build(parts)
        notes = "\n".join(f"{data.name}: {note}" for note in parts.notes)
        facts: dict[str, Any] = {"summary": data.summary() + (f"\n{notes}" if notes else "")}
        facts |= {"fingerprint": data.fingerprint.to_dict(), "source": self.data}
        facts["meanings"] = dict(self.meanings)
        held = fixed_sequences(parts.validation, parts.bandwidth)
        if held:
            facts["baselines"] = graph_rules(parts.train, parts.validation, parts.bandwidth)
        batch = min(self.batch, len(parts.train))

        def whole(m: "nn.Module") -> dict[str, float]:
            return likelihood_metrics(m, held) | drawn_metrics(m, parts.train, parts.validation) if held else {}

        return Job(
            model=model,
            batches=SequenceBatches(parts.train, parts.bandwidth, batch, self.seed, rank, world),
            objective=lambda m, rows: -m(*(part.to(m.device) for part in rows)).mean(),
            evaluate=lambda m: likelihood_metrics(m, held) if held else {},
            whole=whole,
            units=batch,
            unit="graphs",
            data=facts,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.graphs.generation.likelihoods import drawn_metrics, graph_rules, likelihood_metrics
        from cutaway.tasks.graphs.generation.sequences import fixed_sequences, plain_graphs

        data = self.dataset(run)
        parts, model = self.parts(data), run.model
        graphs = plain_graphs(data.open_test(), self.largest)[0]
        sequences = fixed_sequences(graphs, parts.bandwidth)
        if not sequences:
            raise ValueError(f"there must be a test graph that fits, got none of {len(graphs)}; raise the bandwidth")
        rules = graph_rules(parts.train, graphs, parts.bandwidth)
        found = likelihood_metrics(model, sequences) | drawn_metrics(model, parts.train, graphs)
        return found | {f"baseline_{k}": v for k, v in rules["Erdős–Rényi"]["metrics"].items()}

    def make_samples(
        self,
        run: "Run",
        count: int = 16,
        label: Any = None,
        guidance: float | None = None,
        steps: int | None = None,
        seed: int = 0,
    ) -> "list[Graph]":
        """New graphs; the same seed gives the same ones."""
        from cutaway.tasks.graphs.generation.likelihoods import draw_graphs

        for name, value in (("label", label), ("guidance", guidance), ("steps", steps)):
            if value is not None:
                raise ValueError(f"graphs are drawn without {name}, got {name}={value!r}; leave it out")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise ValueError(f"count must be from 1 to {_MOST:,} graphs, got {count}; call several times for more")
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed must be from -2⁶³ to below 2⁶³, got {seed}; try seed=0")
        return draw_graphs(run.model, count, seed)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """log p of each graph with its vertices in a breadth-first order, the mean of some orders, and by edge."""
        from cutaway.tasks.graphs.generation.likelihoods import graph_scores
        from cutaway.tasks.graphs.generation.sequences import plain_graphs

        rows = self.read_new(inputs)
        largest = max(graph.vertices for graph in rows.graphs)
        return graph_scores(run.model, plain_graphs(rows, max(largest, 1))[0], rows.names)

    def read_new(self, inputs: Any) -> "GraphRows":
        """New graphs: a file or folder, SMILES, or graphs in memory."""
        from cutaway.tasks.graphs.new_graphs import read_new_graphs

        return read_new_graphs(inputs, self.encoding)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """A graph of a path or a SMILES; without one, a graph that it was not trained on, of middling size."""
        from cutaway.tasks.graphs.generation.likelihoods import one_graph
        from cutaway.tasks.graphs.generation.sequences import plain_graphs

        graphs: Sequence[Graph]
        if given is not None:
            graphs, words = plain_graphs(self.read_new(given), 10**9)[0], "your graph"
        else:
            parts = self.parts(self.dataset(run))
            graphs = parts.validation or parts.train
            words = "a graph that it was " + ("not trained on" if parts.validation else "trained on")
        return one_graph(run.model, graphs, words)

    def smaller(self) -> str:
        return f"lower batch={self.batch} or largest={self.largest}"
