r"""Views of runs that classify images: mistakes and hard images, what a class depends on, filters and feature maps."""

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from cutaway.look import confusion_matrix
from cutaway.look.images.class_evidence import class_saliency, grad_cam
from cutaway.look.images.feature_maps import filter_picture, map_picture
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.overlays import tinted
from cutaway.look.images.patch_attention import patch_attention
from cutaway.look.images.receptive_fields import field_picture
from cutaway.look.pages.picture import Picture
from cutaway.runs.views.attention import declared_attention, looks_at_patches
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run
    from cutaway.tasks.images.classifiers import ImageClassifier
    from cutaway.tasks.images.classify import ImageClasses

_PAIRS, _EXAMPLES = 6, 8  # most frequent mistakes, and examples of each
_HARDEST = 24
_EXPLAINED = 10  # images


def classifies_images(run: "Run") -> bool:
    """Runs of models that give an image one class."""
    return run.recipe.task_kind == "images/classify"


def has_filters(run: "Run") -> bool:
    """Runs of models that look at pixels through filters."""
    return hasattr(run.model, "pixel_filters")


def has_feature_maps(run: "Run") -> bool:
    """Runs of models with feature maps: convolutional networks."""
    return classifies_images(run) and bool(getattr(run.model, "feature_maps", ()))


def image_mistakes(run: "Run", subject: Subject) -> list[Picture]:
    """How many held-out images of each class are taken for which, with examples of the most frequent mistakes."""
    task, learner = _parts_of(run)
    rows = task.parts.validation
    if rows is None:
        return []
    labels = task.labels
    predicted = learner.outputs(rows).argmax(-1).numpy()
    counts = np.zeros((len(labels),) * 2, dtype=np.int64)
    np.add.at(counts, (rows.targets, predicted), 1)
    title = f"What each class is taken for: {len(rows):,} held-out images"
    found = [confusion_matrix(counts, labels, title=title)]
    wrong = counts - np.diag(np.diag(counts))
    pairs = [divmod(int(place), len(labels)) for place in np.argsort(-wrong, axis=None, kind="stable")[:_PAIRS]]
    pairs = [pair for pair in pairs if wrong[pair]]
    if not pairs:
        return found
    images: list[Any] = []
    names: list[str] = []
    for truth, said in pairs:
        places = np.flatnonzero((rows.targets == truth) & (predicted == said))[:_EXAMPLES]
        images += [*rows.pixels(places), *[None] * (_EXAMPLES - len(places))]
        times = int(wrong[truth, said])
        names.append(f"{labels[truth]} for {labels[said]}, {times}×")
    examples = image_grid(
        images,
        title="The most frequent mistakes, with examples",
        columns=_EXAMPLES,
        rows=names,
        cell=64,
        caption="Each row is a pair of classes, what it is and what it was taken for: would you have told them apart?",
    )
    return [*found, examples]


def hardest_images(run: "Run", subject: Subject) -> list[Picture]:
    """The held-out images whose true class the model finds least likely."""
    task, learner = _parts_of(run)
    rows = task.parts.validation
    if rows is None:
        return []
    labels = task.labels
    p = learner.outputs(rows).double().softmax(-1).numpy()
    own = p[np.arange(len(rows)), rows.targets]
    chosen = np.argsort(own, kind="stable")[:_HARDEST]
    said = p[chosen].argmax(1)
    names = [
        f"{labels[rows.targets[i]]}: {own[i]:.0%}" + (f"\n{labels[j]}: {p[i, j]:.0%}" if j != rows.targets[i] else "\n")
        for i, j in zip(chosen, said, strict=True)
    ]
    wrong = [bool(j != rows.targets[i]) for i, j in zip(chosen, said, strict=True)]
    return [
        image_grid(
            list(rows.pixels(chosen)),
            title="The hardest held-out images",
            names=names,
            framed=wrong,
            cell=72,
            caption="Below each image its true class and the probability that the model gives it, and in a red frame, "
            "where it errs, what it takes the image for.",
            note="Wrong labels are often found here.",
        )
    ]


