r"""`masked-graph`: a model that restores hidden vertices or edges of a graph, or of many graphs."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.graph_settings import GraphSettings, refuse_signs
from cutaway.recipes.settings import DATA, FIRST, MODEL, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.graphs.masked import RestoredGraphs
    from cutaway.tasks.graphs.masking.parts import MaskedData
    from cutaway.tasks.graphs.masking.restorer import GraphRestorer

_STEPS, _EPOCHS, _MOST = 60, 30, 4000  # steps on one graph; times through many, and steps at most


@dataclass(frozen=True)
class MaskedGraphRecipe(GraphSettings):
    """Learns how the vertices of graphs go together: features of vertices, or edges, are hidden and restored.

    It needs no label. Data is one graph (as for gcn) or many (molecules, TU files: as for gin). One-hot features, such
    as kinds of atoms, are restored as kinds; others by their direction. `cutaway tune` makes a classifier of vertices
    or of graphs of it.
    """

    name: ClassVar[str] = "masked-graph"
    task_kind: ClassVar[str] = "graphs/masked"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="NAME or molecules.csv",
            gives="the name of a vertex (or graphs, or SMILES) in; what each vertex would be, by its neighbours alone, "
            "out",
        ),
        Offer("embed"),
        Offer("nearest", noun="vertices"),
        Offer("look", takes="NAME"),
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "heads", "batch", "power")
        for name in ("hidden", "hidden_edges"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be above 0 and below 1, got {getattr(self, name)}; try {name}=0.5")

    def shares(self) -> tuple[float, float]:
        """Shares of vertices and of edges that are hidden."""
        return (
            self.hidden if self.hide in ("vertices", "both") else 0.0,
            self.hidden_edges if self.hide in ("edges", "both") else 0.0,
        )

    @override
    def read(self, base: Any = None) -> "RestoredGraphs":
        from cutaway.tasks.graphs.edge_inputs import expect_readable_edges
        from cutaway.tasks.graphs.masked import RestoredGraphs

        task = RestoredGraphs(self)
        parts = task.parts
        if self.layer != "auto" and self.edge_features != "ignore":
            names = parts.data.edge_feature_names
            expect_readable_edges(self.layer, parts.some_graphs(), names, parts.data.name)
        return task

    @override
    def settled(self, task: Any, base: Any = None) -> "MaskedGraphRecipe":
        """New settings, in which what depends on one graph or many is chosen."""
        from cutaway.models.graphs.layer_kinds import LAYERS

        many, parts = task.many, task.parts
        usual = min(_EPOCHS * max(1, len(parts.data.train) // parts.units), _MOST) if many else _STEPS
        steps = self.steps or usual
        chosen: dict[str, Any] = {
            "layer": self.layer if self.layer != "auto" else "gin" if many else "gcn",
            "norm": self.norm if self.norm != "auto" else "layer" if many else "none",
            "depth": self.depth or (4 if many else 2),
            "steps": steps,
            "evaluate_every": self.evaluate_every or max(20, -(-steps // 20)),
            "checkpoint_every": self.checkpoint_every or max(20, -(-steps // 4)),
        }
        if not many and not LAYERS[chosen["layer"]].takes_signs:
            refuse_signs(parts.data, f"layers {chosen['layer']!r}")
        return dataclasses.replace(self, **chosen)

    def network(self, data: "MaskedData") -> "nn.Module":
        """The untrained model."""
        import torch

        from cutaway.models.graphs.graph_encoder import GraphEncoder
        from cutaway.tasks.graphs.edge_inputs import edge_settings

        torch.manual_seed(self.seed)
        return GraphEncoder(
            inputs=data.inputs,
            **edge_settings(self.layer, data.some_graphs(), self.edge_features == "ignore"),
            layer=self.layer,
            width=self.width,
            depth=self.depth,
            heads=self.heads if self.layer in ("gat", "gatv2") else 1,
            norm=self.norm,
            dropout=self.dropout,
        )

    @override
    def build(self, task: Any, base: Any = None, model: "nn.Module | None" = None) -> "GraphRestorer":
        from cutaway.tasks.graphs.masking.restorer import GraphRestorer

        return GraphRestorer(self, task, self.network(task.parts) if model is None else model)

    @override
    def smaller(self) -> str:
        return f"lower width={self.width} or batch={self.batch}"
