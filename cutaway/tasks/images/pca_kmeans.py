r"""What is reached without a network: principal components, K-means, pixels that know nothing of others.

    PCA             x̂ = μ + (x − μ) V Vᵀ,   V the first k principal directions
    K-means         x̂ = the nearest of K centroids
    pixels alone    −log p(x) = −Σ x_i log p_i + (1 − x_i) log(1 − p_i),   p_i the share of white in training

Pearson 1901; Lloyd 1982.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.generative.principal_directions import principal_directions

_MOST = 20_000  # images that are looked at
_VALUES = 2**26  # pixels of all of them together: 5,461 photographs of 64 × 64 in colour, 268 MB
_DIRECTIONS = 64  # in which K-means looks at images


class Components(NamedTuple):
    """The mean of images and their first principal directions, one a row."""

    mean: Float[Tensor, "p"]
    directions: Float[Tensor, "k p"]

    def rebuilt(self, x: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
        """x̂ = μ + (x − μ) Vᵀ V."""
        return self.mean + (x - self.mean) @ self.directions.T @ self.directions


def as_rows(images: Any, most: int = _MOST) -> Float[Tensor, "n p"]:
    """Images as rows of pixels from 0 to 1: all, or evenly spread ones, the fewer the larger they are."""
    most = min(most, max(1, _VALUES // int(np.prod(images.store.shape[1:]))))
    places = np.linspace(0, len(images) - 1, min(most, len(images))).astype(np.int64)
    return torch.from_numpy(images.pixels(places)).flatten(1).float() / 255


def principal_components(x: Float[Tensor, "n p"], count: int) -> Components:
    """The first ``count`` principal directions, or as many as there are."""
    mean = x.mean(0)
    return Components(mean, principal_directions(x - mean, count))


def principal_angles(first: Float[Tensor, "k p"], second: Float[Tensor, "k p"]) -> Float[Tensor, "k"]:
    """The angles between two subspaces, in degrees from the smallest to the largest; rows span them.

    >>> principal_angles(torch.tensor([[1.0, 0, 0]]), torch.tensor([[1.0, 1.0, 0]]))
    tensor([45.])
    """
    one, two = (torch.linalg.qr(rows.double().T)[0] for rows in (first, second))
    return torch.rad2deg(torch.linalg.svdvals(one.T @ two).clamp(0, 1).arccos()).to(first.dtype)


def centroids_of(x: Float[Tensor, "n p"], centroids: int, seed: int) -> Float[Tensor, "k p"]:
    """The centroids of K-means, by the first principal components of rows: what they leave out hardly varies."""
    from sklearn.cluster import KMeans

    components = principal_components(x, _DIRECTIONS)
    seen = (x - components.mean) @ components.directions.T
    found = KMeans(centroids, n_init=4, random_state=seed).fit(seen.numpy())
    own = [x[torch.from_numpy(found.labels_ == k)] for k in range(centroids)]
    return torch.stack([rows.mean(0) for rows in own if len(rows)])


def nearest_of(x: Float[Tensor, "n p"], points: Float[Tensor, "k p"]) -> Float[Tensor, "n p"]:
    """For each row the nearest point."""
    return points[torch.cdist(x, points).argmin(1)]


def share_lost_as_bits(x: Float[Tensor, "n p"]) -> float:
    """The share of chance in the variance of pixels once they are drawn black or white: mean p(1 − p) / m(1 − m).

    >>> share_lost_as_bits(torch.tensor([[0.0, 1.0]])), share_lost_as_bits(torch.tensor([[0.5, 0.5]]))
    (0.0, 1.0)
    """
    m = x.mean()
    return ((x * (1 - x)).mean() / (m * (1 - m)).clamp(min=1e-9)).item()


def bits_alone(train: Float[Tensor, "n p"], x: Float[Tensor, "m p"]) -> float:
    """−log p(x) of black and white images, each pixel by its share of white in training; in nats an image."""
    p = ((train.sum(0) + 1) / (len(train) + 2)).clamp(1e-6, 1 - 1e-6)
    return -(x * p.log() + (1 - x) * (1 - p).log()).sum(1).mean().item()


def greys_alone(train: Float[Tensor, "n p"], x: Float[Tensor, "m p"]) -> float:
    """−log p(x) under N(mean image, one spread for all pixels); in nats an image."""
    mean = train.mean(0)
    variance = (train - mean).square().mean().clamp(min=1e-8)
    nats = 0.5 * ((x - mean).square() / variance + variance.log() + np.log(2 * np.pi))
    return nats.sum(1).mean().item()


__all__ = [
    "Components",
    "as_rows",
    "bits_alone",
    "centroids_of",
    "greys_alone",
    "nearest_of",
    "principal_angles",
    "principal_components",
    "share_lost_as_bits",
]
