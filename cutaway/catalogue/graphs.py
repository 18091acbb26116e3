"""Graphs: Laplacians, incidence, cuts, Fourier transforms."""

import torch

from cutaway.blocks.graphs.cuts import cut_weights, modularity, normalised_cut, ratio_cut
from cutaway.blocks.graphs.fourier import graph_fourier, inverse_graph_fourier, spectral_convolution, spectral_filter
from cutaway.blocks.graphs.incidence import oriented_incidence
from cutaway.blocks.graphs.laplacian import degrees, dirichlet_energy, laplacian
from cutaway.registry import register


def _adjacency(vertices: int = 7) -> torch.Tensor:
    """Weights between any two vertices, and loops."""
    upper = torch.rand(vertices, vertices).triu() + 0.1
    return upper + upper.T


def _parts() -> torch.Tensor:
    """Seven vertices in three parts."""
    return torch.tensor([0, 1, 2, 2, 1, 0, 0])


def _basis() -> torch.Tensor:
    """Orthonormal columns, as the eigenvectors of a Laplacian are."""
    return torch.linalg.qr(torch.randn(7, 5))[0]


register(laplacian, example=lambda: (laplacian, _adjacency(), "symmetric"))
register(degrees, example=lambda: (degrees, _adjacency()))
register(dirichlet_energy, example=lambda: (dirichlet_energy, torch.randn(7, 3), _adjacency()))
register(
    oriented_incidence,
    example=lambda: (oriented_incidence, torch.tensor([[0, 1, 5], [1, 2, 3]]), torch.rand(3) + 0.5, 7),
)
register(cut_weights, example=lambda: (cut_weights, _adjacency(), _parts(), 3))
register(ratio_cut, example=lambda: (ratio_cut, _adjacency(), _parts(), 3))
register(modularity, example=lambda: (modularity, _adjacency(), _parts(), 3))
register(normalised_cut, example=lambda: (normalised_cut, _adjacency(), _parts(), 3))
register(graph_fourier, example=lambda: (graph_fourier, torch.randn(7, 3), _basis()))
register(inverse_graph_fourier, example=lambda: (inverse_graph_fourier, torch.randn(5, 3), _basis()))
register(spectral_convolution, example=lambda: (spectral_convolution, torch.randn(7, 3), torch.randn(7, 3), _basis()))
register(spectral_filter, example=lambda: (spectral_filter, torch.randn(7, 3), torch.randn(5), _basis()))