def image_evidence(run: "Run", subject: Subject) -> list[Picture]:
    """Which pixels speak for the class that an image is given: slopes, and Grad-CAM where there are feature maps."""
    model: Any = run.model
    labels = _parts_of(run)[0].labels
    images: Tensor = subject.arguments[0][:_EXPLAINED]
    p = subject.output(model)[:_EXPLAINED].double().softmax(-1)
    classes = p.argmax(-1)
    lines = [list(images.cpu())]
    rows = ["the image"]
    lines.append([tinted(x, h) for x, h in zip(images, _heats(class_saliency(model, images, classes)), strict=True)])
    rows.append("saliency")
    if has_feature_maps(run):
        at = model.feature_maps[-1]
        cams = _heats(grad_cam(model, images, classes, at))
        lines.append([tinted(x, h) for x, h in zip(images, cams, strict=True)])
        rows.append("Grad-CAM")
    names = [f"{labels[k]} {p[i, k]:.0%}" for i, k in enumerate(classes.tolist())]
    return [
        image_grid(
            [image for line in lines for image in line],
            title="What a class depends on",
            columns=len(images),
            rows=rows,
            names=[*names, *[""] * (len(images) * (len(lines) - 1))],
            cell=68,
            caption="The more orange a pixel, the more the named class depends on it"
            + (
                ": saliency pixel by pixel, Grad-CAM by the places where feature maps speak for it."
                if lines[2:]
                else "."
            ),
        )
    ]


def first_filters(run: "Run", subject: Subject) -> Picture:
    """The filters through which the first layer sees the pixels."""
    model: Any = run.model
    return filter_picture(model.pixel_filters())


def feature_maps(run: "Run", subject: Subject) -> Picture:
    """What an image calls up in each layer."""
    model: Any = run.model
    maps = subject.read(model, *model.feature_maps)
    return map_picture(subject.arguments[0][0], {at: maps[at][0] for at in model.feature_maps})


def has_patches(run: "Run") -> bool:
    """Runs of transformers over the patches of images."""
    return classifies_images(run) and looks_at_patches(run)


def patches_looked_at(run: "Run", subject: Subject) -> Picture:
    """Where each head looks in an image."""
    model: Any = run.model
    weights = subject.read(model, *declared_attention(model))
    spec = model.spec
    grid = (spec.image[0] // spec.patch, spec.image[1] // spec.patch)
    return patch_attention(subject.arguments[0][0], {at: w[0] for at, w in weights.items()}, grid)


def receptive_fields(run: "Run", subject: Subject) -> Picture:
    """What a unit in the middle of each layer sees: all that it reads, and how much each pixel matters."""
    model: Any = run.model
    return field_picture(model, subject.arguments[0][:_EXPLAINED], model.feature_maps[:_EXAMPLES])


def field_at(run: "Run", subject: Subject, address: str, value: Tensor) -> list[Picture]:
    """What a unit in the middle of a value sees."""
    if value.ndim not in (3, 4):
        return []
    images = subject.arguments[0][:_EXPLAINED]
    return [field_picture(run.model, images, [address], title=f"What a unit in the middle of {address} sees")]


def _heats(values: Tensor) -> list[np.ndarray]:
    """Each map as shares of its largest value."""
    x = values.detach().cpu().double().numpy()
    return list(x / np.maximum(x.max((1, 2), keepdims=True), 1e-300))


def _parts_of(run: "Run") -> "tuple[ImageClasses, ImageClassifier]":
    return run.task, run.learner


__all__ = [
    "classifies_images",
    "feature_maps",
    "field_at",
    "first_filters",
    "hardest_images",
    "has_feature_maps",
    "has_filters",
    "has_patches",
    "image_evidence",
    "image_mistakes",
    "patches_looked_at",
    "receptive_fields",
]
