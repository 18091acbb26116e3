r"""Views of runs that compare images: pairs and how alike they are, one-shot answers, and a map of new kinds."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.look.embeddings.tsne import tsne
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.image_maps import image_map
from cutaway.look.pages.picture import Picture
from cutaway.tasks.images.one_shot import draw_episodes, group_numbers, vectors_of
from cutaway.tasks.images.pixels import spread_places
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.data.images.image_data import ImageData, ImageRows
    from cutaway.runs.run import Run

_PAIRS, _QUESTIONS, _ANSWERS, _POINTS = 6, 6, 7, 1000


def compares_images(run: "Run") -> bool:
    """Runs of models that turn images into vectors to compare them by."""
    return run.recipe.kind == "images/one_shot"


def pairs(run: "Run", subject: Subject) -> list[Picture]:
    """Pairs of images of classes that training never saw, and how alike the model finds them."""
    _, rows, words = _new_kinds(run)
    places = spread_places(len(rows), 300)
    z = vectors_of(run.model, rows.take(places))
    alike, targets = (z @ z.T).numpy(), rows.targets[places]
    same = (targets[:, None] == targets) & ~np.eye(len(places), dtype=bool)
    other = targets[:, None] != targets
    if not same.any() or not other.any():
        return []
    draw = np.random.default_rng(0)
    chosen = [_random(same, draw, _PAIRS), _extreme(np.where(other, alike, -np.inf), _PAIRS)]
    first, second, names = [], [], []
    for found in chosen:
        for i, j in found:
            first.append(rows.pixels(places[[i]])[0])
            second.append(rows.pixels(places[[j]])[0])
            names.append(f"{alike[i, j]:.2f}")
    count = len(first)
    heads = ["same"] * len(chosen[0]) + ["other"] * len(chosen[1])
    means = float(alike[same].mean()), float(alike[other].mean())
    return [
        image_grid(
            [*first, *second],
            title="Pairs, and how alike they are",
            columns=count,
            heads=heads,
            names=[""] * count + names,
            caption="Left, pairs of one class drawn at random; right, the pairs of two classes that are most alike.",
            note=f"The cosine of their vectors, {words}: on average {means[0]:.2f} in a class and {means[1]:.2f} "
            "between two.",
            alt=f"{count} pairs of images with the cosines {', '.join(names)}.",
        )
    ]


def one_shot_answers(run: "Run", subject: Subject) -> list[Picture]:
    """Questions of a one-shot episode, and the examples in the order of how alike they are."""
    data, rows, words = _new_kinds(run)
    recipe: Any = run.recipe
    episodes = draw_episodes(rows.targets, group_numbers(data.labels)[rows.targets], 1)
    if episodes is None:
        return []
    examples, asked = episodes.examples[0], episodes.questions[0]
    z, q = (vectors_of(run.model, rows.take(places), recipe.average) for places in (examples, asked))
    alike = (q @ z.T).numpy()
    # The questions that were hardest: the right example leads by least, or not at all.
    lead = alike.diagonal() - np.where(np.eye(len(alike), dtype=bool), -np.inf, alike).max(1)
    images, names, framed = [], [], []
    shown = np.argsort(lead)[:_QUESTIONS]
    for k in shown:
        order = np.argsort(-alike[k])[: min(_ANSWERS, len(alike))]
        images += [rows.pixels(asked[[k]])[0], *rows.pixels(examples[order])]
        names += ["question", *(f"{alike[k, j]:.2f}{', right' if j == k else ''}" for j in order)]
        framed += [False, *(bool(i == 0 and j != k) for i, j in enumerate(order))]
    wrong = int((alike.argmax(1) != np.arange(len(alike))).sum())
    return [
        image_grid(
            images,
            title="One-shot answers: the hardest questions of an episode",
            columns=1 + min(_ANSWERS, len(alike)),
            names=names,
            framed=framed,
            caption="Each line is a question and the examples most alike to it; a red frame is a wrong answer.",
            note=f"{len(alike)} classes with one example each, {words}; {wrong} of {len(alike)} questions are answered "
            "wrongly.",
        )
    ]


def map_of_kinds(run: "Run", subject: Subject) -> list[Picture]:
    """Images of new kinds on a map by their vectors."""
    data, rows, words = _new_kinds(run)
    classes = np.unique(rows.targets)[:10]
    places = np.flatnonzero(np.isin(rows.targets, classes))
    places = places[spread_places(len(places), _POINTS)]
    if len(places) < 4:
        return []
    chosen = rows.take(places)
    z = vectors_of(run.model, chosen)
    return [
        image_map(
            tsne(z),
            torch.from_numpy(chosen.pixels()).float() / 255,
            groups=[data.labels[i] for i in chosen.targets],
            title="Map of the images by their vectors",
            caption="Images of one class should lie together, apart from those of others.",
            note=f"t-SNE of {len(chosen):,} images of {len(classes)} classes, {words}.",
        )
    ]


def _new_kinds(run: "Run") -> "tuple[ImageData, ImageRows, str]":
    """Images of classes that training never saw; those of training where there are no others."""
    task: Any = run.task
    data = task.parts
    if data.validation is None:
        return data, data.train, "of classes that it was trained on"
    return data, data.validation, "of classes that it was not trained on"


def _random(mask: np.ndarray, draw: np.random.Generator, count: int) -> list[tuple[int, int]]:
    found = np.argwhere(np.triu(mask))
    return [(int(i), int(j)) for i, j in found[draw.permutation(len(found))[:count]]]


def _extreme(values: np.ndarray, count: int) -> list[tuple[int, int]]:
    """The pairs of largest value, each image once."""
    found: list[tuple[int, int]] = []
    used: set[int] = set()
    for flat in np.argsort(-values, axis=None):
        i, j = divmod(int(flat), values.shape[1])
        if not np.isfinite(values[i, j]) or len(found) == count:
            break
        if i < j and not {i, j} & used:
            found.append((i, j))
            used |= {i, j}
    return found


__all__ = ["compares_images", "map_of_kinds", "one_shot_answers", "pairs"]
