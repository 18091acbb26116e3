r"""Views of runs that learned from images alone: hidden patches filled in, views that find each other, alike images."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cutaway.blocks.embeddings.hidden_patches import choose_visible, hidden_places
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.image_maps import image_map
from cutaway.look.pages.picture import Picture
from cutaway.tasks.images.contrast import views_of
from cutaway.tasks.images.masked_patches import blurred
from cutaway.tasks.images.pixels import evenly_spread
from cutaway.tasks.images.pretraining import vectors_of
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.data.images.image_data import ImageRows
    from cutaway.runs.run import Run

_SHOWN = 10
_HIDDEN = 0.5  # the grey of a hidden patch
_KNOWN, _MAPPED, _NEAREST = 5_000, 1_000, 6


def fills_patches(run: "Run") -> bool:
    """Runs that fill in hidden patches."""
    return run.recipe.kind == "images/masked_patches"


def contrasts_views(run: "Run") -> bool:
    """Runs that compare two views of an image."""
    return run.recipe.kind == "images/contrast"


def learns_from_images_alone(run: "Run") -> bool:
    """Runs that were pretrained on images without labels."""
    return fills_patches(run) or contrasts_views(run)


@torch.no_grad()
def filled_images(run: "Run", subject: Subject) -> Picture:
    """Images, what the model sees of them, what it makes of that, and a blur beside it."""
    model: Any = run.model
    share, side = run.recipe.hidden, model.spec.encoder.patch  # type: ignore[attr-defined]
    images = subject.arguments[0][:_SHOWN]
    generator = torch.Generator().manual_seed(0)
    visible = choose_visible(len(images), model.spec.patches, share, generator, images.device)
    mask = hidden_places(visible, model.spec.patches)[:, :, None].expand(-1, -1, images.shape[1] * side**2)
    seen = images.masked_fill(model.as_images(mask.to(images)) > 0, _HIDDEN).cpu()
    filled = model.fill(images, visible).clamp(0, 1).cpu()
    images, visible = images.cpu(), visible.cpu()
    rows = [images, seen, filled, blurred(images, visible, side, side / 2)]
    note = f"{share:.0%} of the patches are hidden, drawn at random. {subject.words[:1].upper()}{subject.words[1:]}."
    if model.spec.standardised:
        note += " It fills in patches without their brightness, which is here that of the visible ones."
    return image_grid(
        [image for row in rows for image in row],
        title="Hidden patches, filled in",
        columns=len(images),
        rows=["image", "what it sees", "filled in", "only blurred"],
        cell=64,
        caption="What is filled in should go on as the visible patches begin; the blur below knows nothing of images.",
        note=note,
    )


@torch.no_grad()
def contrasted_pairs(run: "Run", subject: Subject) -> list[Picture]:
    """Two views of some images, how alike they are, and which other image is most alike."""
    learner: Any = run.learner
    images: Tensor = subject.arguments[0][:_SHOWN]
    if len(images) < 2:
        return []
    first, second = views_of(images, learner.changes())
    a, b = (nn.functional.normalize(run.model(x).float(), dim=1).cpu() for x in (first, second))
    alike = a @ b.T
    other = alike.clone().fill_diagonal_(-2)
    place = other.argmax(1)
    names = [""] * len(images)
    names += [f"{value:.2f}" for value in alike.diagonal().tolist()]
    names += [f"{other[i, j]:.2f}" for i, j in enumerate(place.tolist())]
    wrong = [bool(other[i, j] > alike[i, i]) for i, j in enumerate(place.tolist())]
    return [
        image_grid(
            [*first.cpu(), *second.cpu(), *second.cpu()[place]],
            title="Two views of an image, and the most alike of another",
            columns=len(images),
            rows=["a view", "its other view", "nearest other"],
            names=names,
            framed=[False] * (2 * len(images)) + wrong,
            cell=64,
            caption="Below each view the cosine to the one on top: it should be larger for the same image than for any "
            "other; a red frame marks another that is taken for it.",
            note=f"{subject.words[:1].upper()}{subject.words[1:]}.",
        )
    ]


def alike_images(run: "Run", subject: Subject) -> list[Picture]:
    """Some held-out images, and the training images with the most alike vectors."""
    data, held = _parts(run)
    asked = evenly_spread(held, 8)
    known = evenly_spread(data.train, _KNOWN)
    z, x = (nn.functional.normalize(vectors_of(run.model, rows), dim=1) for rows in (asked, known))
    alike = z @ x.T
    if held is data.train:
        alike = alike.masked_fill(torch.from_numpy(asked.rows[:, None] == known.rows), -2)
    near = alike.topk(min(_NEAREST, len(known)), dim=1)
    images: list[Any] = []
    names: list[str] = []
    framed: list[bool] = []
    told = [str(label) for label in data.labels]
    name = lambda k: told[k] if told and k >= 0 else ""
    for i, pixels in enumerate(asked.pixels()):
        images += [pixels, *known.pixels(near.indices[i].numpy())]
        names += [name(asked.targets[i])]
        for value, j in zip(near.values[i].tolist(), near.indices[i].tolist(), strict=True):
            names.append(f"{name(known.targets[j])} {value:.2f}".strip())
        framed += [
            False,
            *(bool(told) and bool(known.targets[j] != asked.targets[i]) for j in near.indices[i].tolist()),
        ]
    return [
        image_grid(
            images,
            title="The most alike training images",
            columns=1 + near.indices.shape[1],
            names=names,
            framed=framed,
            cell=60,
            caption="Each line is an image that it was not trained on and the training images most alike to it, with "
            "their cosines" + ("; a red frame is one of another class." if told else "."),
            note="The model was told no class." if told else "",
        )
    ]


def map_of_vectors(run: "Run", subject: Subject) -> list[Picture]:
    """Held-out images on a map by their vectors."""
    from cutaway.look.embeddings.tsne import tsne

    data, held = _parts(run)
    rows = evenly_spread(held, _MAPPED)
    if len(rows) < 5:
        return []
    labels = [str(label) for label in data.labels]
    return [
        image_map(
            tsne(vectors_of(run.model, rows)),
            torch.from_numpy(rows.pixels()).float() / 255,
            groups=[labels[k] if k >= 0 else "" for k in rows.targets] if labels else [],
            title="Map of the images by their vectors",
            caption="Images that the model takes for alike lie close together"
            + ("; it was told no class, so islands of one colour are its own discovery." if labels else "."),
            note=f"t-SNE of {len(rows):,} images"
            + (
                ", which it was not trained on: neighbours count, far distances do not."
                if held is not data.train
                else "."
            ),
        )
    ]


def _parts(run: "Run") -> "tuple[Any, ImageRows]":
    task: Any = run.task
    data = task.parts
    return data, data.train if data.validation is None else data.validation


__all__ = [
    "alike_images",
    "contrasted_pairs",
    "contrasts_views",
    "filled_images",
    "fills_patches",
    "learns_from_images_alone",
    "map_of_vectors",
]
