r"""`links`: which vertices belong together, and how: friends to be, films one will like, friend or foe, ratings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.graph_settings import GraphSettings
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.learners.pairs import PairNetwork
    from cutaway.tasks.graphs.pairs import PairTask


@dataclass(frozen=True)
class LinksRecipe(GraphSettings):
    """Says how probable a link between two vertices is; of signed edges (weights above and below 0), friend or foe.

    With a target in the list of edges, it tells the class or the value of an edge: friend, foe or unknown; a rating.
    Some edges are taken out of the graph and must be told from pairs without one; messages run over the others alone.
    If edges lead from one kind of vertex to another (people and films), it recommends: `cutaway predict RUN NAME` lists
    the most probable new links of a vertex.
    """

    name: ClassVar[str] = "links"
    task_kind: ClassVar[str] = "graphs/links"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="NAME or pairs.csv",
            gives="pairs of vertices (CSV), or a vertex, in; P(link), class or value of each, or its ten best new "
            "ones, out; --data and --vertices for another graph",
        ),
    )
    quality: ClassVar[str] = (
        "Cora, 10 % of the citations held out: AUC 94 %, average precision 94 % in 6 s of one core; common neighbours "
        "reach an AUC of 71 %. `python benchmarks/run.py graph_links` measures it. Three seeds of `… graph_values`: 14 "
        "relations of words 81 % right (always one 14), ratings of word pairs an RMSE of 2.38 (their habits 2.53)."
    )
    unit: ClassVar[str] = "nats a pair; of values, squared deviations"

    target: str = setting("", DATA)
    """a column of the list of edges with their classes (friend, foe) or values (ratings); weights below 0 need none"""
    task: Literal["auto", "links", "signs", "classes", "values"] = setting("auto", DATA)
    """what is asked: whether there is a link, which of two signs it has, its class, or its value; auto: what target
    holds (at most 50 different whole numbers are classes), signs if weights tell them, else links"""
    bipartite: bool = setting(False, DATA)
    """equal names in the two columns of edges are different vertices (person 1 and film 1)"""
    validation: float = setting(0.05, DATA)
    """share of the links to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the links for `cutaway test`; 0 for none"""
    layer: Literal["gcn", "gat", "gatv2", "gin", "sage", "notes"] = setting("gcn", FIRST)
    """how messages are put together"""
    decoder: Literal["mlp", "dot", "ordered"] = "mlp"
    """how two vertices are compared: by a small network, by their dot product, or each in its place (directed)"""
    width: int = setting(64, FIRST)
    """numbers that a vertex is described by"""
    dropout: float = setting(0.2, FIRST)
    """share of what goes into each layer that is dropped in training"""
    batch: int = setting(8192, FIRST)
    """links asked for in a step, with as many pairs that are none; at most three tenths of the training edges"""
    steps: int = 300
    """optimizer steps, at most"""
    patience: int = setting(15, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    evaluate_every: int = setting(5, RESULTS)
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "batch")

    @override
    def read_options(self) -> dict[str, Any]:
        labels = self.task if self.task in ("classes", "values") else "auto"
        return {"edge_target": self.target, "bipartite": self.bipartite, "labels": labels}

    @override
    def read(self, base: Any = None) -> "PairTask":
        from cutaway.tasks.graphs.edges import EdgeLabels
        from cutaway.tasks.graphs.links import Links

        links = Links(self)
        if not self.asks_for_labels(links.parts):
            return links
        labels = EdgeLabels(self)
        labels.parts = links.parts  # which are read once
        return labels

    def asks_for_labels(self, data: "GraphData") -> bool:
        """Whether classes or values of edges are asked for, and not which pairs are links or which of two signs."""
        if self.task in ("classes", "values") and data.edge_targets is None:
            raise ValueError(
                f"{self.task} of edges need a column that holds them, got none for {data.name}; name it by target"
            )
        return data.edge_targets is not None and self.task != "links" and len(data.edge_classes) != 2

    @override
    def task_of(self, run: "Run") -> "PairTask":
        from cutaway.tasks.graphs.edges import EdgeLabels
        from cutaway.tasks.graphs.links import Links
        from cutaway.tasks.graphs.transfer import has_values

        spec = run.about["spec"]
        labels = spec.get("outputs", 1) > 1 or (spec.get("signed", False) and has_values(run))
        return EdgeLabels(self, run) if labels else Links(self, run)

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "PairNetwork":
        from cutaway.tasks.graphs.learners.pairs import PairNetwork

        return PairNetwork.new(self, task) if model is None else PairNetwork(self, task, model)
