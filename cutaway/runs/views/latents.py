r"""Views of runs that make images: samples, images made anew, ways through the space of codes, the way from noise."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.image_maps import image_map
from cutaway.look.pages.picture import Picture
from cutaway.tasks.images.latent_codes import CodedImages
from cutaway.tasks.images.pca_kmeans import as_rows
from cutaway.tasks.images.pixels import as_pixels
from cutaway.tasks.images.sample_scores import nearest_rows
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run
    from cutaway.tasks.images.image_task import ImageTask

_SHOWN = 8
_MAPPED = 1500  # images whose codes a map shows
_FEW = 5  # images for which t-SNE has no sense
_KNOWN = 10_000  # training images among which neighbours are looked for


def makes_images(run: "Run") -> bool:
    """Runs that make images."""
    return run.recipe.task_kind in ("images/reconstruct", "images/generate")


def has_codes(run: "Run") -> bool:
    """Runs that encode images and decode codes."""
    return makes_images(run) and hasattr(run.model, "decode")


def has_normal_codes(run: "Run") -> bool:
    """Runs whose codes are drawn from a normal distribution."""
    return has_codes(run) and hasattr(run.model, "latent")


def denoises_in_steps(run: "Run") -> bool:
    """Runs that make images from noise, step by step."""
    return makes_images(run) and hasattr(run.model, "denoising_path")


def _task(run: "Run") -> "ImageTask":
    return run.task


def _labels(run: "Run") -> list[str]:
    model: Any = run.model
    return [str(label) for label in _task(run).labels] if getattr(model.spec, "classes", 0) else []


@lru_cache(maxsize=2)
def _samples(run: "Run", count: int) -> Tensor:
    labels = _labels(run)[:10]
    asked = [labels[i % len(labels)] for i in range(count)] if labels else None
    return run.sample(count, asked)


def samples(run: "Run", subject: Subject) -> Picture:
    """New images, of each class if it knows some."""
    labels = _labels(run)[:10]
    columns = len(labels) or _SHOWN
    made = _samples(run, 6 * columns)
    caption = "None of these is in the data: they should look as if they could be, and each unlike the others."
    note = "A column for each class." if labels else ""
    return image_grid([*made], title="New images", columns=columns, heads=labels, caption=caption, note=note)


def nearest_images(run: "Run", subject: Subject) -> Picture:
    """Samples with the training images nearest to them, by pixels."""
    made = _samples(run, 6 * (len(_labels(run)[:10]) or _SHOWN))[:_SHOWN]
    known = as_rows(_task(run).parts.train, _KNOWN)
    near = nearest_rows(made.flatten(1), known, min(3, len(known)))
    rows = [made, *(known[near[:, k]].view_as(made) for k in range(near.shape[1]))]
    return image_grid(
        [image for row in rows for image in row],
        title="Samples, and the training images nearest to them",
        columns=len(made),
        rows=["sample", "nearest", "second", "third"][: len(rows)],
        caption="A sample that equals the image below it is a copy; one that only resembles it is new.",
        note=f"Nearest by pixels, among {len(known):,} training images.",
    )


def reconstructions(run: "Run", subject: Subject) -> Picture:
    """Images that it was not trained on, and what it makes of their codes."""
    model: Any = run.model
    recipe = run.recipe
    (images,) = subject.arguments
    images = images[: 2 * _SHOWN].cpu()
    noise = float(getattr(recipe, "noise", 0.0))
    given = images + noise * torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        device = next(model.parameters()).device
        again = model.decode(model.encode(given.to(device))).clamp(0, 1).cpu()
    rows = [images, *([given.clamp(0, 1)] if noise else []), again]
    names = ["image", *(["with noise"] if noise else []), "made anew"]
    width = model.spec.codes if hasattr(model.spec, "codes") else model.spec.latents
    return image_grid(
        [image for row in rows for image in row],
        title="Images, and what is left of them in their codes",
        columns=len(images),
        rows=names,
        caption=f"What the lower row lacks did not fit into {width} numbers.",
        note=f"{subject.words[:1].upper()}{subject.words[1:]}.",
    )


def interpolation(run: "Run", subject: Subject) -> list[Picture]:
    """From one image to another along the straight line between their codes, and between their pixels."""
    model: Any = run.model
    (images,) = subject.arguments
    pairs = [(i, i + 1) for i in range(0, min(len(images) - 1, 6), 2)]
    if not pairs:
        return []
    t = torch.linspace(0, 1, 9, device=images.device)[:, None]
    shown, names = [], []
    with torch.no_grad():
        for i, j in pairs:
            codes = model.encode(images[[i, j]])
            shown += [*model.decode((1 - t) * codes[:1] + t * codes[1:]).clamp(0, 1).cpu()]
            mixed = (1 - t) * images[i].flatten() + t * images[j].flatten()
            shown += [*mixed.view(-1, *images.shape[1:]).cpu()]
            names += ["codes", "pixels"]
    picture = image_grid(
        shown,
        title="From one image to another, by codes and by pixels",
        columns=9,
        rows=names,
        caption="Between codes there are images all the way; between pixels two images lie over one another.",
    )
    return [picture]


def latent_map(run: "Run", subject: Subject) -> Picture:
    """Codes of images that it was not trained on, each shown as its image."""
    data = _task(run).parts
    rows = data.train if data.validation is None else data.validation
    coded = CodedImages.of(run.model, rows, _MAPPED)
    places = np.linspace(0, len(rows) - 1, len(coded.codes)).astype(np.int64)
    labels = [str(label) for label in data.labels]
    names = [labels[k] if k >= 0 else "" for k in coded.targets] if labels else []
    flat, how = _flat(coded.codes.numpy())
    return image_map(
        flat,
        as_pixels(run.model, rows.pixels(places)).cpu(),
        groups=names,
        title="Where images lie in the space of codes",
        caption="Images that the model takes for alike lie close together"
        + ("; classes form islands although it was told none." if labels else "."),
        note=how,
    )


def _flat(codes: np.ndarray) -> tuple[np.ndarray, str]:
    """Codes on a plane: as they are if they have two numbers, else by t-SNE."""
    width = codes.shape[1]
    if width == 1:
        spread = np.random.Generator(np.random.Philox(0)).uniform(0, 1, len(codes))
        return np.stack([codes[:, 0], spread], 1), "Codes are single numbers, from left to right; the height is random."
    if width == 2:
        return codes, "The two numbers of a code are the two axes."
    if len(codes) < _FEW:
        return codes[:, :2], "The first two numbers of a code are the two axes."
    from cutaway.look.embeddings.tsne import tsne

    return tsne(codes), f"Codes of {width} numbers, laid out by t-SNE: neighbours count, far distances do not."


def latent_walk(run: "Run", subject: Subject) -> Picture:
    """One number of a code at a time from low to high, all others held at those of an image."""
    model: Any = run.model
    (images,) = subject.arguments
    spreads = CodedImages.of(model, _task(run).parts.train, 2000).codes.std(0, correction=0)
    chosen = spreads.argsort(descending=True)[:6].tolist()
    steps = torch.linspace(-3, 3, 7)
    with torch.no_grad():
        code = model.encode(images[:1]).cpu()
        shown = []
        for k in chosen:
            codes = code.repeat(len(steps), 1)
            codes[:, k] = steps
            shown += [*model.decode(codes.to(images.device)).clamp(0, 1).cpu()]
    return image_grid(
        shown,
        title="A walk along single numbers of a code",
        columns=len(steps),
        rows=[f"z{k + 1}" for k in chosen],
        heads=[f"{float(step):g}".replace("-", "−") for step in steps],
        caption="Each row changes one number alone, from −3 to 3, where 99.7 % of normal codes lie.",
        note="The numbers that vary most from image to image come first; the others are those of one image.",
    )


def code_spread(run: "Run", subject: Subject) -> Picture:
    """How the codes of images are spread, beside the normal distribution that new ones are drawn from."""
    from cutaway.look import histogram

    model, train = run.model, _task(run).parts.train
    images = as_rows(train, 2000).view(-1, *train.store.shape[1:])
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        found = [model(part.to(next(model.parameters()).device), generator) for part in images.split(500)]
    codes, means = (torch.cat([getattr(one, name).cpu() for one in found]) for name in ("z", "mean"))
    normal = torch.randn(codes.shape, generator=generator)
    inside = float((codes.abs() <= 3).float().mean())
    used = int((means.std(0, correction=0) > 0.1).sum())
    values = {"codes of training images": codes.flatten().numpy(), "a normal distribution": normal.flatten().numpy()}
    picture = histogram(values, title="The numbers in codes, and those that new codes are drawn from", value="number")
    picture.note = f"{used} of {codes.shape[1]} numbers vary with the image; the others are noise and say nothing."
    return picture.captioned(f"{inside:.1%} of the numbers in codes lie within ±3; of normal ones 99.7 % do.")


def denoising(run: "Run", subject: Subject) -> Picture:
    """The way from noise to image: what the network is given, and the image that it sees in it."""
    model: Any = run.model
    labels = _labels(run)
    count = min(3, len(labels)) if labels else 3
    device = next(model.parameters()).device
    noise = torch.randn(count, model.spec.channels, *model.spec.image, generator=torch.Generator().manual_seed(1))
    classes = torch.arange(count) * max(len(labels) // count, 1) if labels else None
    recipe: Any = run.recipe
    path = [
        *model.denoising_path(
            noise.to(device),
            None if classes is None else classes.to(device),
            recipe.guidance,
            recipe.sampling_steps,
            recipe.sampler,
            torch.Generator().manual_seed(2),
        )
    ]
    stops = [path[i] for i in np.linspace(0, len(path) - 1, min(9, len(path))).round().astype(int)]
    shown, names = [], []
    for k in range(count):
        for name, values in (("given", [stop.x for stop in stops]), ("seen in it", [stop.image for stop in stops])):
            shown += [((x[k].cpu() + 1) / 2).clamp(0, 1) for x in values]
            names.append(f"{name}, {labels[int(classes[k])]}" if classes is not None else name)
    return image_grid(
        shown,
        title="From noise to image",
        columns=len(stops),
        rows=names,
        heads=[f"{stop.level / model.spec.levels:.0%}" for stop in stops],
        caption="Out of noise the network first sees a blur, the mean of all that it might become, then more and more.",
        note=f"Above each column the share of the way still to go; {recipe.sampling_steps} steps in all.",
    )


def guidance_table(run: "Run", subject: Subject) -> list[Picture]:
    """The same noise, guided more and more towards a class."""
    labels = _labels(run)[:8]
    if len(labels) < 2:
        return []
    strengths = (0.0, 1.0, 1.5, 3.0, 6.0)
    shown = [image for strength in strengths for image in run.sample(len(labels), labels, guidance=strength, seed=3)]
    return [
        image_grid(
            shown,
            title="Guidance: the same noise, driven towards a class",
            columns=len(labels),
            rows=[f"guidance {strength:g}" for strength in strengths],
            heads=labels,
            caption="Without guidance (0) the class is not told; the more of it, the clearer and the more alike.",
        )
    ]
