r"""A decision map of a classifier of two inputs: its probabilities as colours, its boundary, and the data.

    field(x) = max_c p(c | x),   in the colour of the most probable c; the boundary is where that changes

Paler is less sure. Notes: N3 §2.4.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.fields import (
    Window,
    borders,
    evaluated,
    expect_window,
    finer,
    grid_values,
    image_layer,
    line_url,
    window_around,
)
from cutaway.look.charts.rasters import image_url
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES, channels
from cutaway.look.style.wording import short

_SIDE = 440  # pixels
_GRID = 220  # points a side at which the classifier is evaluated
_POINTS = 2000  # drawn, at most
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_PALE, _FULL = 0.06, 0.62  # how much of its colour a class has at chance and at certainty, on white


def decision_map(
    probabilities: Callable[[Tensor], Any],
    points: Values,
    classes: Values,
    window: Window | None = None,
    *,
    names: Sequence[str] | None = None,
    axes: tuple[str, str] = ("input 1", "input 2"),
    title: str = "What it decides where",
) -> Picture:
    """The probabilities of a classifier over a plane, with ``points`` (points, 2) of known ``classes`` (points,).

    ``probabilities`` takes points (n, 2) and gives P(class 1), (n,), for two classes, or (n, classes), each row with
    the sum 1. ``names`` are those of the classes; ``window`` is ((left, right), (bottom, top)), by default around the
    points.
    """
    import altair as alt

    xy = as_array("points", points, "points", "2")
    if xy.shape[1] != 2:
        raise ValueError(f"points must have 2 coordinates, got shape {xy.shape}; pick two inputs and fix the others")
    window = expect_window(window_around(xy[np.isfinite(xy).all(1)]) if window is None else window)
    p = grid_values(lambda at: _at(probabilities, at), window, _GRID, _GRID)
    count = p.shape[-1]
    names = [f"class {c}" for c in range(count)] if names is None else [short(str(name), 24) for name in names]
    truth = _truth(classes, xy, names, count)
    decided = finer(p, 2 * _SIDE // _GRID).argmax(-1)
    (left, right), (bottom, top) = window
    corner = {"left": left, "top": top}
    kept = np.sort(np.random.default_rng(0).permutation(len(xy))[:_POINTS])
    found = _at(probabilities, torch.from_numpy(xy).to(torch.get_default_dtype())).argmax(-1)
    data = {
        "ground": [corner | {"url": _shaded(p)}],
        "lines": [corner | {"url": line_url(borders(decided), "#3A4048")}],
        "rows": [{"x": xy[i, 0], "y": xy[i, 1], "class": names[truth[i]], "decided": names[found[i]]} for i in kept],
    }
    legend = alt.Legend(title=None, symbolOpacity=1, symbolSize=90)
    marks = (
        alt.Chart(alt.NamedData("rows"))
        .mark_point(size=44, opacity=1, stroke="#FFFFFF", strokeWidth=0.9, clip=True, aria=False)
        .encode(
            x=alt.X("x:Q", title=axes[0], axis=alt.Axis(grid=False)).scale(domain=[left, right], nice=False),
            y=alt.Y("y:Q", title=axes[1], axis=alt.Axis(grid=False)).scale(domain=[bottom, top], nice=False),
            fill=alt.Fill("class:N", scale=alt.Scale(domain=names, range=list(CATEGORIES[:count])), legend=legend),
            shape=alt.Shape("class:N", scale=alt.Scale(domain=names, range=list(_SHAPES[:count])), legend=legend),
            tooltip=[
                "class:N",
                "decided:N",
                *(alt.Tooltip(f"{k}:Q", title=name, format=".4~g") for k, name in zip("xy", axes)),
            ],
        )
    )
    layers = [
        image_layer(alt.NamedData("ground"), window, _SIDE, _SIDE),
        image_layer(alt.NamedData("lines"), window, _SIDE, _SIDE, opacity=0.75),
        marks,
    ]
    chart = alt.layer(*layers).properties(width=_SIDE, height=_SIDE)
    right_ones = int((found == truth).sum())
    score = f"{right_ones:,} of {len(xy):,} points lie on their own side"
    shares = ", ".join(f"{names[c]} {100 * (decided == c).mean():.0f} %" for c in range(count))
    note = f"{score}. The paler, the less sure; the line is where the most probable class changes."
    note += f" An even sample of {_POINTS:,} points is drawn." if len(xy) > _POINTS else ""
    words = f"Map of {count} classes over {axes[0]} and {axes[1]}: {shares} of it; {score}."
    caption = "A point on another colour is a mistake; pale ground is where the model is undecided."
    return Picture(chart, title, words, note, data, caption=caption)


def _at(probabilities: Callable[[Tensor], Any], points: Tensor) -> np.ndarray:
    """Probabilities of all classes, (points, classes); of two, one number says both."""
    p = evaluated(probabilities, points)
    if p.ndim == 1 or p.shape[1] == 1:
        p = np.stack([1 - p.ravel(), p.ravel()], 1)
    if p.shape[1] > len(CATEGORIES):
        raise ValueError(f"a map shows 2 to {len(CATEGORIES)} classes, got {p.shape[1]}; join or leave out some")
    if not (np.isfinite(p).all() and p.min() >= -1e-6 and np.abs(p.sum(1) - 1).max() < 1e-3):
        raise ValueError(
            f"probabilities must be from 0 to 1, and of all classes add up to 1, got from {p.min():.4g} to "
            f"{p.max():.4g}; put a sigmoid or softmax after the logits"
        )
    return p


def _truth(classes: Values, xy: np.ndarray, names: Sequence[str], count: int) -> np.ndarray:
    """The class of every point, as a whole number."""
    truth = as_array("classes", classes, "points")
    if len(truth) != len(xy):
        raise ValueError(f"classes must be one for each of the {len(xy)} points, got {len(truth)}; pass the same rows")
    if len(names) != count:
        raise ValueError(f"names must be one for each of the {count} classes, got {len(names)}; name them all")
    if not np.isin(truth, np.arange(count)).all():
        raise ValueError(
            f"classes must be whole numbers from 0 to {count - 1}, got {truth.min():g} to {truth.max():g}; "
            "count the classes from 0"
        )
    return truth.astype(int)


def _shaded(p: np.ndarray) -> str:
    """The field as an image: for every class a stretch of the palette, from pale at chance to full at certainty."""
    count = p.shape[-1]
    steps = 255 // count
    share = (p.max(-1) - 1 / count) / (1 - 1 / count)
    level = p.argmax(-1) * steps + np.clip(np.floor(share * steps), 0, steps - 1)
    palette = [
        _on_white(CATEGORIES[c], _PALE + (_FULL - _PALE) * i / (steps - 1)) for c in range(count) for i in range(steps)
    ]
    return image_url((level + 1).astype(np.uint8), (*palette, *[palette[-1]] * (255 - len(palette))))


def _on_white(colour: str, share: float) -> str:
    return "#{:02X}{:02X}{:02X}".format(*(round(255 + share * (c - 255)) for c in channels(colour)))
