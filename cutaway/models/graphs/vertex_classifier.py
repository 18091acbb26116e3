r"""`VertexClassifier` gives every vertex of a graph one of several classes; with ``classes=0``, a value.

    x ← stage(x, graph)                 depth − 1 times
    logits = layer(drop(x), graph)      the last stage is a layer alone

A GCN of two layers is softmax(Â φ(Â X W₀) W₁), Kipf, Welling 2017, eq. 9. Layers that keep their width (recurrent ones,
transformers) stand between a linear map into the width and one out of it. Notes: N3 §7, N4.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.models.base import choose_spec
from cutaway.models.graphs.graph_stages import GraphModel, GraphModelSpec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override


@dataclass(frozen=True, kw_only=True)
class VertexClassifierSpec(GraphModelSpec):
    """How many features of a vertex go in and classes come out, and the stages between."""

    model: ClassVar[str] = "VertexClassifier"

    classes: int  # 0 for a value

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self.task()

    def task(self) -> Task:
        """What is asked of a vertex."""
        return Task("multi-class", self.classes) if self.classes else Task("regression", 1)


class VertexClassifier(GraphModel):
    """logits (vertices, classes), or values (vertices, 1) = VertexClassifier(graph), whose features are ``graph.x``.

    ``stages.s.layer`` is the layer of stage s, with its messages and attention; ``stages.s.output`` the states after.
    """

    kind: ClassVar[type[NamedSpec]] = VertexClassifierSpec
    tasks: ClassVar[tuple[str, ...]] = ("vertices",)
    spec: VertexClassifierSpec

    def __init__(self, spec: VertexClassifierSpec | None = None, **sizes: Any) -> None:
        spec = choose_spec(spec, sizes, VertexClassifierSpec)
        ends_in_layer = not spec.keeps_width
        super().__init__(spec, outputs=spec.task().outputs if ends_in_layer else None)
        self.head = None if ends_in_layer else Head(spec.width, spec.task())

    @override
    def forward(self, graph: Graph) -> Float[Tensor, "n c"]:
        x = self.states(graph)
        return x if self.head is None else self.head(drop(x, self.spec.dropout, self.training))

    @override
    @property
    def head_parts(self) -> tuple[str, ...]:  # type: ignore[override]
        """The addresses of what makes the outputs: the head, else the last layer."""
        return (f"stages.{self.spec.depth - 1}",) if self.head is None else ("head",)

    @override
    @property
    def layer_order(self) -> tuple[str, ...]:  # type: ignore[override]
        """The layers before what makes the outputs."""
        return tuple(f"stages.{s}" for s in range(self.spec.depth - (self.head is None)))

    def with_purpose(self, purpose: str, task: str, outputs: int) -> "VertexClassifier":
        """The same network with a new last part, for other classes (or a value); all other tensors are shared."""
        assert purpose == "vertices"
        new = VertexClassifier(self.spec.but(classes=outputs if task == "multi-class" else 0)).to(self.device)
        last = tuple(f"{part}." for part in self.head_parts)
        body = {name: x for name, x in self.state_dict().items() if not name.startswith(last)}
        new.load_state_dict(body, strict=False, assign=True)
        return new.train(self.training)

    @override
    def embed(self, graph: Graph) -> Float[Tensor, "n w"]:
        """The vector of each vertex: its state before the layer that answers."""
        states = self.every_state(graph)
        if self.head is not None:
            return states[-1]
        if len(states) < 2:
            raise ValueError("a model of one layer has no vectors of vertices before its answer; train with depth=2")
        return states[-2]


__all__ = ["VertexClassifier", "VertexClassifierSpec"]
