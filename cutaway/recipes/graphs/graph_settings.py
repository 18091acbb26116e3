r"""Settings of all recipes for one graph: where its edges and vertices are, how they are read, how training goes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.optimizers.names import Optimizer
from cutaway.training.optimizers.schedules import Shape

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.data.graphs.raw_graphs import GraphColumns

# of runs whose model has a vector for every vertex of their graph
VERTEX_OFFERS = (Offer("embed"), Offer("nearest", noun="vertices"), Offer("look", takes="NAME"))


@dataclass(frozen=True)
class GraphSettings(Recipe):
    """A model of one graph."""

    abilities: ClassVar[tuple[Offer, ...]] = VERTEX_OFFERS
    memory: ClassVar[str] = "cutaway.data.stored:keep_graph"
    needs_labels: ClassVar[bool] = False  # whether a graph without classes is refused

    data: str = "citations"
    """a list of edges (CSV, TSV, Parquet), GraphML, JSON, Pajek, Matrix Market, an .npz, or an embedded sample"""
    vertices: str = setting("", DATA, "PATH")
    """a table of the vertices beside the edges: their id, features, and the target"""
    target: str = setting("", DATA)
    """the column of classes in the table of vertices (default: one called label or class)"""
    directed: bool = setting(False, DATA)
    """messages go from the first vertex of an edge to the second alone"""
    weight: str = setting("", DATA)
    """the column of weights in the list of edges (default: one called weight)"""
    repeats: Literal["auto", "add", "first", "last", "keep"] = setting("auto", DATA)
    """an edge that comes again; auto: kept once, its weights add up, and refused if features or labels contradict; add:
    each counts; first, last: that one is taken; keep: edges of their own"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a list of edges holds the names of its columns (default: by its looks)"""
    features: Literal["auto", "rows", "columns", "as given", "identity"] = setting("auto", DATA)
    """scale of the features: each row sums to 1 (words), each column has spread 1 (measurements), as given, or none of
    them but a learned vector for every vertex (identity); auto: by what they look like"""
    validation: float = setting(0.2, DATA)
    """share to evaluate on; 0 for none; data with a split of its own keeps it"""
    test: float = setting(0.2, DATA)
    """share for `cutaway test`; 0 for none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""

    width: int = setting(16, FIRST)
    """numbers that a vertex is described by between layers"""
    depth: int = setting(2, FIRST)
    """layers: how many edges away a vertex can see"""
    dropout: float = setting(0.5, FIRST)
    """share of what goes into each layer that is dropped in training"""

    steps: int = 200
    """optimizer steps, at most"""
    optimizer: Optimizer = "adam"
    """rule that turns gradients into steps"""
    rate: float = 0.01
    """full learning rate"""
    schedule: Shape = "constant"
    """shape of the learning rate over the steps"""
    beta: float = 0.999
    """how long Adam remembers squared gradients"""
    clip: float = 0.0
    """longest gradient allowed; 0 for any"""
    evaluate_every: int = setting(1, RESULTS)
    """steps between evaluations"""
    checkpoint_every: int = setting(100, RESULTS)
    """steps between checkpoints"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, *(name for name in ("width", "depth") if name not in self.open_settings))
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs something to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    def read_graph(self, source: Any, vertices: Any = None, like: "GraphColumns | None" = None) -> "GraphData":
        """A graph by these settings, from a path or from memory.

        ``like`` are the columns of another graph, which its features are then made of.
        """
        from cutaway.data.graphs.graph_data import read_graph

        return read_graph(
            source,
            vertices=vertices,
            directed=self.directed,
            weight=self.weight or None,
            validation=self.validation,
            test=self.test,
            seed=self.seed,
            encoding=self.encoding,
            header=self.header,
            repeats=self.repeats,
            like=like,
            **self.read_options(),
        )

    def read_options(self) -> dict[str, Any]:
        """What else `read_graph` is to be told: by default, the column of the vertices' classes."""
        return {"target": self.target, "labelled": self.needs_labels}

    @override
    def smaller(self) -> str:
        return f"lower width={self.width} or depth={self.depth}"


def refuse_signs(data: "GraphData", what: str) -> None:
    """Stops at weights below 0, for ``what`` cannot take them."""
    weights = data.graph.weights
    if weights is None or not len(weights) or float(weights.min()) >= 0:
        return
    low = int(weights.argmin())
    a, b = (data.names[int(v)] for v in data.graph.edges[:, low])
    raise ValueError(
        f"{what} need weights of 0 or more, since they divide by their sums, got {float(weights[low]):g} for {a} – "
        f"{b} in {data.name}; write the sizes of the weights, or name another column by weight"
    )
