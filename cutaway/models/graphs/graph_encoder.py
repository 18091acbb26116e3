r"""`GraphEncoder` restores what is hidden of a graph; under another head it gives vertices or graphs what is asked.

    x_v = h                          a hidden vertex: a learned vector in place of its features x_v W + b
    z = stages(x, graph)
    restore    x̂ = layer(z with hidden vertices at 0, graph)         features from the neighbours' states
               score(u, v) = d (ẑ_u ⊙ ẑ_v) w + b,  ẑ = z/|z|           whether a hidden edge was there; d the width
    vertices   s = √d ẑ W + b                                        classes or values of vertices
    graphs     s = norm([readout(z_1), …, readout(z_depth)]) W + b   classes or values of whole graphs

Hou et al. 2022 (GraphMAE: hidden features, hidden once more before the decoder); Hu et al. 2020 (kinds of atoms); Kipf,
Welling 2016 (edges). Notes: N3 §7, §8.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.blocks.norms.batch import BatchNorm
from cutaway.inside.taps import Tap
from cutaway.models.base import choose_spec
from cutaway.models.graphs.graph_predictor import READOUTS as EVERY_READOUT
from cutaway.models.graphs.graph_stages import GraphModel, GraphModelSpec, GraphStage
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

PURPOSES = ("restore", "vertices", "graphs")
READOUTS = {name: EVERY_READOUT[name] for name in ("sum", "mean", "max")}


@dataclass(frozen=True, kw_only=True)
class GraphEncoderSpec(GraphModelSpec):
    """Features of vertices in; the ``purpose`` says what comes out, and ``task`` and ``outputs`` which."""

    model: ClassVar[str] = "GraphEncoder"

    purpose: str = "restore"  # restore | vertices | graphs
    task: str = "multi-class"  # of vertices or graphs: multi-class | regression
    outputs: int = 2
    readout: str = "mean"  # of graphs: sum | mean | max

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("purpose", self.purpose, PURPOSES)
        expect_choice("readout", self.readout, READOUTS)
        if self.purpose != "restore":
            Task(self.task, self.outputs)

    @override
    @property
    def keeps_width(self) -> bool:
        """Features always enter by a linear map, so that a hidden vertex has a vector in their place."""
        return True


class ReadoutHead(nn.Module):
    """s = norm(z) W + b, of what was read out of graphs (b, w): sums grow with a graph, so they come to one scale."""

    def __init__(self, width: int, task: Task) -> None:
        super().__init__()
        self.norm = BatchNorm(width)
        self.outputs = Head(width, task)

    @override
    def forward(self, z: Float[Tensor, "b w"]) -> Float[Tensor, "b o"]:
        return self.outputs(self.norm(z))

    @torch.no_grad()
    def measure(self, z: Float[Tensor, "b w"]) -> None:
        """Takes the mean and variance of some graphs as those that evaluation divides by."""
        self.norm.running_mean.copy_(z.mean(0))
        self.norm.running_var.copy_(z.var(0, unbiased=False).clamp(min=1e-6))


class GraphEncoder(GraphModel):
    """restored (vertices, features) = GraphEncoder(graph, hidden), ``hidden`` (vertices,) True where to restore.

    For vertices, logits (vertices, outputs); for graphs, outputs (graphs, outputs). `score` tells how probable edges
    between states are. Tap: ``pooled``, what is read out of graphs.
    """

    kind: ClassVar[type[NamedSpec]] = GraphEncoderSpec
    tasks: ClassVar[tuple[str, ...]] = ("vertices", "graphs")
    graph_vectors: ClassVar[str] = "pooled"
    layer_order: ClassVar[tuple[str, ...]] = ("stages.*",)
    spec: GraphEncoderSpec

    def __init__(self, spec: GraphEncoderSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, GraphEncoderSpec))
        spec = self.spec
        assert self.enter is not None
        if self.enter.bias is not None:
            nn.init.zeros_(self.enter.bias)  # few words make short vectors, which a bias would drown
        self.hidden = nn.Parameter(torch.zeros(spec.width))
        restores = spec.purpose == "restore"
        self.decoder = GraphStage(spec.but(dropout=0.0), spec.width, spec.inputs, bare=True) if restores else None
        self.pairs = Linear(spec.width, 1) if restores else None
        if self.pairs is not None:
            nn.init.constant_(self.pairs.weight, 4 / spec.width)  # alike vertices are joined, until more is known
            nn.init.zeros_(self.pairs.bias)  # type: ignore[arg-type]
        self.pooled = Tap() if spec.purpose == "graphs" else None
        self.head: Head | ReadoutHead | None = None
        if not restores:
            asked = Task(spec.task, spec.outputs)
            whole = spec.purpose == "graphs"
            self.head = ReadoutHead(spec.depth * spec.width, asked) if whole else Head(spec.width, asked)

    @override
    def forward(self, graph: Graph, hidden: Bool[Tensor, "n"] | None = None) -> Float[Tensor, "r o"]:
        if self.decoder is not None:
            return self.restore(self.encode(graph, hidden), graph, hidden)
        return self.decide(self.represent(graph, hidden))

    def encode(self, graph: Graph, hidden: Bool[Tensor, "n"] | None = None) -> Float[Tensor, "n w"]:
        """The states of all vertices after the last stage, some of them with hidden features."""
        return self.every_encoding(graph, hidden)[-1]

    def every_encoding(self, graph: Graph, hidden: Bool[Tensor, "n"] | None = None) -> list[Tensor]:
        """The states of all vertices after each stage."""
        x, found = self.enter_features(graph), []
        if hidden is not None:
            x = torch.where(hidden[:, None], self.hidden, x)
        over = self.wired(graph)
        for stage in self.stages:
            x = stage(x, over)
            found.append(x)
        return found

    def directions(self, states: Float[Tensor, "n w"]) -> Float[Tensor, "n w"]:
        """√d ẑ: states at one length, as vertices of few features have short ones."""
        return nn.functional.normalize(states, dim=-1) * self.spec.width**0.5

    def with_purpose(self, purpose: str, task: str, outputs: int, **more: Any) -> "GraphEncoder":
        """The same encoder under the head of another purpose, which begins at 0; all other tensors are shared.

        ``more`` are other settings of the spec, as readout.
        """
        new = GraphEncoder(self.spec.but(purpose=purpose, task=task, outputs=outputs, **more)).to(self.device)
        assert new.head is not None
        last = new.head.outputs if isinstance(new.head, ReadoutHead) else new.head
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
        body = {k: v for k, v in self.state_dict().items() if not k.startswith(("decoder.", "pairs.", "head."))}
        new.load_state_dict(body, strict=False, assign=True)
        return new.train(self.training)

    @override
    def embed(self, graph: Graph) -> Float[Tensor, "r w"]:
        """The vector of each vertex, or of each graph where it answers for graphs: see `represent`."""
        return self.represent(graph)

    @override
    def represent(self, *inputs: Any, **options: Any) -> Tensor:
        """What the head reads: all vertices at one length; of graphs, what is read out of them after each stage."""
        if self.pooled is None:
            return self.directions(self.encode(*inputs, **options))
        graph = inputs[0] if inputs else options["graph"]
        readout = READOUTS[self.spec.readout]
        z = torch.cat([readout(x, graph) for x in self.every_encoding(*inputs, **options)], -1)
        return self.pooled(z) if self.pooled.live else z

    @override
    def decide(self, representation: Tensor, mask: Tensor | None = None) -> Tensor:
        """The outputs of the task for what `represent` gave."""
        assert self.head is not None
        return self.head(drop(representation, self.spec.dropout, self.training))

    def restore(
        self, states: Float[Tensor, "n w"], graph: Graph, hidden: Bool[Tensor, "n"] | None = None
    ) -> Float[Tensor, "n i"]:
        """The features that states tell of; the states of hidden vertices are not looked at."""
        assert self.decoder is not None
        if hidden is not None:
            states = states.masked_fill(hidden[:, None], 0.0)
        return self.decoder(states, self.wired(graph))

    def score(self, states: Float[Tensor, "n w"], pairs: Int[Tensor, "2 p"]) -> Float[Tensor, "p"]:
        """The log odds that there is an edge between two vertices with these states."""
        assert self.pairs is not None
        z = self.directions(states)
        return self.pairs(z.index_select(0, pairs[0]) * z.index_select(0, pairs[1]))[:, 0]


__all__ = ["PURPOSES", "READOUTS", "GraphEncoder", "GraphEncoderSpec", "ReadoutHead"]
