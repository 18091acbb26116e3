r"""Judges samples by their nearest neighbours among real images: quality, diversity, generalisation (N3 §5.4.1).

    precision      share of samples that lie within reach of a real image: quality
    coverage       share of real images with a sample within their reach: diversity
    novelty        median distance of samples to the nearest training image, divided by that of real images that it was
                   not trained on: near 0 they are copies, near 1 they are new

The reach of a real image is the distance to its k-th neighbour among real images. Distances are Euclidean, over pixels.
Kynkäänniemi et al. 2019 (precision); Naeem et al. 2020 (coverage).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.recipes.generative.simple_codes import as_rows

_NEIGHBOURS = 5
_KNOWN = 10_000  # training images that copies are looked for among, at most


def score_samples(samples: Float[Tensor, "n c h w"], train: Any, held: Any) -> dict[str, float]:
    """Precision, coverage and novelty of samples, by images that they were not trained on."""
    x, real, known = samples.flatten(1), as_rows(held, len(samples)), as_rows(train, _KNOWN)
    k = min(_NEIGHBOURS, len(real) - 1)
    if k < 1:
        return {}
    reach = torch.cdist(real, real).topk(k + 1, largest=False).values[:, -1]  # the first is the image itself
    apart = torch.cdist(x, real)
    own, other = (nearest_distances(rows, known).median().item() for rows in (x, real))
    return {
        "precision": (apart <= reach).any(1).float().mean().item(),
        "coverage": (apart <= reach).any(0).float().mean().item(),
        "novelty": own / max(other, 1e-9),
    }


def nearest_distances(x: Float[Tensor, "n p"], known: Float[Tensor, "m p"]) -> Float[Tensor, "n"]:
    """The distance of each row to the nearest known one."""
    return torch.cat([torch.cdist(part, known).amin(1) for part in x.split(250)])


def nearest_rows(x: Float[Tensor, "n p"], known: Float[Tensor, "m p"], count: int) -> Tensor:
    """The places of the ``count`` nearest known rows of each."""
    return torch.cat([torch.cdist(part, known).topk(count, largest=False).indices for part in x.split(250)])


def gaussian_samples(train: Any, count: int, seed: int) -> Float[Tensor, "n c h w"]:
    r"""Samples of the Gaussian with the mean and covariance of the training pixels, cut to 0–1.

        m + ε X / √(n − 1),   X: training images without their mean m,  ε ~ N(0, I), one number an image

    has covariance XᵀX / (n − 1), which is never written down: for photographs it would have billions of entries.
    """
    x = as_rows(train)
    mean = x.mean(0)
    noise = torch.randn(count, len(x), generator=torch.Generator().manual_seed(seed))
    made = mean + noise @ (x - mean) / max(len(x) - 1, 1) ** 0.5
    return made.clamp(0, 1).view(count, *train.store.shape[1:])


__all__ = ["gaussian_samples", "nearest_distances", "nearest_rows", "score_samples"]
