"""Graph layers, and the sums over neighbours that they are made of."""

import torch

from cutaway.blocks.graph_layers.gat import GATLayer
from cutaway.blocks.graph_layers.gcn import GCNLayer
from cutaway.blocks.graph_layers.gin import GINLayer
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.neighbours import max_neighbours, mean_neighbours, sum_neighbours
from cutaway.registry import register


def _graph() -> Graph:
    """Seven vertices, one of them alone, with edge features."""
    edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 0, 4, 4, 3]])
    return Graph(edges, vertices=7, weights=torch.rand(6) + 0.5, edge_features=torch.randn(6, 2))


register(sum_neighbours, example=lambda: (sum_neighbours, torch.randn(7, 5), _graph()))
register(mean_neighbours, example=lambda: (mean_neighbours, torch.randn(7, 5), _graph()))
register(max_neighbours, example=lambda: (max_neighbours, torch.randn(7, 5), _graph()))
register(GCNLayer, example=lambda: (GCNLayer(5, 3), torch.randn(7, 5), _graph()))
register(GATLayer, example=lambda: (GATLayer(5, 6, heads=3, edge_inputs=2), torch.randn(7, 5), _graph()))
register(GINLayer, example=lambda: (GINLayer(5, 3), torch.randn(7, 5), _graph()))
