r"""`GraphPredictor` gives a whole graph one of several classes, or a value.

    x_s = stage_s(x_{s−1}, graph)                      s = 1 … depth
    x, graph ← pooled by clusters                      with ``pooling``, once, after half of the stages
    z = [readout(x_1), …, readout(x_depth)]            jumping: what is near and what is far, side by side
    outputs = drop(φ(norm(z) W + b)) W' + b'           one row for every graph

Xu et al. 2019, "How powerful are graph neural networks", §4.2 (GIN with the readouts of all layers); without
``jumping`` the last readout alone. The readout "global" is the state of a vertex that is joined to all others (Gilmer
et al. 2017). Clusters are pairs of neighbours (Defferrard et al. 2016, §2.2); between equal edges their order decides,
so that with them, and with them alone, the order of a graph's edges counts a little. Notes: N3 §7, N4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_probability
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense
from cutaway.blocks.graph_layers.cluster_pooling import coarsen, match_neighbours, pool_clusters
from cutaway.blocks.graph_layers.readouts import (
    AttentionReadout,
    add_global_vertex,
    readout_global,
    readout_max,
    readout_mean,
    readout_sum,
)
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.inside.taps import Tap
from cutaway.models.base import choose_spec
from cutaway.models.graphs.graph_stages import NORMS, GraphModel, GraphModelSpec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

READOUTS: dict[str, Callable[[Tensor, Graph], Tensor]] = {
    "sum": readout_sum,
    "mean": readout_mean,
    "max": readout_max,
    "global": readout_global,
}
POOLINGS = ("none", "clusters")


@dataclass(frozen=True, kw_only=True)
class GraphPredictorSpec(GraphModelSpec):
    """Features of vertices and edges in, the outputs of a task for each graph out."""

    model: ClassVar[str] = "GraphPredictor"

    task: str  # multi-class | regression
    outputs: int = 1
    readout: str = "sum"  # sum | mean | max | attention | global
    pooling: str = "none"  # none | clusters
    jumping: bool = True
    head_dropout: float = 0.0

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        Task(self.task, self.outputs)
        expect_probability(head_dropout=self.head_dropout)
        expect_choice("readout", self.readout, (*READOUTS, "attention"))
        expect_choice("pooling", self.pooling, POOLINGS)
        if self.pooling == "clusters" and (self.readout == "global" or self.depth < 2):
            raise ValueError(
                f"pooling by clusters needs two layers and a readout of all vertices, got depth={self.depth}, readout="
                f"{self.readout!r}; try depth=4, readout='sum'"
            )


class GraphPredictor(GraphModel):
    """outputs (graphs, outputs) = GraphPredictor(graph), of a graph that may hold several. Tap: ``pooled``."""

    kind: ClassVar[type[NamedSpec]] = GraphPredictorSpec
    tasks: ClassVar[tuple[str, ...]] = ("graphs",)
    layer_order: ClassVar[tuple[str, ...]] = ("stages.*",)
    graph_vectors: ClassVar[str] = "hidden"
    spec: GraphPredictorSpec

    def __init__(self, spec: GraphPredictorSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, GraphPredictorSpec))
        spec = self.spec
        parts = spec.depth if spec.jumping else 1
        learned = [AttentionReadout(spec.width) for _ in range(parts)] if spec.readout == "attention" else []
        self.readouts = nn.ModuleList(learned)
        self.pooled = Tap()
        norm = NORMS[spec.norm]
        self.norm = None if norm is None else norm(parts * spec.width)  # sums grow with the graph: to one scale
        self.hidden = Dense(parts * spec.width, spec.width, find_activation(spec.activation))
        self.head = Head(spec.width, Task(spec.task, spec.outputs))

    @override
    def forward(self, graph: Graph) -> Float[Tensor, "g o"]:
        return self.decide(self.represent(graph))

    @override
    def represent(self, *inputs: Any, **options: Any) -> Float[Tensor, "g w"]:
        """What the head reads: a vector for each graph."""
        graph = inputs[0] if inputs else options["graph"]
        states = self.states_and_graphs(graph)
        states = states if self.spec.jumping else states[-1:]
        readouts: list[Any] = list(self.readouts) or [READOUTS[self.spec.readout]] * len(states)
        z = torch.cat([readout(x, over) for readout, (x, over) in zip(readouts, states, strict=True)], -1)
        if self.pooled.live:
            z = self.pooled(z)
        if self.norm is not None:
            z = self.norm(z)
        return self.hidden(z)

    @override
    def embed(self, graph: Graph) -> Float[Tensor, "g w"]:
        """The vector of each graph: what is known of it before the model answers."""
        return self.represent(graph)

    @override
    def decide(self, representation: Tensor, mask: Tensor | None = None) -> Float[Tensor, "g o"]:
        """The outputs of the task for what `represent` gave."""
        return self.head(drop(representation, self.spec.head_dropout, self.training))

    def with_purpose(self, purpose: str, task: str, outputs: int) -> "GraphPredictor":
        """The same network under a new head, which begins at 0; all other tensors are shared."""
        assert purpose == "graphs"
        new = GraphPredictor(self.spec.but(task=task, outputs=outputs)).to(self.device)
        for parameter in new.head.parameters():
            nn.init.zeros_(parameter)
        body = {name: x for name, x in self.state_dict().items() if not name.startswith("head.")}
        new.load_state_dict(body, strict=False, assign=True)
        return new.train(self.training)

    def states_and_graphs(self, graph: Graph) -> list[tuple[Tensor, Graph]]:
        """The states after each stage, and the graph whose vertices they are of."""
        if self.spec.readout == "global":
            graph = add_global_vertex(graph)
        x, found = self.enter_features(graph), []
        graph = self.wired(graph)
        for number, stage in enumerate(self.stages):
            if self.spec.pooling == "clusters" and number == self.spec.depth // 2:
                clusters = match_neighbours(graph)
                x, graph = pool_clusters(x, clusters), coarsen(graph.with_x(None), clusters)
            x = stage(x, graph)
            found.append((x, graph))
        return found


__all__ = ["POOLINGS", "READOUTS", "GraphPredictor", "GraphPredictorSpec"]
