r"""Settings of all recipes that give vertices classes or values; one on top names its layer and that layer's settings.

The data is the task `graphs/vertices`; the network and how it learns is `tasks/graphs/learners/vertices.py`.
"""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.graphs.graph_settings import GraphSettings, refuse_signs
from cutaway.recipes.settings import DATA, MACHINE, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.tasks.graphs.learners.vertices import VertexNetwork
    from cutaway.tasks.graphs.vertices import VertexLabels


@dataclass(frozen=True)
class VertexClassifierRecipe(GraphSettings):
    """A model that gives every vertex of a graph one of several classes, or a value."""

    task_kind: ClassVar[str] = "graphs/vertices"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="NAME",
            gives="the name of a vertex, a file of names, or all, in; the class and P(label) of each, or its value, "
            "out; --data and --vertices for another graph",
            everything="all",
        ),
    )

    unit: ClassVar[str] = "nats a vertex; of values, squared deviations"
    needs_labels: ClassVar[bool] = True
    layer: ClassVar[str] = ""  # that the model is made of
    decays_first_layer_only: ClassVar[bool] = False

    edge_features: Literal["auto", "ignore"] = setting("auto", DATA)
    """other columns of the list of edges: read as features, refused where the layers read none; or ignored"""
    task: Literal["auto", "classes", "values"] = setting("auto", DATA)
    """what the target holds; auto: words are classes, and so are at most 50 different whole numbers"""
    value_dropout: float = 0.0
    """share dropped where values are predicted, in place of dropout: they need their few features whole"""
    weight_decay: float = 5e-4
    """pull of the matrices towards zero"""
    patience: int = setting(0, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    best_by: Literal["figure", "loss", "error"] = setting("figure", RESULTS)
    """what says which weights are best on validation: the figure (accuracy of classes, loss of values; of equals the
    least loss), the loss alone, or of classes the error (1 − accuracy), which is the figure under another name"""
    neighbours: str = setting("", MACHINE, "COUNTS")
    """most neighbours taken into a step, for each layer, as in 10,5; "" for the whole graph at once"""
    batch: int = setting(512, MACHINE)
    """vertices in a step where neighbours are sampled; the whole graph is one step"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "value_dropout")
        counts = self.neighbour_counts()
        if counts and len(counts) != self.depth:
            raise ValueError(
                f"neighbours must have a count for each layer, got {self.neighbours!r} for depth={self.depth}; try "
                f"neighbours={','.join(['10'] * self.depth)}"
            )
        if "heads" in {field.name for field in dataclasses.fields(self)}:
            expect_at_least(self, 1, "heads")

    def neighbour_counts(self) -> tuple[int, ...]:
        """The most neighbours of each step outwards; (): all."""
        if not self.neighbours:
            return ()
        parts = self.neighbours.split(",")
        if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
            raise ValueError(
                f"neighbours must be counts with commas between them, got {self.neighbours!r}; try neighbours=10,5"
            )
        return tuple(int(part) for part in parts)

    def layer_name(self) -> str:
        """The kind of layer, of cutaway/models/graphs/layer_kinds.py."""
        return self.layer

    def layer_settings(self) -> dict[str, Any]:
        """The settings of the recipe that the model's spec has under the same name."""
        from cutaway.models.graphs.vertex_classifier import VertexClassifierSpec

        own = {field.name for field in dataclasses.fields(self)}
        shared = {field.name for field in dataclasses.fields(VertexClassifierSpec)} & own - {"frequencies"}
        return {name: getattr(self, name) for name in sorted(shared)}

    def eigenvectors_asked(self) -> int:
        """How many eigenvectors of the Laplacian the model is given; it then belongs to the graph."""
        return 0

    def expect_whole_graph(self, what: str) -> None:
        """Eigenvectors are those of the whole graph, and of an undirected one."""
        if self.directed:
            raise ValueError(f"{what} are of an undirected graph, got directed=True; leave it out")
        if self.neighbours:
            raise ValueError(f"{what} see the whole graph, got neighbours={self.neighbours!r}; leave it out")

    @override
    def read_options(self) -> dict[str, Any]:
        return super().read_options() | {"labels": self.task}

    @override
    def read(self, base: Any = None) -> "VertexLabels":
        from cutaway.tasks.graphs.vertices import VertexLabels

        task = VertexLabels(self)
        self.expect_learnable(task.parts)
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "VertexNetwork":
        from cutaway.tasks.graphs.learners.vertices import VertexNetwork

        return VertexNetwork.new(self, task) if model is None else VertexNetwork(self, task, model)

    def expect_learnable(self, data: "GraphData") -> None:
        """The layers must be able to read what the graph has: weights below 0, features of edges."""
        from cutaway.models.graphs.layer_kinds import LAYERS
        from cutaway.tasks.graphs.edge_inputs import expect_readable_edges

        layer, walks = self.layer_name(), getattr(self, "walks", 0)
        if not LAYERS[layer].takes_signs or walks or self.eigenvectors_asked():
            refuse_signs(data, "walks" if walks else f"{self.name} with layers {layer!r}")
        if self.edge_features != "ignore":
            expect_readable_edges(layer, [data.graph], data.edge_feature_names, data.name)
        if self.best_by == "error" and not data.classes:
            raise ValueError("best_by='error' is for classes, got values to predict; leave it out")

    @override
    def smaller(self) -> str:
        return f"lower width={self.width}, or sample neighbours={','.join(['10'] * self.depth)}"
