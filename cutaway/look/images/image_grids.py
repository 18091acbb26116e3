r"""A grid of images, each with a word below it; rows and columns may have names, and some images a red frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.images.pixel_urls import as_bytes, pixel_url
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import short

_IMAGES = 400  # in one picture, at most
_WIDE = 760  # of the grid, about
_LETTER = 6.2
RED = "#D1242F"


def image_grid(
    images: Any,
    *,
    title: str,
    columns: int = 8,
    names: Sequence[str] = (),
    rows: Sequence[str] = (),
    heads: Sequence[str] = (),
    framed: Sequence[bool] = (),
    cell: int = 0,
    alt: str = "",
    caption: str = "",
    note: str = "",
) -> Picture:
    """``images`` line by line, ``columns`` in a line: (c, h, w) or (h, w), in 0–1 or bytes, None for an empty place.

    ``names`` stand below the images, ``rows`` to the left of the lines, ``heads`` above the columns; ``framed`` images
    have a red frame. ``cell`` is the longer side of an image on the page; 0 for what fits.
    """
    import altair as alt_

    if not len(images) or all(image is None for image in images):
        raise ValueError("a grid needs an image, got none; pass some")
    if len(images) > _IMAGES:
        raise ValueError(f"a grid of at most {_IMAGES} images can be shown, got {len(images)}; pass some of them")
    columns = min(columns, len(images))
    for what, given, wanted in (
        ("names", names, len(images)),
        ("framed", framed, len(images)),
        ("heads", heads, columns),
    ):
        if len(given) and len(given) != wanted:
            raise ValueError(f"{what} must be one for each of {wanted}, got {len(given)}; give as many")
    first = as_bytes(next(image for image in images if image is not None))
    cell = cell or int(np.clip(_WIDE // columns - 8, 28, 96))
    tall, wide = (max(8, round(cell * n / max(first.shape[:2]))) for n in first.shape[:2])
    letters = max(3, int((wide + 6) / _LETTER))
    lines = [text.split("\n") for text in names]
    words = 14 * max((len(line) for line in lines), default=0)
    step_x, step_y = wide + 8, tall + 8 + words
    left, top = (6.4 * min(24, max(map(len, rows))) + 10 if rows else 0), (20 if heads else 0)
    places, labels = [], []
    for i, image in enumerate(images):
        x, y = left + (i % columns) * step_x, top + (i // columns) * step_y
        if image is not None:
            frame = bool(len(framed) and framed[i])
            told = " ".join(names[i].split("\n")) if names else f"image {i + 1}"
            places.append({"url": pixel_url(image, 2 * cell), "x": x, "y": y, "frame": frame, "told": told})
        for k, line in enumerate(lines[i] if names else ()):
            labels.append(
                {"x": x + wide / 2, "y": y + tall + 10 + 14 * k, "text": fitted(line, letters), "anchor": "middle"}
            )
    labels += [
        {"x": left - 8, "y": top + i * step_y + tall / 2, "text": short(row, 24), "anchor": "right"}
        for i, row in enumerate(rows)
    ]
    labels += [
        {"x": left + j * step_x + wide / 2, "y": 8, "text": short(head, letters), "anchor": "middle"}
        for j, head in enumerate(heads)
    ]
    pixels: dict[str, Any] = dict(scale=None, axis=None)
    base = alt_.Chart(alt_.NamedData("rows")).encode(x=alt_.X("x:Q", **pixels), y=alt_.Y("y:Q", **pixels))
    shown = base.mark_image(width=wide, height=tall, align="left", baseline="top", aria=False).encode(
        url="url:N", tooltip=alt_.Tooltip("told:N", title="image")
    )
    layers = [shown]
    if any(place["frame"] for place in places):
        boxes = [place | {"x2": place["x"] + wide, "y2": place["y"] + tall} for place in places]
        for place, box in zip(places, boxes, strict=True):
            place |= {"x2": box["x2"], "y2": box["y2"]}
        layers.append(
            base.transform_filter("datum.frame")
            .mark_rect(fill=None, stroke=RED, strokeWidth=2.5, aria=False)
            .encode(x2="x2:Q", y2="y2:Q")
        )
    texts = alt_.Chart(alt_.NamedData("words")).encode(
        x=alt_.X("x:Q", **pixels), y=alt_.Y("y:Q", **pixels), text="text:N"
    )
    if labels:
        ours: Any = {"middle": "center", "right": "right"}
        layers += [
            texts.transform_filter(f"datum.anchor == '{anchor}'").mark_text(
                align=ours[anchor], baseline="middle", fontSize=11, aria=False
            )
            for anchor in sorted({label["anchor"] for label in labels})
        ]
    count = -(-len(images) // columns)
    chart = alt_.layer(*layers).properties(width=left + columns * step_x, height=top + count * step_y)
    told = (
        alt
        or f"Grid of {sum(image is not None for image in images)} images of {first.shape[0]}×{first.shape[1]} pixels."
    )
    return Picture(chart, title, told, note, {"rows": places, "words": labels}, caption=caption)


def fitted(name: str, letters: int) -> str:
    """A name cut to so many letters; a share at its end stays whole.

    >>> fitted("triangle 98%", 11), fitted("triangle", 6)
    ('triang… 98%', 'trian…')
    """
    words, _, share = name.rpartition(" ")
    if len(name) <= letters or not share.endswith("%") or letters < len(share) + 4:
        return short(name, letters)
    return f"{short(words, letters - len(share) - 1)} {share}"


__all__ = ["RED", "fitted", "image_grid"]
