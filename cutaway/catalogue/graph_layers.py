"""Graph layers, and the sums over neighbours that they are made of."""

import torch

from cutaway.blocks.graph_layers.chebyshev import ChebyshevLayer
from cutaway.blocks.graph_layers.cluster_pooling import pool_clusters
from cutaway.blocks.graph_layers.edge_attention import EdgeAttention
from cutaway.blocks.graph_layers.fixed_point import FixedPointLayer
from cutaway.blocks.graph_layers.gat import GATLayer
from cutaway.blocks.graph_layers.gated_steps import GatedGraphLayer
from cutaway.blocks.graph_layers.gcn import GCNLayer
from cutaway.blocks.graph_layers.gin import GINLayer
from cutaway.blocks.graph_layers.graph_conv import GraphConvLayer
from cutaway.blocks.graph_layers.graph_transformer import GraphTransformerLayer
from cutaway.blocks.graph_layers.message_passing import MessagePassing, gather_messages
from cutaway.blocks.graph_layers.readouts import (
    AttentionReadout,
    readout_global,
    readout_max,
    readout_mean,
    readout_sum,
)
from cutaway.blocks.graph_layers.spectral import SpectralLayer
from cutaway.blocks.graph_layers.structural_encodings import (
    LaplacianEncoding,
    RandomWalkEncoding,
    flip_signs,
    random_walk_encoding,
)
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.neighbours import max_neighbours, mean_neighbours, sum_neighbours
from cutaway.registry import register


def _graph() -> Graph:
    """Seven vertices, one of them alone, with a self-loop, weights and edge features."""
    edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 0, 4, 4, 3]])
    return Graph(edges, vertices=7, weights=torch.rand(6) + 0.5, edge_features=torch.randn(6, 2))


def _bare() -> Graph:
    """The same without edge features, for layers that read none."""
    return _graph().without_edge_features()


def _graphs() -> Graph:
    """Three graphs of 3, 1 and 4 vertices as one."""
    edges = torch.tensor([[0, 1, 4, 5, 6], [1, 2, 5, 6, 7]])
    return Graph(edges, vertices=8, membership=torch.tensor([0, 0, 0, 1, 2, 2, 2, 2]))


def _x(width: int = 5) -> torch.Tensor:
    return torch.randn(7, width)


register(sum_neighbours, example=lambda: (sum_neighbours, _x(), _graph()))
register(mean_neighbours, example=lambda: (mean_neighbours, _x(), _graph()))
register(max_neighbours, example=lambda: (max_neighbours, _x(), _graph()))
register(gather_messages, example=lambda: (gather_messages, torch.randn(11, 3), _graph(), "mean"))

register(MessagePassing, example=lambda: (MessagePassing(5, 3, aggregate="mean", edge_inputs=2), _x(), _graph()))
register(GraphConvLayer, example=lambda: (GraphConvLayer(5, 3), _x(), _bare()))
register(GCNLayer, example=lambda: (GCNLayer(3, 5), _x(3), _bare()))
register(GATLayer, example=lambda: (GATLayer(5, 6, heads=3, edge_inputs=2), _x(), _graph()))
register(GINLayer, example=lambda: (GINLayer(5, 3, edge_inputs=2), _x(), _graph()))
register(ChebyshevLayer, example=lambda: (ChebyshevLayer(5, 3, order=4), _x(), _bare()))
register(SpectralLayer, example=lambda: (SpectralLayer(5, 3, 4), _x(), torch.linalg.qr(_x(4))[0]))
register(GatedGraphLayer, example=lambda: (GatedGraphLayer(5, 6, steps=2, edge_inputs=2), _x(), _graph()))
register(FixedPointLayer, example=lambda: (FixedPointLayer(5, 4, contraction=0.7, edge_inputs=2), _x(), _graph()))
register(EdgeAttention, example=lambda: (EdgeAttention(6, 2, edge_inputs=2), _x(6), _graph()))
register(
    GraphTransformerLayer,
    example=lambda: (GraphTransformerLayer(6, 2, scope="pairs"), torch.randn(8, 6), _graphs()),
)

register(random_walk_encoding, example=lambda: (random_walk_encoding, _graph(), 4))
register(flip_signs, example=lambda: (flip_signs, torch.randn(8, 3), _graphs()))
register(LaplacianEncoding, example=lambda: (LaplacianEncoding(3, 5), torch.randn(8, 3), _graphs()))
register(RandomWalkEncoding, example=lambda: (RandomWalkEncoding(4, 5), _graph()))

register(readout_sum, example=lambda: (readout_sum, torch.randn(8, 5), _graphs()))
register(readout_mean, example=lambda: (readout_mean, torch.randn(8, 5), _graphs()))
register(readout_max, example=lambda: (readout_max, torch.randn(8, 5), _graphs()))
register(readout_global, example=lambda: (readout_global, torch.randn(8, 5), _graphs()))
register(AttentionReadout, example=lambda: (AttentionReadout(5), torch.randn(8, 5), _graphs()))
register(pool_clusters, example=lambda: (pool_clusters, _x(), torch.tensor([0, 1, 1, 2, 0, 2, 2]), "mean", 3))
