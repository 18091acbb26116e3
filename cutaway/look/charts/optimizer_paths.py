r"""The paths of optimizers on a surface: contours of a cost of two parameters, and a path for each optimizer.

    J(θ_0), J(θ_1), …      θ_t = (x_t, y_t)

Costs of such surfaces span many powers of ten, so contours stand at even steps of log(1 + J − min J).
"""

from collections.abc import Callable, Mapping
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
from cutaway.look.charts.rasters import image_url, levels_of
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number, short

_WIDTH, _HEIGHT = 520, 400
_CONTOURS = 18
_STEPS = 400  # points drawn of one path, at most
_GREY = "#9AA3AE"


def trajectories(
    function: Callable[[Tensor], Any],
    paths: Mapping[str, Values],
    window: Window | None = None,
    *,
    minima: Values | None = None,
    axes: tuple[str, str] = ("x", "y"),
    value: str = "cost",
    title: str = "Ways down a surface",
) -> Picture:
    """Paths (steps, 2) by name, over the contours of ``function``, which takes points (n, 2) and gives a cost each.

    ``window`` is ((left, right), (bottom, top)), by default around all paths (they may leave it); it marks ``minima``.
    """
    import altair as alt

    if not 1 <= len(paths) <= len(CATEGORIES):
        raise ValueError(f"one picture shows 1 to {len(CATEGORIES)} paths, got {len(paths)}; make several pictures")
    arrays = {short(name, 24): _as_points(name, path) for name, path in paths.items()}
    everywhere = np.concatenate([path[np.isfinite(path).all(1)] for path in arrays.values()])
    window = expect_window(window_around(everywhere) if window is None else window)
    values = grid_values(lambda points: _costs(function, points), window, _HEIGHT // 2, _WIDTH // 2)
    height = finer(np.log1p(values - np.nanmin(np.where(np.isfinite(values), values, np.nan))), 4)
    finite = height[np.isfinite(height)]
    most = float(finite.max()) or 1.0
    bands = np.where(np.isfinite(height), np.floor(height / most * _CONTOURS), -1)
    (left, right), (bottom, top) = window
    corner = {"left": left, "top": top}
    ground = [corner | {"url": image_url(levels_of(np.where(bands < 0, np.nan, bands), 0, _CONTOURS)[::4, ::4])}]
    lines = [corner | {"url": line_url(borders(bands), _GREY)}]
    rows = [row for name, path in arrays.items() for row in _rows(name, path, function, window)]
    domain = {"x": [left, right], "y": [bottom, top]}
    x, y = (
        alt.X("x:Q", title=axes[0], axis=alt.Axis(grid=False)).scale(domain=domain["x"], nice=False),
        alt.Y("y:Q", title=axes[1], axis=alt.Axis(grid=False)).scale(domain=domain["y"], nice=False),
    )
    colour = alt.Color(
        "path:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=list(arrays), range=list(CATEGORIES[: len(arrays)])),
        legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolSize=200),
    )
    base = alt.Chart(alt.NamedData("rows")).encode(x=x, y=y, order="step:Q")
    halo = base.mark_line(strokeWidth=5, color="#FFFFFF", opacity=0.75, clip=True, aria=False).encode(detail="path:N")
    path = base.mark_line(strokeWidth=2.2, clip=True, aria=False).encode(color=colour)
    dots = base.mark_point(size=22, clip=True, aria=False, opacity=1).encode(
        color=colour,
        tooltip=[
            "path:N",
            "step:Q",
            *(alt.Tooltip(f"{k}:Q", title=name, format=".4~g") for k, name in zip("xy", axes)),
            alt.Tooltip("cost:Q", title=value, format=".4~g"),
        ],
    )
    marks = [
        image_layer(alt.NamedData("ground"), window, _WIDTH, _HEIGHT, opacity=0.3),
        image_layer(alt.NamedData("lines"), window, _WIDTH, _HEIGHT, opacity=0.8),
        halo,
        path,
        dots,
        _ends(alt.NamedData("ends"), x, y),
    ]
    data: dict[str, Any] = {"rows": rows, "ground": ground, "lines": lines, "ends": _marked(rows, minima)}
    chart = alt.layer(*marks).properties(width=_WIDTH, height=_HEIGHT)
    ends = ", ".join(f"{name} {number(_last(rows, name), 3)}" for name in arrays)
    words = f"Contours of the {value} with the paths of {len(arrays)} optimizers. Their {value} at the end: {ends}."
    note = _note(arrays, value, ends, minima is not None)
    caption = "Each path starts at the large dot and goes downhill: compare how straight it runs and where it ends."
    return Picture(chart, title, words, note, data, caption=caption)


