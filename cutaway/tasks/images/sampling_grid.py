r"""Scores of samples by guidance and number of steps, measured on a run's own images: no other network judges them.

    distance       d²(samples, held-out) / d²(training images, held-out), Fréchet's, over principal components of
                   pixels: 1 for samples that cannot be told from the data, the more the worse
    recognised     share of samples that the 5 nearest training images take for the class that was asked for
    variety        mean distance between samples of one class, divided by that of held-out images of one class
    novelty        median distance to the nearest training image, divided by that of held-out images: copies are near 0

Heusel et al. 2017 (Fréchet distance); Ho, Salimans 2022 (guidance trades variety for fidelity). Notes: N3 §5.4.1.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.generative.frechet import frechet_distance
from cutaway.tasks.images.classify import neighbour_classes
from cutaway.tasks.images.denoising import Denoiser
from cutaway.tasks.images.pca_kmeans import as_rows, principal_components
from cutaway.tasks.images.pixels import evenly_spread
from cutaway.tasks.images.sample_scores import nearest_distances

_COMPONENTS = 20  # features of an image
_KNOWN = 10_000  # training images, at most
_SAMPLES, _OF_LARGE, _SMALL = 150, 80, 16  # samples of a setting; of images above so many pixels a side
_DRAWS = 8  # of as many training images as are held out, for the distance that is called 1
_LEAST = 20  # held-out images without which a covariance says nothing
_STEPS, _GUIDANCE = (5, 10), (1.0, 3.0)  # tried beside the run's own


class Setting(NamedTuple):
    """How samples are made; no guidance where there are no classes."""

    steps: int
    guidance: float | None


class SampleJudge:
    """What samples are measured against: training images, and held-out ones with their classes (−1: unknown)."""

    def __init__(
        self,
        train: Float[Tensor, "n p"],
        train_classes: Int[Tensor, "n"],
        held: Float[Tensor, "m p"],
        held_classes: Int[Tensor, "m"],
    ) -> None:
        self.train, self.train_classes = train, train_classes
        self.components = principal_components(train, _COMPONENTS)
        self.goal = self._features(held)
        generator = torch.Generator().manual_seed(0)
        draws = [train[torch.randperm(len(train), generator=generator)[: len(held)]] for _ in range(_DRAWS)]
        self.unit = float(np.mean([frechet_distance(self._features(one), self.goal).item() for one in draws]))
        self.apart, self.apart_in_all = spread_in_classes(held, held_classes), spread_in_classes(held, None)
        self.near = nearest_distances(held, train).median().item()

    def scores(self, samples: Float[Tensor, "n p"], classes: Int[Tensor, "n"] | None) -> dict[str, float]:
        """The scores of samples; those of classes only where samples were asked for by class."""
        distance = frechet_distance(self._features(samples), self.goal).item()
        found = {"distance": distance / max(self.unit, 1e-12)}
        if classes is not None:
            told = self.train_classes >= 0
            count = int(self.train_classes.max()) + 1
            said = neighbour_classes(samples, self.train[told], self.train_classes[told], count)
            found["recognised"] = (said == classes).float().mean().item()
        apart = self.apart_in_all if classes is None else self.apart
        found["variety"] = spread_in_classes(samples, classes) / max(apart, 1e-12)
        found["novelty"] = nearest_distances(samples, self.train).median().item() / max(self.near, 1e-12)
        return found

    def _features(self, x: Float[Tensor, "n p"]) -> Float[Tensor, "n k"]:
        return (x - self.components.mean) @ self.components.directions.T


def spread_in_classes(x: Float[Tensor, "n p"], classes: Int[Tensor, "n"] | None) -> float:
    """The mean distance of two images of one class, a mean over classes; without classes, of any two."""
    groups = [x] if classes is None else [x[classes == one] for one in classes[classes >= 0].unique()]
    found = [torch.pdist(group).mean().item() for group in groups if len(group) > 1]
    return float(np.mean(found)) if found else float("nan")


def settings_to_try(steps: int, guidance: float, levels: int, classes: bool) -> list[Setting]:
    """The run's own setting, with other numbers of steps and with other guidance.

    >>> [(s.steps, s.guidance) for s in settings_to_try(25, 1.5, 1000, True)]
    [(5, 1.5), (10, 1.5), (25, 1.0), (25, 1.5), (25, 3.0)]
    """
    own = guidance if classes else None
    found = {Setting(min(n, levels), own) for n in (*_STEPS, steps)}
    if classes:
        found |= {Setting(steps, g) for g in _GUIDANCE}
    return sorted(found, key=lambda one: (one.steps, one.guidance or 0))


def sampling_grid(learner: Denoiser) -> dict[Setting, dict[str, float]]:
    """Scores for each setting, on samples of the classes of held-out images; {} where these are too few to tell."""
    data, spec, settings = learner.task.parts, learner.model.spec, learner.settings
    if data.validation is None or len(data.validation) < _LEAST:
        return {}
    count = min(_SAMPLES if max(data.shape[1:]) <= _SMALL else _OF_LARGE, len(data.validation))
    held, train = evenly_spread(data.validation, count), evenly_spread(data.train, _KNOWN)
    targets = [torch.from_numpy(rows.targets.astype(np.int64)) for rows in (train, held)]
    classes = targets[1] if spec.classes and bool((targets[1] >= 0).all()) else None
    judge = SampleJudge(as_rows(train), targets[0], as_rows(held), targets[1])
    labels = None if classes is None else [str(data.labels[k]) for k in classes]
    found = {}
    for one in settings_to_try(settings.sampling_steps, settings.guidance, spec.levels, classes is not None):
        samples = learner.make_samples(count, labels, guidance=one.guidance, steps=one.steps)
        found[one] = judge.scores(samples.flatten(1), classes)
    return found


__all__ = ["SampleJudge", "Setting", "sampling_grid", "settings_to_try", "spread_in_classes"]
