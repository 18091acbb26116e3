r"""A map with images at its points: the space of codes or of vectors, seen as what lies in it.

Points are dots in the colour of their group. Images stand at those points where they hide no other image, chosen one
after another from the densest places on, so that a map of thousands is still legible.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.images.pixel_urls import pixel_url
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short

_SIDE = 640  # of the map, in pixels
_IMAGE = 34  # of an image on it
# Twenty hues of two depths, for maps of more classes than our own palette has.
_MORE = (
    "#4C78A8",
    "#F58518",
    "#54A24B",
    "#E45756",
    "#B279A2",
    "#9D755D",
    "#439894",
    "#D67195",
    "#79706E",
    "#B79A20",
    "#9ECAE9",
    "#FFBF79",
    "#88D27A",
    "#FF9D98",
    "#D6A5C9",
    "#D8B5A5",
    "#83BCB6",
    "#FCBFD2",
    "#BAB0AC",
    "#F2CF5B",
)
_APART = 1.18  # images between the middles of two, at least


def image_map(
    points: Values,
    images: Any,
    *,
    groups: Sequence[str] = (),
    title: str = "Map of images",
    caption: str = "",
    note: str = "",
) -> Picture:
    """``images`` (n, c, h, w) at ``points`` (n, 2), with dots coloured by ``groups`` for those that are not shown."""
    import altair as alt

    xy = as_array("points", points, "points", "2")
    if xy.ndim != 2 or xy.shape[1] != 2 or len(xy) != len(images):
        raise ValueError(
            f"a map needs two coordinates for each of {len(images)} images, got shape {xy.shape}; project them first"
        )
    if len(groups) and len(groups) != len(xy):
        raise ValueError(f"groups must be one for each of the {len(xy)} points, got {len(groups)}; pass the same rows")
    names = sorted(set(groups), key=lambda name: (len(name), name))
    colours = CATEGORIES if len(names) <= len(CATEGORIES) else _MORE
    if len(names) > len(colours):
        names, groups = [], ()
    place = _on_page(xy)
    height, width = (_IMAGE * n / max(images.shape[2:]) for n in images.shape[2:])
    shown = _apart(place, _IMAGE * _APART)
    dots = [
        {"x": x, "y": y} | ({"group": short(groups[i], 20)} if names else {}) for i, (x, y) in enumerate(place.tolist())
    ]
    pictures = [dots[i] | {"url": pixel_url(images[i], 2 * _IMAGE)} for i in shown]
    axis: dict[str, Any] = dict(scale=alt.Scale(domain=[0, _SIDE]), axis=None)
    where: dict[str, Any] = {"x": alt.X("x:Q", **axis), "y": alt.Y("y:Q", **axis)}
    colour: dict[str, Any] = {}
    if names:
        scale = alt.Scale(domain=[short(name, 20) for name in names], range=list(colours[: len(names)]))
        colour = {"color": alt.Color("group:N", scale=scale, title="class")}
    tips = {"tooltip": alt.Tooltip("group:N", title="class")} if names else {}
    layers = [
        alt.Chart(alt.NamedData("rows")).mark_circle(size=26, opacity=0.7, aria=False).encode(**where, **colour),
        alt.Chart(alt.NamedData("images"))
        .mark_rect(width=width + 5, height=height + 5, cornerRadius=2, aria=False)
        .encode(**where, **colour),
        alt.Chart(alt.NamedData("images"))
        .mark_image(width=width, height=height, aria=False)
        .encode(**where, url="url:N", **tips),
    ]
    chart = alt.layer(*layers).properties(width=_SIDE, height=_SIDE)
    told = f"Map of {len(xy):,} images, {len(shown)} of them shown at their points."
    words = " ".join(filter(None, (note, f"{len(shown)} of {len(xy):,} images are shown, the others are dots.")))
    return Picture(chart, title, told, words, {"rows": dots, "images": pictures}, caption=caption)


def _on_page(xy: np.ndarray) -> Float[np.ndarray, "n 2"]:
    """Places on the page; a few far ones do not press all others together."""
    low, high = np.percentile(xy, [0.5, 99.5], axis=0)
    share = (np.clip(xy, low, high) - low) / np.where(high > low, high - low, 1.0)
    return _IMAGE / 2 + share * (_SIDE - _IMAGE)


def _apart(place: Float[np.ndarray, "n 2"], gap: float) -> list[int]:
    """Places of which no two are closer than a gap along both axes, from dense places to thin ones."""
    some = place[:: max(len(place) // 500, 1)]
    crowd = (np.abs(place[:, None] - some[None]).max(-1) < gap).sum(1)
    kept: list[int] = []
    for i in np.argsort(-crowd, kind="stable"):
        if not kept or (np.abs(place[kept] - place[i]).max(-1) >= gap).all():
            kept.append(int(i))
    return kept


__all__ = ["image_map"]
