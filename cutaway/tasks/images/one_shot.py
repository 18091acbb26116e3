r"""One-shot classification with the vectors of a siamese network: the class of the most alike example.

    z(x) = mean over some small turns, sizes and shifts T of model(T x), brought to length 1
    class of x = argmax_k  z(x) · z(example of class k)

An episode: up to 20 classes of one group, one example and one question of each; each question is answered alone.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.losses.contrastive import info_nce, margin_loss, prototypes, prototypical_loss
from cutaway.data.images.class_batches import ClassBatch
from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageRows
from cutaway.data.seeded_draws import draw_bits
from cutaway.tasks.images.pixels import as_pixels
from cutaway.training.augmentation.image_changes import ImageChanges
from cutaway.training.augmentation.images import affine

if TYPE_CHECKING:
    from cutaway.recipes.images.siamese import SiameseRecipe

EPISODES, WAYS = 200, 20


def contrastive_cost(model: nn.Module, batch: ClassBatch, recipe: "SiameseRecipe", changes: ImageChanges) -> Tensor:
    """The mean loss of a batch of classes with some images each."""
    ways, shots = batch.pixels.shape[:2]
    x = changes.images(as_pixels(model, batch.pixels.reshape(ways * shots, *batch.pixels.shape[2:])))
    z = model(x).float().unflatten(0, (ways, shots))
    if recipe.loss == "infonce":
        pairs = [(i, j) for j in range(shots) for i in range(j)]
        return torch.stack([info_nce(z[:, i], z[:, j], recipe.temperature).mean() for i, j in pairs]).mean()
    if recipe.loss == "prototypical":
        z = z / recipe.temperature**0.5
        asked = z[:, 1:].flatten(0, 1)
        labels = torch.arange(ways, device=z.device).repeat_interleave(shots - 1)
        return prototypical_loss(asked, labels, z[:, 0]).mean()
    return _margin_cost(z, recipe.margin)


def _margin_cost(z: Float[Tensor, "w s e"], margin: float) -> Tensor:
    """All pairs of one class against as much weight on the pairs of different classes that are too near."""
    shots = z.shape[1]
    flat = z.flatten(0, 1)
    i, j = torch.triu_indices(len(flat), len(flat), 1, device=z.device)
    same = i // shots == j // shots
    losses = margin_loss(flat[i], flat[j], same, margin)
    near = (~same & (losses > 0)).sum().clamp(min=1)  # pairs that are far enough apart teach nothing
    return losses[same].mean() + losses[~same].sum() / near


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


def has_plain_ground(x: Float[Tensor, "n c h w"]) -> bool:
    """Whether nine tenths of the pixels at the edges are those of the ground: drawings and symbols, not photographs."""
    ground = x.flatten(1).median(1).values[:, None]
    edges = torch.cat([x[:, :, [0, -1], :].flatten(1), x[:, :, :, [0, -1]].flatten(1)], 1)
    return bool(((edges - ground).abs() < 0.1).float().mean() > 0.9)


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


__all__ = [
    "Episodes",
    "class_vectors",
    "contrastive_cost",
    "draw_episodes",
    "episode_errors",
    "group_numbers",
    "has_plain_ground",
    "one_shot_metrics",
    "pixel_baseline",
    "vectors_of",
]
