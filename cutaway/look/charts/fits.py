r"""A picture of a function of one input fitted to data: the points, the curve, and where a piecewise linear one bends.

    f(x) = a_r x + c_r      for x in region r, between two kinks

`cut.blocks.line_regions(network, [low], [high]).kinks` finds the kinks of a rectifier network exactly (as shares of the
way from low to high). Notes: N3 §2.4.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.fields import evaluated
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number

_CURVE = 400  # points of the curve, besides its kinks
_POINTS = 2000  # drawn, at most
_MARKED = 40  # kinks that are marked on the curve; more of them at the bottom
_HEIGHT = 300  # pixels


def fitted_curve(
    function: Callable[[Tensor], Any],
    inputs: Values,
    targets: Values,
    *,
    kinks: Values | Sequence[float] = (),
    window: tuple[float, float] | None = None,
    axes: tuple[str, str] = ("input", "output"),
    title: str = "The function that was learned",
) -> Picture:
    """Data (``inputs`` and ``targets``, both (points,)), and ``function``, which takes (n, 1) and gives (n,) or (n, 1).

    ``kinks`` are the inputs at which a piecewise linear function bends; ``window`` is the range of inputs to draw.
    """
    import altair as alt

    x, y = as_array("inputs", inputs, "points"), as_array("targets", targets, "points")
    if len(x) != len(y):
        raise ValueError(f"targets must be one for each of the {len(x)} inputs, got {len(y)}; pass the same rows")
    known = np.isfinite(x)
    if not known.any():
        raise ValueError(f"inputs must hold at least one finite number, got none of {len(x)}; check the data")
    low, high = _ends(x[known]) if window is None else (float(window[0]), float(window[1]))
    if not low < high:
        raise ValueError(f"a window goes from low to high, got {low:g} to {high:g}; swap or change them")
    bends = np.sort(np.asarray(as_array("kinks", kinks, "kinks") if len(kinks) else [], dtype=np.float64))
    bends = bends[(bends > low) & (bends < high)]
    at = np.unique(np.concatenate([np.linspace(low, high, _CURVE), bends]))  # no kink falls between two points
    curve = _values(function, at)
    kept = np.sort(np.random.default_rng(0).permutation(len(x))[:_POINTS])
    data = {
        "rows": [{"x": x[i], "y": y[i]} for i in kept],
        "curve": [{"x": a, "y": b} for a, b in zip(at, curve)],
        "kinks": [{"x": a, "y": b} for a, b in zip(bends, _values(function, bends) if len(bends) else [])],
    }
    across = alt.X("x:Q", title=axes[0], axis=alt.Axis(grid=False)).scale(domain=[low, high], nice=False)
    upwards = alt.Y("y:Q", title=axes[1]).scale(zero=False)
    tips = [alt.Tooltip("x:Q", title=axes[0], format=".4~g"), alt.Tooltip("y:Q", title=axes[1], format=".4~g")]

    def on(name: str) -> Any:
        return alt.Chart(alt.NamedData(name)).encode(x=across, y=upwards)

    layers = [
        on("rows").mark_point(size=26, opacity=0.75, color=CATEGORIES[0], clip=True, aria=False).encode(tooltip=tips),
        on("curve").mark_line(strokeWidth=2.4, color=CATEGORIES[1], clip=True, aria=False),
    ]
    marks = alt.Chart(alt.NamedData("kinks")).encode(x=across)
    signs = "a dot and a line mark"
    if len(bends) > _MARKED:
        layers.append(marks.mark_rule(opacity=0.5, aria=False).encode(y=alt.value(_HEIGHT), y2=alt.value(_HEIGHT - 12)))
        signs = "a stroke at the bottom marks"
    elif len(bends):
        dots = on("kinks").mark_point(size=46, opacity=1, color=CATEGORIES[1], stroke="#FFFFFF", strokeWidth=1)
        layers = [marks.mark_rule(opacity=0.35, aria=False), *layers, dots.encode(tooltip=tips)]
    error = float(np.sqrt(np.nanmean((_values(function, x[known]) - y[known]) ** 2)))
    found = f"Root mean squared error {number(error, 3)} over {int(known.sum()):,} points."
    regions = f" {len(bends) + 1} linear regions: {signs} each of the {len(bends)} kinks." if len(bends) else ""
    some = f" An even sample of {_POINTS:,} points is drawn." if len(x) > _POINTS else ""
    words = f"{len(kept):,} points and a curve of {axes[1]} by {axes[0]} from {number(low)} to {number(high)}. {found}"
    chart = alt.layer(*layers).properties(width=560, height=_HEIGHT)
    caption = "The curve should follow the run of the points without chasing single ones."
    return Picture(chart, title, words + regions, found + regions + some, data, caption=caption, fills=True)


def _ends(x: np.ndarray) -> tuple[float, float]:
    room = 0.05 * float(np.ptp(x)) or 0.5
    return float(x.min()) - room, float(x.max()) + room


def _values(function: Callable[[Tensor], Any], at: np.ndarray) -> np.ndarray:
    values = evaluated(function, torch.from_numpy(np.asarray(at)[:, None]).to(torch.get_default_dtype()))
    if values.size != len(at):
        raise ValueError(f"the function must give one number a point, got shape {values.shape}; pick one output")
    return values.ravel()
