"""The spectral layer, against a sum of spectral filters."""

import pytest
import torch
from graph_cases import odd_graph, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import SpectralLayer, laplacian, spectral_filter


def eigenvectors(k: int) -> torch.Tensor:
    L = laplacian(odd_graph().adjacency().to_dense())
    return torch.linalg.eigh(L)[1][:, :k]


def test_each_output_is_a_sum_of_filtered_inputs():
    Q, layer = eigenvectors(5), shaken(SpectralLayer(3, 2, 5))
    x = vertex_features(odd_graph(), 3)
    right = torch.stack([sum(spectral_filter(x[:, i], layer.gains[:, i, o], Q) for i in range(3)) for o in range(2)], 1)
    torch.testing.assert_close(layer(x, Q), right + layer.bias)
    torch.testing.assert_close(layer(x.to_sparse_csr(), Q), layer(x, Q))


def test_signs_of_eigenvectors_mean_nothing_but_their_order_does():
    Q, layer = eigenvectors(5), shaken(SpectralLayer(3, 2, 5))
    x = vertex_features(odd_graph(), 3)
    torch.testing.assert_close(layer(x, Q * torch.tensor([1, -1, -1, 1, -1])), layer(x, Q))
    assert not torch.allclose(layer(x, Q.flip(1)), layer(x, Q))


def test_equivariant_and_differentiable():
    Q, layer, x = eigenvectors(4), shaken(SpectralLayer(3, 2, 4)), vertex_features(odd_graph(), 3)
    order = torch.randperm(13)
    torch.testing.assert_close(layer(x[order], Q[order]), layer(x, Q)[order])
    assert torch.autograd.gradcheck(
        lambda x, *_: layer(x, Q), (x.requires_grad_(), *layer.parameters()), fast_mode=True
    )


def test_a_frequency_can_be_switched_off():
    """Without the constant eigenvectors the outputs add up to the bias alone, on each component."""
    Q, layer, x = eigenvectors(13), shaken(SpectralLayer(3, 2, 13)), vertex_features(odd_graph(), 3)
    with cut.patch(layer, {"filtered": lambda s: s.index_fill(0, torch.arange(3), 0.0)}):
        total = layer(x, Q)[:11].sum(0)
    torch.testing.assert_close(total, 11 * layer.bias)


@pytest.mark.untyped
def test_mistakes_are_told():
    with pytest.raises(ValueError, match=r"eigenvectors must have width 5, got shape \(13, 4\)"):
        SpectralLayer(3, 2, 5)(torch.zeros(13, 3), torch.zeros(13, 4))
    with pytest.raises(ValueError, match="a value for each vertex"):
        SpectralLayer(3, 2, 5)(torch.zeros(12, 3), torch.zeros(13, 5))
