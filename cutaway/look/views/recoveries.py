r"""Activation patching as a map: sites from the top down, positions or heads from left to right."""

import numpy as np

from cutaway.look.arrays import short_names
from cutaway.look.colours import SIGNED
from cutaway.look.picture import Picture
from cutaway.look.recoveries import Recovery
from cutaway.look.views.grids import fits_a_grid, grid_chart, in_cells
from cutaway.look.views.matrices import Shades, heatmap
from cutaway.look.wording import number, visible


def patching_map(recovery: Recovery, *, title: str = "Activation patching") -> Picture:
    """How much of the clean answer each patch brings back: 1 all of it, 0 nothing, below 0 the wrong way."""
    r = recovery.recovered
    clean, corrupted = recovery.texts
    rows = _site_names(recovery.sites)
    axes = ("patched at", recovery.by)
    if recovery.by == "position":
        pairs = zip(clean, corrupted)
        columns = [visible(a, 9) if a == b else f"{visible(b, 7)}→{visible(a, 7)}" for a, b in pairs]
    else:
        columns = [str(i) for i in range(r.shape[1])]
    high, low = recovery.scores
    i, j = np.unravel_index(np.nanargmax(r), r.shape)
    best = f"Most at {rows[i]}, {recovery.by} {j}: {number(float(r[i, j]), 3)}."
    note = (
        f"Share of the clean score brought back (1: {number(high, 3)}, as over the clean text; 0: {number(low, 3)}, as "
        f"over the corrupted one). {best}"
    )
    if not fits_a_grid(r):
        picture = heatmap(r, rows, None, title=title, value="recovered", axes=axes)
        picture.note = f"{note} {picture.note}"
        return picture
    most = max(1.0, float(np.abs(r).max()))
    chart, data = grid_chart(r, in_cells(r, 2), (rows, columns), axes, Shades(SIGNED, -most, most), "recovered")
    alt = f"Heat map of the clean score recovered by patching {r.shape[0]} sites at {r.shape[1]} {recovery.by}s. {best}"
    return Picture(chart, title, alt, note, data)


def _site_names(sites: list[str]) -> list[str]:
    """Layers by their numbers; what enters the first of them as the embedding."""
    inputs = [site.endswith(".input") for site in sites]
    if inputs[0] and not any(inputs[1:]) and len(sites) > 1 and sites[0].removesuffix(".input") == sites[1]:
        return ["embedding", *(f"layer {i}" for i in range(len(sites) - 1))]
    names = short_names(sites)
    return [f"layer {name}" if name.isdigit() else name for name in names]
