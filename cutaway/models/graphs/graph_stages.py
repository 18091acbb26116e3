r"""The stages of a graph model: in each, vertices take in the messages of their neighbours once.

    x ← φ(norm(layer(drop(x), graph)))              a stage
    x ← x + φ(norm(layer(drop(x), graph)))          with residual, where the widths allow it

After s stages a vertex knows of what is at most s edges away. The spec says which layer it is (layer_kinds.py); layers
that keep their width come after a linear map into it. Kipf, Welling 2017 (the stack); Li et al. 2019 (residual).
Notes: N3 §7, N4.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graph_layers.structural_encodings import LaplacianEncoding, RandomWalkEncoding
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import refuse_edge_features, refuse_weights
from cutaway.blocks.graphs.sparse_features import dropout_features, map_features
from cutaway.blocks.low_rank.linear_layers import is_linear, matrix_of
from cutaway.blocks.norms.batch import BatchNorm
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.inside.taps import Tap
from cutaway.models.base import Model
from cutaway.models.graphs.layer_kinds import LAYERS
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override

S = TypeVar("S", bound="GraphModelSpec")
NORMS: dict[str, type[nn.Module] | None] = {"none": None, "layer": LayerNorm, "batch": BatchNorm}


@dataclass(frozen=True, kw_only=True)
class GraphModelSpec(NamedSpec):
    """What all graph models say: features of vertices (and edges) in, and the stages that they go through."""

    inputs: int
    edge_inputs: int = 0  # features of an edge that the layers read
    edge_mean: tuple[float, ...] = ()  # what is taken off features of edges; (): nothing
    edge_std: tuple[float, ...] = ()  # what they are then divided by
    weight_scale: float = 0.0  # above 0, the last of these is the weight of the edge, divided by this
    ignores_edges: bool = False  # whether features of edges are left out where no layer reads them, or refused
    layer: str = "gcn"
    width: int = 16
    depth: int = 2
    heads: int = 1  # of layers with attention
    norm: str = "none"  # none | layer | batch: after every stage's layer
    activation: str = "relu"
    residual: bool = False
    dropout: float = 0.0  # of what goes into a stage
    attention_dropout: float = 0.0  # of attention weights
    rounds: int = 3  # of gated layers: steps; of Chebyshev's: the order of the filters
    contraction: float = 0.9  # of fixed-point layers
    walks: int = 0  # steps of random walks whose returns describe a vertex beside its features; 0 for none
    frequencies: int = 0  # eigenvectors of the Laplacian: of spectral layers, else beside a vertex's features
    graph_size: int = 0  # vertices of the graph whose eigenvectors they are

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = ("inputs", "width", "depth", "heads", "rounds")
        expect_positive(**{name: getattr(self, name) for name in sizes})
        expect_choice("layer", self.layer, LAYERS)
        expect_choice("norm", self.norm, NORMS)
        expect_probability(dropout=self.dropout, attention_dropout=self.attention_dropout)
        find_activation(self.activation)
        if self.width % self.heads:
            raise ValueError(
                f"width must be a multiple of heads, got width={self.width}, heads={self.heads}; "
                f"try width={self.width - self.width % self.heads or self.heads}"
            )

        self._check_edges()
        belongs, takes = LAYERS[self.layer].belongs_to_a_graph, self.keeps_width
        if bool(self.frequencies) != bool(self.graph_size) or not belongs <= bool(self.frequencies) <= takes:
            raise ValueError(
                f"frequencies and graph_size go together, for layers that keep their width, got frequencies="
                f"{self.frequencies}, graph_size={self.graph_size} for layer={self.layer!r}; spectral layers need both"
            )

    def _check_edges(self) -> None:
        if self.edge_inputs < 0 or self.weight_scale < 0:
            raise ValueError(
                f"edge_inputs and weight_scale must be 0 or more, got {self.edge_inputs} and {self.weight_scale:g}; 0 "
                "for none"
            )
        if self.edge_inputs and not LAYERS[self.layer].reads_edges:
            able = ", ".join(name for name, kind in LAYERS.items() if kind.reads_edges)
            raise ValueError(
                f"layer={self.layer!r} reads no features of edges, got edge_inputs={self.edge_inputs}; leave them out, "
                f"or take a layer that reads them: {able}"
            )
        if {len(self.edge_mean), len(self.edge_std)} not in ({0}, {self.edge_features}) or 0.0 in self.edge_std:
            raise ValueError(
                f"edge_mean and edge_std must have a number for each of the {self.edge_features} features of edges "
                f"that are read, no deviation 0, got {len(self.edge_mean)} and {len(self.edge_std)}; leave both out"
            )
        if self.weight_scale and not self.edge_inputs:
            raise ValueError(
                f"weights that layers read count as a feature of edges, got weight_scale={self.weight_scale:g} with "
                "edge_inputs=0; set edge_inputs=1"
            )

    @override
    @classmethod
    def from_dict(cls: type[S], values: dict[str, Any]) -> S:
        """Specs stored before models refused features of edges that they do not read left them out."""
        return super().from_dict({"ignores_edges": True} | values)

    @property
    def edge_features(self) -> int:
        """How many features of edges are read beside the weight."""
        return self.edge_inputs - (self.weight_scale > 0)

    @property
    def keeps_width(self) -> bool:
        """Whether the layer's outputs are as wide as its inputs."""
        return LAYERS[self.layer].keeps_width

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class GraphStage(nn.Module):
    """x ← φ(norm(layer(drop(x), graph))), with the input added if residual; a ``bare`` one ends with its layer.

    Tap: ``output``.
    """

    def __init__(self, spec: GraphModelSpec, inputs: int, outputs: int, bare: bool = False) -> None:
        super().__init__()
        kind = LAYERS[spec.layer]
        self.layer = kind.make(spec, inputs, outputs, bare)
        norm = None if bare or kind.is_whole else NORMS[spec.norm]
        self.norm = None if norm is None else norm(outputs)
        self.activation = None if bare or kind.is_whole else find_activation(spec.activation)
        self.residual = spec.residual and not bare and not kind.is_whole and inputs == outputs
        self.dropout = spec.dropout
        self.output = Tap()

    @override
    def forward(self, x: Tensor, graph: Graph | Tensor) -> Float[Tensor, "n o"]:
        """``graph`` is that of the messages; for spectral layers, the eigenvectors of its Laplacian."""
        z = self.layer(dropout_features(x, self.dropout) if self.training and self.dropout else x, graph)
        if self.norm is not None:
            z = self.norm(z)
        if self.activation is not None:
            z = self.activation(z)
        if self.residual:
            z = x + z
        if self.output.live:
            z = self.output(z)
        return z


