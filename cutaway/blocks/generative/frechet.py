r"""The Fréchet distance of two sets of samples: how far apart two Gaussians with their means and covariances are.

    d² = ‖μ₁ − μ₂‖² + tr(C₁ + C₂ − 2 (C₁^{½} C₂ C₁^{½})^{½})

Taken of features of images by a network that knows them, it judges a generator: the smaller, the more alike are its
images to the real ones, in quality and in diversity. Dowson, Landau 1982 (the formula); Heusel et al. 2017 (FID).
It falls with the number of samples, so sets are compared at one size. Notes: N3 §5.4.1 (how samples are judged).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width


def gaussian_frechet(
    mean: Float[Tensor, "d"],
    covariance: Float[Tensor, "d d"],
    other_mean: Float[Tensor, "d"],
    other_covariance: Float[Tensor, "d d"],
) -> Float[Tensor, ""]:
    r"""The squared Fréchet (2-Wasserstein) distance of two Gaussians.

        d² = ‖μ₁ − μ₂‖² + tr C₁ + tr C₂ − 2 tr (C₁^{½} C₂ C₁^{½})^{½}

    >>> eye = torch.eye(2)
    >>> gaussian_frechet(torch.zeros(2), eye, torch.ones(2), 4 * eye)  # 2 + 2 (2 − 1)²
    tensor(4.)
    """
    root = _root(covariance)
    # The eigenvalues of a product of this form are those of C₁ C₂: no root of an unsymmetric matrix is needed.
    cross = torch.linalg.eigvalsh(_symmetric(root @ other_covariance @ root)).clamp(min=0).sqrt().sum()
    apart = (mean - other_mean).square().sum()
    return (apart + covariance.trace() + other_covariance.trace() - 2 * cross).clamp(min=0)


def frechet_distance(features: Float[Tensor, "n d"], others: Float[Tensor, "m d"]) -> Float[Tensor, ""]:
    r"""The squared Fréchet distance of two sets of feature vectors, by their means and covariances.

        d² = ‖μ₁ − μ₂‖² + tr(C₁ + C₂ − 2 (C₁^{½} C₂ C₁^{½})^{½}),   C = Σ (x − μ)(x − μ)ᵀ / (n − 1)

    Computed in float64. Either set needs at least two vectors.
    """
    expect_float("features", features)
    expect_width("others", others, features.shape[-1])
    for name, x in (("features", features), ("others", others)):
        if len(x) < 2:
            raise ValueError(f"{name} must hold at least two vectors, got {len(x)}; a covariance needs more than one")
    first, second = features.double(), others.double()
    found = gaussian_frechet(first.mean(0), _covariance(first), second.mean(0), _covariance(second))
    return found.to(features.dtype)


def _covariance(x: Tensor) -> Tensor:
    centred = x - x.mean(0)
    return centred.T @ centred / (len(x) - 1)


def _root(matrix: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(_symmetric(matrix))
    return (vectors * values.clamp(min=0).sqrt()) @ vectors.T


def _symmetric(matrix: Tensor) -> Tensor:
    return (matrix + matrix.T) / 2
