"""Baselines without a network, against scikit-learn and by hand."""

import math

import pytest
import torch

from cutaway.tasks.images.pca_kmeans import (
    bits_alone,
    centroids_of,
    greys_alone,
    nearest_of,
    principal_angles,
    principal_components,
    share_lost_as_bits,
)


def test_components_are_scikit_learns():
    from sklearn.decomposition import PCA

    torch.manual_seed(0)
    x = torch.randn(50, 7) @ torch.randn(7, 7)
    ours, peer = principal_components(x, 3), PCA(3).fit(x.numpy())
    rebuilt = torch.from_numpy(peer.inverse_transform(peer.transform(x.numpy())))
    torch.testing.assert_close(ours.rebuilt(x), rebuilt, atol=1e-4, rtol=0)
    assert principal_angles(ours.directions, torch.from_numpy(peer.components_).float()).max() < 0.1
    assert len(principal_components(x, 99).directions) == 7


def test_angles_by_hand():
    plane = torch.tensor([[1.0, 0, 0], [0, 1.0, 0]])
    tilted = torch.tensor([[1.0, 0, 0], [0, 1.0, 1.0]])
    torch.testing.assert_close(principal_angles(plane, tilted), torch.tensor([0.0, 45.0]), atol=1e-3, rtol=0)
    torch.testing.assert_close(principal_angles(plane, 5 * plane.flip(0)), torch.zeros(2), atol=1e-3, rtol=0)


def test_centroids_and_the_nearest():
    x = torch.tensor([[0.0], [1.0], [10.0], [12.0]])
    points = centroids_of(x, 2, 0)
    assert sorted(points.flatten().tolist()) == [0.5, 11.0]
    assert nearest_of(x, points).flatten().tolist() == [0.5, 0.5, 11.0, 11.0]


def test_greys_are_lost_as_bits_and_bits_are_not():
    torch.manual_seed(0)
    assert share_lost_as_bits(torch.rand(100, 50).round()) == 0
    assert share_lost_as_bits(torch.rand(1000, 50)) == pytest.approx(2 / 3, abs=0.02)  # (1/2 − 1/3) / (1/4)


def test_pixels_alone_by_hand():
    """Two training images: shares of white (1+1)/4 and (2+1)/4."""
    train = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    assert bits_alone(train, torch.tensor([[1.0, 0.0]])) == pytest.approx(-math.log(0.5) - math.log(0.25))
    flat = torch.tensor([[0.0, 1.0], [0.0, 1.0], [2.0, 3.0], [2.0, 3.0]])  # mean (1, 2), spread 1
    assert greys_alone(flat, torch.tensor([[1.0, 3.0]])) == pytest.approx(0.5 + math.log(2 * math.pi))