def make_stages(spec: GraphModelSpec, outputs: int | None = None) -> nn.ModuleList:
    """``depth`` stages; with ``outputs`` the last of them is bare and gives so many."""
    first = spec.width if spec.keeps_width else spec.inputs
    widths = [first, *[spec.width] * (spec.depth - 1), outputs or spec.width]
    last = spec.depth - 1
    return nn.ModuleList(
        GraphStage(spec, widths[s], widths[s + 1], bare=s == last and outputs is not None) for s in range(spec.depth)
    )


class GraphModel(Model):
    """The part that graph models share: features into the width where the layer keeps it, then the stages.

    ``eigenvectors`` (vertices, frequencies) are those of the graph that a model belongs to, if its layers are spectral
    or its vertices are told where they stand by them; they are kept with its weights.
    """

    spec: Any

    def __init__(self, spec: GraphModelSpec, outputs: int | None = None) -> None:
        super().__init__(spec)
        self.enter = Linear(spec.inputs, spec.width) if spec.keeps_width else None
        self.walks = RandomWalkEncoding(spec.walks, spec.width) if spec.walks and spec.keeps_width else None
        belongs = LAYERS[spec.layer].belongs_to_a_graph
        self.places = LaplacianEncoding(spec.frequencies, spec.width) if spec.frequencies and not belongs else None
        for encoding in (self.walks, self.places):
            for parameter in () if encoding is None else encoding.parameters():
                nn.init.zeros_(parameter)  # features speak first: small ones would drown in what encodings say
        self.eigenvectors: Tensor | None
        self.register_buffer(
            "eigenvectors", torch.zeros(spec.graph_size, spec.frequencies) if spec.frequencies else None
        )
        self.stages = make_stages(spec, outputs)

    def states(self, graph: Graph) -> Float[Tensor, "n w"]:
        """The states of all vertices after the last stage."""
        return self.every_state(graph)[-1]

    def every_state(self, graph: Graph) -> list[Tensor]:
        """The states of all vertices after each stage."""
        x, found = self.enter_features(graph), []
        over = self.wired(graph)
        for stage in self.stages:
            x = stage(x, over)
            found.append(x)
        return found

    def wired(self, graph: Graph) -> Any:
        """What the stages run over: the graph, its edges with the features that are read; or its eigenvectors."""
        spec, kind = self.spec, LAYERS[self.spec.layer]
        if not spec.edge_features and graph.edge_features is not None:
            if not spec.ignores_edges:
                refuse_edge_features(graph, f"a model of layer={spec.layer!r}", can=kind.reads_edges)
            graph = graph.without_edge_features()
        if spec.edge_mean:
            graph = graph.scaled_edge_features(spec.edge_mean, spec.edge_std)
        if spec.weight_scale:
            graph = graph.weights_as_features(spec.weight_scale)
        elif (
            kind.reads_edges and not spec.ignores_edges and kind.weighs in (("", "bare") if spec.edge_inputs else ("",))
        ):
            more = f"edge_inputs={spec.edge_inputs + 1}, weight_scale=1"
            refuse_weights(graph, f"a model of layer={spec.layer!r}", f"build it with {more}")
        return self.eigenvectors if kind.belongs_to_a_graph else graph

    def embed(self, graph: Graph) -> Float[Tensor, "n w"]:
        """The vector of each vertex: what is known of it before the model answers."""
        return self.states(graph)

    def enter_features(self, graph: Graph) -> Tensor:
        """The features of the vertices, in the width of the stages where these need it."""
        x = graph.x
        if x is None or x.shape[1] != self.spec.inputs:
            got = "none" if x is None else f"{x.shape[1]}"
            raise ValueError(
                f"every vertex must have {self.spec.inputs} features, got {got}; give the graph features x of shape "
                f"(vertices, {self.spec.inputs})"
            )
        like = next(self.parameters())
        x = x if x.dtype == like.dtype else x.to(like.dtype)
        if self.enter is None:
            return x
        x = map_features(self.enter, x)
        if self.walks is not None:
            x = x + self.walks(graph)
        if self.places is not None:
            x = x + self.places(self.eigenvectors, graph)
        return x

    @override
    @property
    def lora_targets(self) -> tuple[str, ...]:  # type: ignore[override]
        """Every linear layer before what makes the outputs, but those of fewer features than the width."""
        modules, found = dict(self.named_modules()), []
        for path, module in modules.items():
            owner, _, name = path.rpartition(".")
            inside = path == "enter" or (path.startswith("stages.") and not path.startswith(f"{self.head_parts[0]}."))
            if not inside or not is_linear(module) or name in getattr(modules[owner], "bare_matrices", ()):
                continue
            found.append(path)
        wide = [path for path in found if min(matrix_of(modules[path]).shape) >= self.spec.width]
        return tuple(wide or found) or ("all-linear",)

    @property
    def vertex_states(self) -> tuple[str, ...]:
        """The addresses of the vertices' states, from the first stage to the last."""
        return tuple(f"stages.{s}.output" for s in range(self.spec.depth))

    @property
    def edge_attention(self) -> tuple[str, ...]:
        """The addresses of attention weights on arcs (heads, arcs); () where the layer has none."""
        name = LAYERS[self.spec.layer].attention
        return tuple(f"stages.{s}.layer.{name}" for s in range(self.spec.depth)) if name else ()


__all__ = ["GraphModel", "GraphModelSpec", "GraphStage", "make_stages"]
