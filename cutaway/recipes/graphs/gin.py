r"""`gin`: the class or value of a whole graph: molecules, proteins, small networks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe, without_idle_patience
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.graphs.graph_set import GraphSet
    from cutaway.tasks.graphs.graph_networks import GraphNetwork
    from cutaway.tasks.graphs.whole_graphs import WholeGraphs


@dataclass(frozen=True)
class GINRecipe(Recipe):
    """Gives a whole graph one class, or a value, by sums over neighbours (GIN): the strongest kind of messages.

    Data: a CSV of molecules (SMILES) and a target, a folder of graphs, TU files, or a .txt as of MUTAG. Whether the
    target is a class or a value is found by its looks. A random forest that sees no edges stands beside it.
    """

    name: ClassVar[str] = "gin"
    task_kind: ClassVar[str] = "graphs/whole_graphs"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="molecules.csv",
            gives="molecules (a SMILES, or a CSV of them) or graphs in; the class or value of each out",
        ),
        Offer("embed"),
    )
    memory: ClassVar[str] = "cutaway.data.stored:keep_graphs"
    quality: ClassVar[str] = (
        "Nested 10-fold cross-validation: PROTEINS 75.5 ± 3.0 % (a random forest without edges 71.7 ± 2.9; published, "
        "with the epoch chosen on the test folds, 76.2 ± 2.8), MUTAG 84.6 ± 7.6 (85.6 ± 4.7; 89.4 ± 5.6, ours "
        "so chosen 89.3). `python benchmarks/run.py graph_folds` measures it, `… molecules` BBBP and ESOL."
    )
    unit: ClassVar[str] = "nats a graph; of values, squared deviations"

    data: str = "trees"
    """a CSV with a column of SMILES and a target, a folder or .txt of graphs, or an embedded sample"""
    target: str = setting("", DATA)
    """the column of the target in a table of molecules (default: one with a usual name)"""
    split: Literal["random", "scaffold"] = setting("random", DATA)
    """how graphs are divided; scaffold: molecules with one skeleton stay together, so that the test has new ones"""
    validation: float = setting(0.1, DATA)
    """share of the graphs to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the graphs for `cutaway test`; 0 for none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""
    edge_features: Literal["auto", "ignore"] = setting("auto", DATA)
    """features of edges, as the kinds of bonds: read, and refused where the layers read none; or ignored"""

    layer: Literal["gin", "gcn", "gat", "gatv2", "sage", "notes"] = setting("gin", FIRST)
    """how messages are put together"""
    width: int = setting(64, FIRST)
    """numbers that a vertex is described by between layers"""
    depth: int = setting(4, FIRST)
    """layers: how many edges away a vertex can see"""
    readout: Literal["sum", "mean", "max", "attention", "global"] = "sum"
    """how the vertices of a graph become one vector; global: the state of a vertex that is joined to all of them"""
    pooling: Literal["none", "clusters"] = "none"
    """clusters: after half of the layers, pairs of neighbours become one vertex"""
    jumping: bool = True
    """read out every layer, not the last alone"""
    dropout: float = 0.3
    """share of what is known of a graph that is dropped in training, before the output"""
    norm: Literal["batch", "layer", "none"] = "batch"
    """what brings the values after a layer to one scale"""
    batch: int = setting(32, FIRST)
    """graphs in a batch; fewer are taken whole"""
    steps: int = 1000
    """optimizer steps, at most"""
    rate: float = 3e-3
    """full learning rate"""
    beta: float = 0.99
    """how long Adam remembers squared gradients"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    patience: int = setting(10, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    evaluate_every: int = setting(25, RESULTS)
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, "width", "depth")

    @override
    def read(self, base: Any = None) -> "WholeGraphs":
        from cutaway.tasks.graphs.edge_inputs import expect_readable_edges
        from cutaway.tasks.graphs.whole_graphs import WholeGraphs

        task = WholeGraphs(self)
        parts = task.parts
        if self.edge_features != "ignore":
            expect_readable_edges(self.layer, parts.train.graphs, parts.edge_feature_names, parts.name)
        return task

    @override
    def settled(self, task: Any, base: Any = None) -> "Recipe":
        return without_idle_patience(self)

    def network(self, data: "GraphSet") -> "nn.Module":
        """The untrained model."""
        import torch

        from cutaway.models.graphs.graph_predictor import GraphPredictor
        from cutaway.tasks.graphs.edge_inputs import edge_settings

        torch.manual_seed(self.seed)
        graph = data.train.graphs[0]
        return GraphPredictor(
            task="multi-class" if data.classes else "regression",
            outputs=len(data.classes) or 1,
            inputs=1 if graph.x is None else graph.x.shape[1],
            **edge_settings(self.layer, data.train.graphs, self.edge_features == "ignore"),
            layer=self.layer,
            width=self.width,
            depth=self.depth,
            readout=self.readout,
            pooling=self.pooling,
            jumping=self.jumping,
            norm=self.norm,
            head_dropout=self.dropout,
        )

    @override
    def build(self, task: Any, base: Any = None, model: "nn.Module | None" = None) -> "GraphNetwork":
        from cutaway.tasks.graphs.graph_networks import GraphNetwork

        return GraphNetwork(self, task, self.network(task.parts) if model is None else model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch} or width={self.width}"
