r"""`graph-rnn`: learns from a set of graphs, and draws new ones, vertex by vertex."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe, without_idle_patience
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.graphs.generate import DrawnGraphs, SimpleGraphs
    from cutaway.tasks.graphs.generation.autoregressive import VertexByVertex


@dataclass(frozen=True)
class GraphRNNRecipe(Recipe):
    """Learns from a set of graphs and draws new ones: vertex by vertex, each with its edges to those before it.

    Data as for gin; targets are not needed, and features, weights and self-loops are left out: it learns the shape
    alone. `cutaway sample RUN --count 8` draws graphs, `cutaway predict RUN graphs/` tells how likely each graph is.
    """

    name: ClassVar[str] = "graph-rnn"
    task_kind: ClassVar[str] = "graphs/generate"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="graphs/",
            gives="graphs in; log p of each (nats), with the vertices in breadth-first order, out",
        ),
        Offer("sample", writer="cutaway.runs.sampled_graphs"),
    )
    memory: ClassVar[str] = "cutaway.tasks.graphs.generate:keep_several"
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, "width", "depth", "edge_width")
        expect_at_least(self, 0, "bandwidth")
        expect_at_least(self, 2, "largest")

    @override
    def read(self, base: Any = None) -> "DrawnGraphs":
        from cutaway.tasks.graphs.generate import DrawnGraphs

        task = DrawnGraphs(self)
        task.simple  # noqa: B018 -- reads them
        return task

    @override
    def settled(self, task: Any, base: Any = None) -> "Recipe":
        return without_idle_patience(self)

    def network(self, graphs: "SimpleGraphs") -> "nn.Module":
        """The untrained model; graphs that it draws are at most twice as large as those of training."""
        import torch

        from cutaway.models.graphs.graph_rnn import GraphRNN

        torch.manual_seed(self.seed)
        return GraphRNN(
            bandwidth=graphs.bandwidth,
            width=self.width,
            depth=self.depth,
            edges=self.edges,
            edge_width=self.edge_width,
            dropout=self.dropout,
            largest=2 * max(graph.vertices for graph in graphs.train),
        )

    @override
    def build(self, task: Any, base: Any = None, model: "nn.Module | None" = None) -> "VertexByVertex":
        from cutaway.tasks.graphs.generation.autoregressive import VertexByVertex

        return VertexByVertex(self, task, self.network(task.simple) if model is None else model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch} or largest={self.largest}"
