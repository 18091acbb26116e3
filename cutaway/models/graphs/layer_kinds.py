r"""The layers that a graph model can be made of, by name; their equations are in blocks/graph_layers."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from cutaway.blocks.graph_layers.chebyshev import ChebyshevLayer
from cutaway.blocks.graph_layers.fixed_point import FixedPointLayer
from cutaway.blocks.graph_layers.gat import GATLayer
from cutaway.blocks.graph_layers.gated_steps import GatedGraphLayer
from cutaway.blocks.graph_layers.gcn import GCNLayer
from cutaway.blocks.graph_layers.gin import GINLayer
from cutaway.blocks.graph_layers.graph_conv import GraphConvLayer
from cutaway.blocks.graph_layers.graph_transformer import GraphTransformerLayer
from cutaway.blocks.graph_layers.spectral import SpectralLayer


class LayerKind(NamedTuple):
    """``make(spec, inputs, outputs, last)`` gives the layer; ``attention`` names its weights on arcs, if it has any.

    A layer that ``keeps_width`` has as many outputs as inputs. One that ``is_whole`` has its own norm, activation and
    residual. One that ``belongs_to_a_graph`` is of no use on another, nor on the same with other numbers. Without
    ``takes_signs`` it divides by sums of weights, and needs them at 0 or above. One that ``reads_edges`` takes features
    of edges in; what ``weighs`` messages by the weights of edges is the layer ("always"), the layer unless it reads
    features of edges ("bare"), or nothing (""), so that weights must be among the features.
    """

    make: Callable[[Any, int, int, bool], nn.Module]
    attention: str = ""
    keeps_width: bool = False
    is_whole: bool = False
    belongs_to_a_graph: bool = False
    takes_signs: bool = True
    reads_edges: bool = False
    weighs: str = "always"


def _gcn(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return GCNLayer(inputs, outputs)


def _gat(spec: Any, inputs: int, outputs: int, last: bool, version: int = 1) -> nn.Module:
    """The last layer has one head: its outputs are what is asked for."""
    heads = 1 if last else spec.heads
    edge_inputs = spec.edge_inputs or None
    return GATLayer(inputs, outputs, heads, dropout=spec.attention_dropout, edge_inputs=edge_inputs, version=version)


def _gatv2(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return _gat(spec, inputs, outputs, last, version=2)


def _gin(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return GINLayer(
        inputs, outputs, max(outputs, spec.width), norm=spec.norm == "batch", edge_inputs=spec.edge_inputs or None
    )


def _sage(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return GraphConvLayer(inputs, outputs, activation=None, aggregate="mean")


def _notes(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return GraphConvLayer(inputs, outputs, activation=None)


def _chebyshev(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return ChebyshevLayer(inputs, outputs, order=spec.rounds)


def _spectral(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return SpectralLayer(inputs, outputs, spec.frequencies)


def _gated(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return GatedGraphLayer(inputs, outputs, steps=spec.rounds, edge_inputs=spec.edge_inputs or None)


def _fixed_point(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return FixedPointLayer(inputs, outputs, contraction=spec.contraction, edge_inputs=spec.edge_inputs or None)


def _transformer(spec: Any, inputs: int, outputs: int, last: bool, scope: str = "edges") -> nn.Module:
    return GraphTransformerLayer(
        outputs, spec.heads, scope, edge_inputs=spec.edge_inputs or None, dropout=spec.attention_dropout
    )


def _all_pairs(spec: Any, inputs: int, outputs: int, last: bool) -> nn.Module:
    return _transformer(spec, inputs, outputs, last, scope="pairs")


LAYERS: dict[str, LayerKind] = {
    "gcn": LayerKind(_gcn, takes_signs=False),
    "gat": LayerKind(_gat, attention="attention", reads_edges=True, weighs=""),
    "gatv2": LayerKind(_gatv2, attention="attention", reads_edges=True, weighs=""),
    "gin": LayerKind(_gin, reads_edges=True, weighs="bare"),
    "sage": LayerKind(_sage),
    "notes": LayerKind(_notes),
    "chebyshev": LayerKind(_chebyshev, takes_signs=False),
    "spectral": LayerKind(_spectral, keeps_width=True, belongs_to_a_graph=True, takes_signs=False),
    "gated": LayerKind(_gated, keeps_width=True, is_whole=True, reads_edges=True),
    "fixed-point": LayerKind(_fixed_point, keeps_width=True, is_whole=True, takes_signs=False, reads_edges=True),
    "transformer": LayerKind(
        _transformer,
        attention="attention.attention",
        keeps_width=True,
        is_whole=True,
        reads_edges=True,
        weighs="",
    ),
    "all-pairs": LayerKind(_all_pairs, keeps_width=True, is_whole=True, weighs=""),
}

__all__ = ["LAYERS", "LayerKind"]
