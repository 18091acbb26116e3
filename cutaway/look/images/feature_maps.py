r"""Filters of the first layer as small images, and the feature maps that an image calls up in each layer.

f_c = weights of channel c over a window of pixels;   A_c = the answer of channel c at every place
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.signed_pixels import signed_pixels
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import short

_FILTERS, _MAPS = 64, 8


def filter_picture(filters: Values, *, title: str = "What the first layer looks for") -> Picture:
    """Filters (n, channels, h, w), those with the largest weights first: colours as colours, grey in blue and red."""
    x = as_array("filters", filters, "filter", "channel", "height", "width")
    order = np.argsort(-np.abs(x).sum((1, 2, 3)), kind="stable")[:_FILTERS]
    coloured = x.shape[1] == 3
    most = float(np.abs(x[order]).max()) or 1.0
    shown = [0.5 + x[i] / (2 * most) if coloured else signed_pixels(x[i], most) for i in order]
    what = "grey is 0, a colour what the filter answers to" if coloured else "red is a positive weight, blue a negative"
    more = f" The {_FILTERS} strongest of {len(x):,}." if len(x) > _FILTERS else ""
    return image_grid(
        shown,
        title=title,
        columns=16 if len(shown) > 16 else 8,
        cell=40,
        alt=f"{len(shown)} filters of {x.shape[2]}×{x.shape[3]} pixels.",
        caption=f"Each square is one filter, {x.shape[2]}×{x.shape[3]} pixels: {what}; edges, spots and strokes show.",
        note=more.strip(),
    )


def map_picture(image: Any, maps: Mapping[str, Values], *, title: str = "") -> Picture:
    """What an image calls up in each layer: ``maps`` (channels, h, w) by address, the strongest channels of each."""
    if not maps:
        raise ValueError("feature maps of a layer are needed, got none; name a convolution")
    images: list[Any] = []
    names: list[str] = []
    rows: list[str] = []
    columns = 1 + min(_MAPS, max(len(as_array(at, x)) for at, x in maps.items()))
    for at, values in maps.items():
        x = np.nan_to_num(as_array(at, values, "channel", "height", "width").astype(np.float64))
        order = np.argsort(-x.clip(0).mean((1, 2)), kind="stable")[: columns - 1]
        low, high = min(0.0, float(x[order].min())), float(x[order].max())
        chosen = [(x[i] - low) / ((high - low) or 1.0) for i in order]
        images += [image if not rows else None, *chosen, *[None] * (columns - 1 - len(chosen))]
        names += ["the image" if not rows else "", *(f"channel {i}" for i in order)]
        names += [""] * (columns - 1 - len(order))
        rows.append(f"{short(at.removesuffix('.output'), 14)} {x.shape[1]}×{x.shape[2]}")
    return image_grid(
        images,
        title=title or "What an image calls up, layer by layer",
        columns=columns,
        rows=rows,
        names=names,
        cell=72,
        alt=f"Feature maps of {len(maps)} layers for one image, the strongest channels of each.",
        caption="Each row is a layer, each square a channel, bright where it answers: first strokes and edges, later "
        "larger parts in fewer, coarser places.",
    )


__all__ = ["filter_picture", "map_picture"]
