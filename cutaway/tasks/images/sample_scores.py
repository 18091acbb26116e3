r"""Judges samples by their nearest neighbours among real images: quality, diversity, generalisation (N3 §5.4.1).

    precision      share of samples that are taken for whole images and lie within reach of a real one: quality
    coverage       share of real images with such a sample within their reach: diversity
    recognised     share of samples that are given the class that they were asked for
    novelty        median distance of samples to the nearest training image, divided by that of real images that it was
                   not trained on: near 0 they are copies, near 1 they are new

The reach of a real image is the distance to its k-th neighbour among real images. Distances are Euclidean, for novelty
over pixels, else over features of the network of judge.py: over pixels a blur of the right colours is near to
every photograph. Real images that are neither trained on nor compared with get the same marks, as the most that can be
reached: real_precision, real_recognised. Kynkäänniemi et al. 2019 (precision); Naeem et al. 2020 (coverage).
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.judge import judge_of
from cutaway.tasks.images.pca_kmeans import as_rows

_NEIGHBOURS = 5
_KNOWN = 10_000  # training images that copies are looked for among, at most


def score_samples(
    samples: Float[Tensor, "n c h w"], train: ImageRows, held: ImageRows, classes: Int[Tensor, "n"] | None = None
) -> dict[str, float]:
    """Precision, coverage and novelty of samples, by images that they were not trained on.

    With the ``classes`` that samples were asked for (−1: none) also the share that is recognised, if classes are known.
    """
    places = np.random.Generator(np.random.Philox(0)).permutation(len(held))[: 2 * len(samples)]
    images = torch.from_numpy(held.pixels(places)).float() / 255
    real, more = images.tensor_split(2)  # samples are compared with the first, and so are the others
    if len(real) < 2:
        return {}
    judge = judge_of(train)
    seen = judge.features(real)
    reach = torch.cdist(seen, seen).topk(min(_NEIGHBOURS, len(real) - 1) + 1, largest=False).values[:, -1]

    def within_reach(x: Tensor) -> Tensor:
        """Which images lie within reach of which real ones, (n, m); none of those that are not taken for an image."""
        return (torch.cdist(judge.features(x), seen) <= reach) & judge.is_whole(x)[:, None]

    near = within_reach(samples)
    known = as_rows(train, _KNOWN)
    own, other = (nearest_distances(x.flatten(1), known).median().item() for x in (samples, images))
    found = {
        "precision": near.any(1).float().mean().item(),
        "coverage": near.any(0).float().mean().item(),
        "novelty": own / max(other, 1e-9),
        "real_precision": within_reach(more).any(1).float().mean().item(),
    }
    if classes is not None and judge.classes:
        truth = torch.from_numpy(held.targets[places].astype(np.int64))
        found["recognised"] = judge.recognised(samples, classes)
        found["real_recognised"] = judge.recognised(images, truth)
    return found


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
