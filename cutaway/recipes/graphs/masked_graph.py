r"""`masked-graph`: a model that restores hidden vertices or edges of a graph, or of many graphs."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.data.stored import find_stored
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.graph_settings import GraphRecipe, refuse_signs
from cutaway.recipes.settings import DATA, FIRST, MODEL, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.masked_data import MaskedData
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

ABOUT = "features.json"  # in the run folder: the names of the features, and how they are scaled
_STEPS, _EPOCHS, _MOST = 60, 30, 4000  # steps on one graph; times through many, and steps at most


@dataclass(frozen=True)
class MaskedGraphRecipe(GraphRecipe):
    """Learns how the vertices of graphs go together: features of vertices, or edges, are hidden and restored.

    It needs no label. Data is one graph (as for gcn) or many (molecules, TU files: as for gin). One-hot features, such
    as kinds of atoms, are restored as kinds; others by their direction. `cutaway tune` makes a classifier of vertices
    or of graphs of it.
    """

    name: ClassVar[str] = "masked-graph"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="NAME or molecules.csv",
            gives="the name of a vertex (or graphs, or SMILES) in; what each vertex would be, by its neighbours alone, "
            "out",
        ),
        Offer("embed"),
    )
    open_settings: ClassVar[tuple[str, ...]] = ("steps", "depth", "evaluate_every", "checkpoint_every")
    quality: ClassVar[str] = (
        "Cora, hidden features of held-out vertices: cosine 0.275 (the neighbours' mean 0.256, the mean of all 0.236), "
        "14 s of one core with the report; tuned to the public 140 labels, a head gives 77.8 % of the validation "
        "vertices their class, LoRA 79.0 %."
    )
    unit: ClassVar[str] = "nats a kind or pair; of features (1 − cosine)²"
    memory: ClassVar[str] = "cutaway.data.stored:keep_graph_or_graphs"

    data: str = "citations"
    """one graph (edges in a CSV, GraphML, .npz), many (a CSV of SMILES, a folder or .txt of graphs), or a sample"""
    graphs: Literal["auto", "one", "many"] = setting("auto", DATA)
    """whether the data is one graph or many: auto finds it"""
    edge_features: Literal["auto", "ignore"] = setting("auto", DATA)
    """features of edges: read, and refused where the layers that were named read none; or ignored"""
    hide: Literal["vertices", "edges", "both"] = setting("vertices", FIRST)
    """what is hidden: features of vertices, edges, or both"""
    hidden: float = setting(0.5, FIRST)
    """share of the vertices whose features are hidden in a step"""
    hidden_edges: float = setting(0.3, MODEL)
    """share of the edges that are hidden in a step"""
    features: Literal["auto", "rows", "columns", "as given", "identity"] = setting("auto", DATA)
    """scale of the features: as for gcn; auto: counts as given, measurements by columns"""
    power: float = 2.0
    """γ of the scaled cosine error, by which features that are no kinds are compared"""
    validation: float = setting(0.1, DATA)
    """share of the vertices, edges or graphs to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of them for `cutaway test`; 0 for none"""
    layer: Literal["auto", "gcn", "gat", "gatv2", "gin", "sage", "notes"] = setting("auto", MODEL)
    """how messages are put together; auto: gcn for one graph, gin for many"""
    heads: int = 4
    """of layers with attention"""
    norm: Literal["auto", "none", "layer", "batch"] = "auto"
    """what brings the values after a layer to one scale; auto: none for one graph, layer for many"""
    width: int = setting(128, FIRST)
    """numbers that a vertex is described by"""
    depth: int = setting(0, FIRST)
    """layers: how many edges away a vertex can see; 0 for 2 in one graph, 4 in many"""
    dropout: float = setting(0.2, MODEL)
    """share of what goes into each layer that is dropped in training"""
    batch: int = setting(32, FIRST)
    """graphs in a batch; one graph is a batch by itself"""
    steps: int = setting(0, FIRST)
    """optimizer steps, at most; 0 for 60 of one graph, and for 30 times through many (at most 4,000)"""
    rate: float = 3e-3
    """full learning rate"""
    patience: int = setting(0, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    evaluate_every: int = setting(0, RESULTS)
    """steps between evaluations; 0 for 20 evaluations at most"""
    checkpoint_every: int = setting(0, RESULTS)
    """steps between checkpoints; 0 for 4 in all"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "heads", "batch", "power")
        for name in ("hidden", "hidden_edges"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be above 0 and below 1, got {getattr(self, name)}; try {name}=0.5")

    def settled(self, task: Any = None, base: Any = None) -> "MaskedGraphRecipe":
        """The recipe with what depends on one graph or many chosen."""
        from cutaway.models.graphs.layer_kinds import LAYERS
        from cutaway.tasks.graphs.edge_inputs import expect_readable_edges

        many = self.holds_many()
        steps = self.steps
        data: Any = self.masked_data()
        if not steps and many:
            steps = min(_EPOCHS * max(1, len(data.data.train) // data.units), _MOST)
        steps = steps or _STEPS
        changed = dataclasses.replace(
            self,
            layer=self.layer if self.layer != "auto" else "gin" if many else "gcn",
            norm=self.norm if self.norm != "auto" else "layer" if many else "none",
            depth=self.depth or (4 if many else 2),
            steps=steps,
            evaluate_every=self.evaluate_every or max(20, -(-steps // 20)),
            checkpoint_every=self.checkpoint_every or max(20, -(-steps // 4)),
        )
        if self.layer != "auto" and self.edge_features != "ignore":
            expect_readable_edges(self.layer, data.some_graphs(), data.data.edge_feature_names, data.data.name)
        if not many and not LAYERS[changed.layer].takes_signs:
            refuse_signs(data.data, f"layers {changed.layer!r}")
        object.__setattr__(changed, "_read_data", data)
        return changed

    def shares(self) -> tuple[float, float]:
        """Shares of vertices and of edges that are hidden."""
        return (
            self.hidden if self.hide in ("vertices", "both") else 0.0,
            self.hidden_edges if self.hide in ("edges", "both") else 0.0,
        )

    def holds_many(self) -> bool:
        """Whether the data is many graphs."""
        from cutaway.data.kinds import looks_like_many

        if self.graphs != "auto" or find_stored(self.data) is not None:
            return self.graphs == "many"
        return looks_like_many(self.data, self.encoding)

    def masked_data(self, run: "Run | None" = None) -> "MaskedData":
        """The graph, or the graphs, and what is hidden of them; those of a ``run`` must be as they were."""
        from cutaway.tasks.graphs.masked_data import MaskedGraphs, OneMaskedGraph

        return MaskedGraphs(self, run) if self.holds_many() else OneMaskedGraph(self, run)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.atomic_files import write_json
        from cutaway.models.graphs.graph_encoder import GraphEncoder
        from cutaway.tasks.graphs.edge_inputs import edge_settings, edges_in_words
        from cutaway.training.jobs import Job

        if not self.steps or not self.depth or "auto" in (self.layer, self.norm):
            return self.settled().job(rank, world)
        data = getattr(self, "_read_data", None) or self.masked_data()
        torch.manual_seed(self.seed)
        settings = edge_settings(self.layer, data.some_graphs(), self.edge_features == "ignore")
        model = GraphEncoder(
            inputs=data.inputs,
            **settings,
            layer=self.layer,
            width=self.width,
            depth=self.depth,
            heads=self.heads if self.layer in ("gat", "gatv2") else 1,
            norm=self.norm,
            dropout=self.dropout,
        )
        facts = data.facts()
        facts["summary"] += edges_in_words(settings, self.layer, data.some_graphs(), data.data.edge_feature_names)
        if self.hide == "edges":
            facts["loss_unit"] = "nats a pair"
        elif self.hide == "vertices":
            facts["loss_unit"] = "nats a kind" if data.restoration.kinds else f"(1 − cosine)^{self.power:g}"
        files: "dict[str, Callable[[Path], None]]" = {ABOUT: lambda path: write_json(path, data.about())}
        files |= data.files()
        held = data.held_parts()
        if held is not None:
            facts["baselines"] = data.restoration.baselines(held, data.known_rows())

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return {} if held is None else data.restoration.metrics(m, held)

        return Job(
            model=model,
            batches=data.batches(rank, world),
            objective=data.restoration.cost,
            evaluate=evaluate,
            whole=evaluate,
            units=data.units,
            unit=data.unit,
            files=files,
            data=facts,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        data = self.masked_data(run)
        parts = data.test_parts()
        naive = data.restoration.baselines(parts, data.known_rows())
        best: dict[str, float] = {}
        for one in naive.values():
            for name, value in one["metrics"].items():
                best[f"baseline_{name}"] = max(value, best.get(f"baseline_{name}", value))
        return data.restoration.metrics(run.model, parts) | best

    def vertex_vectors(self, run: "Run") -> "tuple[Sequence[str], Tensor]":
        from cutaway.tasks.graphs.vertex_features import embedded_vertices

        if self.holds_many():
            raise self._cannot("embed vertices by their names, as it is of many graphs")
        data: Any = self.masked_data(run)
        return data.data.names, embedded_vertices(run.model, data.graph)

    def read_inputs(self, source: str) -> Any:
        from cutaway.tasks.graphs.vertex_names import read_names

        return source if self.holds_many() else read_names(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """What each vertex would be by its neighbours: its kinds with P(kind), or its strongest features."""
        from cutaway.tasks.graphs.restored_vertices import restored_graphs, restored_named

        if self.holds_many():
            return restored_graphs(run, inputs, self.encoding)
        return restored_named(run, self.masked_data(run), inputs)

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """A vector for each vertex that is named; of a run on many graphs, for each new graph: its vertices' mean."""
        from cutaway.tasks.graphs.restored_vertices import vectors_of_graphs

        return vectors_of_graphs(run, inputs, self.encoding)[1] if self.holds_many() else super().embed(run, inputs)

    def embedded_items(
        self, run: "Run", source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], Any]]":
        from cutaway.tasks.graphs.new_graphs import read_new_graphs
        from cutaway.tasks.graphs.restored_vertices import features_of

        if not self.holds_many():
            yield from super().embedded_items(run, source, column, encoding)
            return
        yield list(read_new_graphs(source, encoding, features_of(run)).names), source

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The graph, or some graphs that it was not trained on; nothing is hidden of them."""
        from cutaway.tasks.graphs.restored_vertices import graph_subject

        return graph_subject(run, self, given)

    def smaller(self) -> str:
        return f"lower width={self.width} or batch={self.batch}"


__all__ = ["ABOUT", "MaskedGraphRecipe"]