def _as_points(name: str, path: Values) -> np.ndarray:
    points = as_array(f"the path {name!r}", path, "steps", "2").astype(np.float64)
    if points.shape[1] != 2:
        raise ValueError(
            f"a path must have two coordinates, got shape {points.shape} for {name!r}; pick two parameters"
        )
    if not np.isfinite(points[0]).all():
        raise ValueError(f"a path must begin at a finite point, got {points[0].tolist()} for {name!r}; check its start")
    return points


def _costs(function: Callable[[Tensor], Any], points: Tensor) -> np.ndarray:
    """A number for each point, also where the function gives a column."""
    costs = evaluated(function, points)
    if costs.size != len(points):
        raise ValueError(f"a cost is one number a point, got shape {costs.shape} for {len(points)}; sum or pick one")
    return costs.ravel()


def _rows(name: str, path: np.ndarray, function: Callable[[Tensor], Any], window: Window) -> list[dict[str, Any]]:
    good = np.isfinite(path).all(1)
    last = len(path) if good.all() else int(np.argmin(good))  # up to where it is no point any more
    steps = np.unique(np.linspace(0, last - 1, min(last, _STEPS)).round().astype(int))
    costs = _costs(function, torch.from_numpy(path[steps]).to(torch.get_default_dtype()))
    (left, right), (bottom, top) = window
    far = 100 * max(right - left, top - bottom)  # further out is drawn at the same place: outside
    places = np.clip(path[steps], [left - far, bottom - far], [right + far, top + far])
    return [
        {"path": name, "step": int(t), "x": at[0], "y": at[1], "cost": cost}
        for t, at, cost in zip(steps, places, costs)
    ]


def _last(rows: list[dict[str, Any]], name: str) -> float:
    return float([row["cost"] for row in rows if row["path"] == name][-1])


def _marked(rows: list[dict[str, Any]], minima: Values | None) -> list[dict[str, Any]]:
    """Rows for the starts of the paths and the minima, each with the shape that marks it."""
    starts = {(row["x"], row["y"]) for row in rows if row["step"] == 0}
    found = [{"x": x, "y": y, "what": "start"} for x, y in sorted(starts)]
    if minima is not None:
        found += [{"x": x, "y": y, "what": "minimum"} for x, y in as_array("minima", minima, "minima", "2").tolist()]
    return found


def _ends(data: Any, x: Any, y: Any) -> Any:
    import altair as alt

    shapes = alt.Scale(domain=["start", "minimum"], range=["circle", "cross"])
    return (
        alt.Chart(data)
        .mark_point(size=90, clip=True, aria=False, opacity=1, color="#111418", stroke="#FFFFFF", strokeWidth=1)
        .encode(x=x, y=y, shape=alt.Shape("what:N", scale=shapes, legend=None), tooltip=["what:N", "x:Q", "y:Q"])
    )


def _note(arrays: Mapping[str, np.ndarray], value: str, ends: str, marked: bool) -> str:
    left = [name for name, path in arrays.items() if not np.isfinite(path).all()]
    lost = f" Lost where it was no number any more: {', '.join(left)}." if left else ""
    cross = ", a cross each minimum" if marked else ""
    return f"A disc marks the start{cross}. {value[:1].upper()}{value[1:]} at the end: {ends}.{lost}"
