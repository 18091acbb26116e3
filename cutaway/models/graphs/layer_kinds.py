r"""The layers that a graph model can be made of, by name; see the file of each in blocks/graphs for its equation."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from cutaway.blocks.graph_layers.gat import GATLayer
from cutaway.blocks.graph_layers.gcn import GCNLayer
from cutaway.blocks.graph_layers.gin import GINLayer


class LayerKind(NamedTuple):
    """``make(spec, inputs, outputs, last)`` gives the layer; ``attention`` names its weights on arcs, if it has any.

    A layer that ``keeps_width`` has as many outputs as inputs. One that ``is_whole`` has its own norm, activation and
    residual. One that ``belongs_to_a_graph`` is of no use on another, nor on the same with other numbers.
    """

    make: Callable[[Any, int, int, bool], nn.Module]
    attention: str = ""
    keeps_width: bool = False
    is_whole: bool = False
    belongs_to_a_graph: bool = False


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


LAYERS: dict[str, LayerKind] = {
    "gcn": LayerKind(_gcn),
    "gat": LayerKind(_gat, attention="attention"),
    "gatv2": LayerKind(_gatv2, attention="attention"),
    "gin": LayerKind(_gin),
}

__all__ = ["LAYERS", "LayerKind"]
