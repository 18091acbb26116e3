r"""The task of one-shot classification: which class an image is of, where each class has a single example.

    episode      up to 20 classes of one group, one example and one question of each; each question is answered alone
    error        the share of questions whose most alike example is of another class
    baseline     the example whose pixels are nearest

`cutaway train siamese` learns vectors that are compared (`siamese.py`).
"""

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.losses.contrastive import prototypes
from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageRows
from cutaway.data.seeded_draws import draw_bits
from cutaway.overriding import override
from cutaway.tasks.images.image_task import ImageTask
from cutaway.tasks.images.pixels import as_pixels
from cutaway.training.augmentation.images import affine

EPISODES, WAYS = 200, 20
_KNOWN = "the share of new images, of the classes of training, that are more alike to an example of another class"


class OneShotClasses(ImageTask):
    """Images with a label each, where the classes of validation and test are not those of training if enough are."""

    kind: ClassVar[str] = "images/one_shot"
    needs_labels: ClassVar[bool] = True
    figure = "one_shot_error"

    @override
    @property
    def hold_out(self) -> Any:
        return self.settings.hold_out

    @cached_property
    def groups(self) -> Int[np.ndarray, "k"]:
        """The group of each class: episodes are of one group."""
        return group_numbers(self.parts.labels)

    @override
    def facts(self) -> dict[str, Any]:
        parts = self.parts
        facts = super().facts() | {"summary": "\n".join([parts.summary(), *self.notes()])}
        if parts.validation is None:
            return facts
        if set(parts.validation.targets.tolist()) <= set(parts.train.targets.tolist()):
            facts["meanings"]["one_shot_error"] = _KNOWN
        if (found := self.baseline(parts.validation, self.groups)) is not None:
            facts["baseline"] = found
        return facts

    def notes(self) -> list[str]:
        """Lines of the summary: that nothing is measured, where that is so."""
        held = self.parts.validation
        if held is None or draw_episodes(held.targets, self.groups[held.targets]) is not None:
            return []
        return [
            f"{self.parts.name}: nothing is measured, as validation has no two classes with two images each; give more "
            "images, or raise --validation"
        ]

    def baseline(self, rows: ImageRows, groups: Int[np.ndarray, "k"]) -> dict[str, Any] | None:
        """The example nearest by pixels; None if there are no episodes of these images."""
        episodes = draw_episodes(rows.targets, groups[rows.targets])
        return None if episodes is None else pixel_baseline(rows, episodes)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """One-shot errors of the test part, beside those of the baseline."""
        rows, labels = self.test_images()
        groups = group_numbers(labels)
        found = one_shot_metrics(learner.model, rows, groups, self.settings.average)
        if (naive := self.baseline(rows, groups)) is not None:
            found["baseline_one_shot_error"] = naive["metrics"]["one_shot_error"]
        return found

    def test_images(self) -> tuple[ImageRows, tuple[str, ...]]:
        """The test images and the names of their classes; a test set of its own has classes of its own."""
        settings = self.settings
        if not (settings.test_file or settings.test):
            raise ValueError(
                "a test needs classes that were kept for it, got a run with test=0; train it with --test 0.2, or with "
                "--test-file and images of other classes"
            )
        parts = self.parts
        if not settings.test_file:
            return parts.open_test(), parts.labels
        channels, height, width = parts.shape
        whole = dict(data=settings.test_file, test_file="", validation=0.0, test=0.0)
        own = type(self)(replace(settings, **whole, size=max(height, width), channels=channels)).parts
        if own.shape != parts.shape:
            raise ValueError(
                f"test images must have the shape of training, got {own.shape[1]}×{own.shape[2]} in "
                f"{settings.test_file} where training has {height}×{width}; crop them to its proportions"
            )
        return own.train, own.labels


@torch.no_grad()
def vectors_of(model: nn.Module, images: ImageRows, average: int = 0) -> Float[Tensor, "n e"]:
    """The vector of every image; with ``average``, the mean over that many small changes of it beside itself."""
    parts = []
    generator = torch.Generator().manual_seed(0)
    for batch in every_image(images):
        x = as_pixels(model, batch.pixels)
        z = model(x)
        for _ in range(average):
            moved = affine(x.cpu(), 12.0, 0.15, 0.15, 0.05 * max(x.shape[2:]), generator)
            z = z + model(moved.to(x.device))
        parts.append(nn.functional.normalize(z.float(), dim=-1).cpu())
    return torch.cat(parts)


