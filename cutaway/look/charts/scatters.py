r"""Scatter plots: points on a plane, as of a latent space or a t-SNE map. Both axes have one scale."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.word_placement import set_apart
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short, visible

_POINTS = 20_000  # in one picture, at most
_SIDE = 480  # pixels
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def scatter(
    points: Values,
    groups: Values | None = None,
    *,
    values: Values | None = None,
    labels: Sequence[str] | None = None,
    written: bool = False,
    title: str = "Map",
    axes: tuple[str, str] = ("dimension 1", "dimension 2"),
    value: str = "value",
) -> Picture:
    """Points (points, 2), coloured by ``groups`` or by ``values``, with ``labels`` under the pointer.

    With ``written`` each label stands in the place of its point, moved up or down where others would hide it.
    """
    import altair as alt

    xy = as_array("points", points, "points", "2")
    if xy.shape[1] != 2:
        raise ValueError(
            f"points must have 2 coordinates, got shape {xy.shape}; project them first, or pick two columns"
        )
    if groups is not None and values is not None:
        raise ValueError("points are coloured by groups or by values, got both; leave one out")
    shade = None if values is None else as_array("values", values, "points")
    groups = groups.tolist() if isinstance(groups, (Tensor, np.ndarray)) else groups
    for name, given in (("groups", groups), ("values", shade), ("labels", labels)):
        if given is not None and len(given) != len(xy):
            raise ValueError(
                f"{name} must be one for each of the {len(xy)} points, got {len(given)}; pass the same rows"
            )
    if written and labels is None:
        raise ValueError("written puts labels in the place of points, got no labels; pass labels=")
    drawn, note = _drawn_points(xy)
    names = [] if groups is None else sorted(set(groups))
    most = len(CATEGORIES) * (1 if written else len(_SHAPES))
    if len(names) > most:
        raise ValueError(
            f"at most {most} groups can be told apart, got {len(names)}; pass them as labels, or as values"
        )
    shown = {name: short(str(name), 24) for name in names}
    data: list[dict[str, Any]] = []
    for i in drawn:
        row: dict[str, Any] = {"x": xy[i, 0], "y": xy[i, 1]}
        if groups is not None:
            row["group"] = shown[groups[i]]
        if shade is not None:
            row["value"] = shade[i]
        if labels is not None:
            row["label"] = visible(str(labels[i]), 18 if written else 60)
        data.append(row)
    tips = [alt.Tooltip("label:N", title="label")] if labels is not None else []
    tips += [alt.Tooltip("group:N")] if names else []
    tips += [alt.Tooltip("value:Q", title=value, format=".4~g")] if shade is not None else []
    tips += [alt.Tooltip(f"{k}:Q", title=name, format=".4~g") for k, name in zip("xy", axes)]
    left, right, bottom, top = _frame(xy[drawn])
    base = alt.Chart(alt.NamedData("rows"))
    if written:
        size = 12 if len(drawn) <= 100 else 10
        places = _legible(data, (right - left) / _SIDE, size)
        for row, place in zip(data, places.tolist()):
            row["place"] = place
        marks = base.mark_text(fontSize=size, aria=False).encode(text="label:N")
    else:
        marks = base.mark_point(size=40 if len(drawn) <= 500 else 18, opacity=0.85, aria=False)
    chart = marks.encode(
        x=alt.X("x:Q", title=axes[0], scale=alt.Scale(domain=[left, right], nice=False)),
        y=alt.Y("place:Q" if written else "y:Q", title=axes[1], scale=alt.Scale(domain=[bottom, top], nice=False)),
        tooltip=tips,
    ).properties(width=_SIDE, height=_SIDE)
    if names:
        words = [shown[name] for name in names]
        colours = [CATEGORIES[i % len(CATEGORIES)] for i in range(len(words))]
        # colours come round again after six groups, in another shape
        shapes = [_SHAPES[i // len(CATEGORIES)] for i in range(len(words))]
        legend = alt.Legend(title="group", columns=-(-len(words) // 22), symbolOpacity=1)
        chart = chart.encode(color=alt.Color("group:N", scale=alt.Scale(domain=words, range=colours), legend=legend))
        if not written:
            chart = chart.encode(shape=alt.Shape("group:N", scale=alt.Scale(domain=words, range=shapes), legend=legend))
    elif shade is not None:
        chart = chart.encode(color=alt.Color("value:Q", title=value))
    kind = f" in {len(names)} groups" if names else f" coloured by {value}" if shade is not None else ""
    return Picture(chart, title, f"Scatter plot of {len(drawn):,} points{kind}, {axes[0]} by {axes[1]}.", note, data)


def _legible(rows: list[dict[str, Any]], pixel: float, size: float) -> np.ndarray:
    """Heights at which labels of that size can be read."""
    at = np.array([(row["x"], row["y"]) for row in rows]) / pixel
    widths = np.array([0.6 * size * len(row["label"]) for row in rows])
    return set_apart(at, widths, size) * pixel


def _drawn_points(xy: np.ndarray) -> tuple[np.ndarray, str]:
    """Which points are drawn, and a note about the others."""
    kept = np.flatnonzero(np.isfinite(xy).all(1))
    if not kept.size:
        raise ValueError(f"points must hold at least one with finite coordinates, got none of {len(xy)}; check the map")
    note = f"{len(xy) - len(kept):,} points without finite coordinates are left out. " if len(kept) < len(xy) else ""
    if len(kept) > _POINTS:
        note += f"An even sample of {_POINTS:,} of {len(kept):,} points; pass a part of them to see all of it."
        kept = np.sort(np.random.default_rng(0).choice(kept, _POINTS, replace=False))
    return kept, note.strip()


def _frame(xy: np.ndarray) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of a square around the points, with a margin."""
    low, high = xy.min(0).astype(np.float64), xy.max(0).astype(np.float64)
    half = 0.53 * float((high - low).max()) or 1.0
    (x, y) = (low + high) / 2
    return float(x - half), float(x + half), float(y - half), float(y + half)