class Episodes(NamedTuple):
    """Places of the examples and of the questions, a row an episode; the classes stand in one order in both."""

    examples: Int[np.ndarray, "e w"]
    questions: Int[np.ndarray, "e w"]


def draw_episodes(targets: Int[np.ndarray, "n"], groups: Int[np.ndarray, "n"], seed: int = 0) -> Episodes | None:
    """Episodes of classes with two images or more, all of one group; None if no two classes have them."""
    by_group: dict[int, list[np.ndarray]] = {}
    for target in np.unique(targets):
        places = np.flatnonzero(targets == target)
        if len(places) > 1:
            by_group.setdefault(int(groups[places[0]]), []).append(places)
    useful = [classes for classes in by_group.values() if len(classes) > 1]
    ways = min([WAYS, *(len(classes) for classes in useful)])
    if not useful:
        return None
    examples, questions = np.empty((2, EPISODES, ways), np.int64)
    for episode in range(EPISODES):
        classes = useful[episode % len(useful)]
        order = np.argsort(draw_bits(seed, "episode", episode, len(classes)), kind="stable")[:ways]
        two = draw_bits(seed, "pictures", episode, 2 * ways).reshape(2, ways)
        for k, which in enumerate(order):
            places = classes[which]
            first = int(two[0, k] % np.uint64(len(places)))
            step = 1 + int(two[1, k] % np.uint64(len(places) - 1))
            examples[episode, k] = places[first]
            questions[episode, k] = places[(first + step) % len(places)]
    return Episodes(examples, questions)


def episode_errors(z: Float[Tensor, "n e"], episodes: Episodes) -> float:
    """The share of questions whose most alike example is of another class."""
    examples, questions = (z[torch.from_numpy(places)] for places in episodes)
    alike = torch.einsum("nqe,nke->nqk", questions, examples)
    right = torch.arange(alike.shape[1])
    return float((alike.argmax(-1) != right).float().mean())


def pixel_baseline(images: ImageRows, episodes: Episodes) -> dict[str, Any]:
    """What one reaches without a model: the example whose pixels are nearest."""
    x = torch.from_numpy(images.pixels()).float() / 255
    z = nn.functional.avg_pool2d(x, 2, ceil_mode=True).flatten(1)
    # ‖x − y‖² as a product, so that one function judges both
    lifted = torch.cat([z, z.square().sum(1, keepdim=True), torch.ones(len(z), 1)], 1)
    asked = torch.cat([2 * z, -torch.ones(len(z), 1), -z.square().sum(1, keepdim=True)], 1)
    examples, questions = lifted[torch.from_numpy(episodes.examples)], asked[torch.from_numpy(episodes.questions)]
    alike = torch.einsum("nqe,nke->nqk", questions, examples)
    wrong = float((alike.argmax(-1) != torch.arange(alike.shape[1])).float().mean())
    return {"rule": "the class of the example nearest by pixels", "metrics": {"one_shot_error": wrong}}


def group_numbers(labels: tuple[str, ...]) -> Int[np.ndarray, "k"]:
    """The group of each class: the folders above it; one group where there are none."""
    names = [label.rsplit("/", 1)[0] if "/" in label else "" for label in labels]
    return np.unique(names, return_inverse=True)[1]


def one_shot_metrics(
    model: nn.Module, images: ImageRows, groups: Int[np.ndarray, "k"], average: int
) -> dict[str, float]:
    """The share of one-shot errors in episodes of these images, and how alike images of one class are, and others."""
    episodes = draw_episodes(images.targets, groups[images.targets])
    if episodes is None:
        return {}
    z = vectors_of(model, images, average)
    examples, questions = (z[torch.from_numpy(places)] for places in episodes)
    alike = torch.einsum("nqe,nke->nqk", questions, examples)
    ways = alike.shape[1]
    own = alike.diagonal(dim1=1, dim2=2)
    others = (alike.sum() - own.sum()) / max(alike.numel() - own.numel(), 1)
    return {
        "one_shot_error": episode_errors(z, episodes),
        "ways": float(ways),
        "alike_same": float(own.mean()),
        "alike_different": float(others),
    }


def class_vectors(z: Float[Tensor, "n e"], targets: Int[np.ndarray, "n"], classes: int) -> Float[Tensor, "k e"]:
    """The mean vector of each class, of length 1."""
    return nn.functional.normalize(prototypes(z, torch.from_numpy(targets), classes), dim=-1)
