r"""Forecast fans: the history of a series, and bands that hold what comes with a stated probability.

The outer band lies between the outermost quantiles, inner ones between the next; the line is the median.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES

_PANELS = 12  # in one picture, at most
_SHOWN = 5  # horizons of history that are drawn before a forecast


class Fan(NamedTuple):
    """A forecast of one series: ``times`` and ``values`` of its history, then those of the forecast.

    ``quantiles`` has a column for each of ``levels``; ``truth`` is what came, if it is known (else None).
    """

    name: str
    times: Sequence[Any]
    values: Float[np.ndarray, "steps"]
    ahead: Sequence[Any]
    quantiles: Float[np.ndarray, "horizon levels"]
    levels: Sequence[float]
    truth: Float[np.ndarray, "horizon"] | None = None


def fan_chart(fans: Sequence[Fan], *, title: str = "Forecasts", caption: str = "", note: str = "") -> Picture:
    """Forecasts with their history, a panel for each series."""
    import altair as alt

    if not fans:
        raise ValueError("a picture of forecasts needs at least one, got none; give some")
    shown = list(fans)[:_PANELS]
    dated = not isinstance(plain_time(shown[0].ahead[0]), (int, float))
    rows = [row for fan in shown for row in _rows(fan)]
    kind = "T" if dated else "Q"
    # times are written without a zone: read as UTC and shown as UTC, they stay as they are
    scale = alt.Scale(type="utc") if dated else alt.Scale(zero=False, nice=False)
    x = alt.X(f"at:{kind}", title=None, scale=scale, axis=alt.Axis(tickCount=5, grid=False))
    base = alt.Chart().encode(x=x)
    band = CATEGORIES[0]
    layers = []
    for depth in range(max(_bands(fan.levels) for fan in shown)):
        chosen = base.transform_filter(f"datum.part == 'band{depth}'")
        layers.append(
            chosen.mark_area(color=band, opacity=0.22, aria=False).encode(
                y=alt.Y("low:Q", title=None, scale=alt.Scale(zero=False)), y2="high:Q"
            )
        )
    value = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    tooltip = [alt.Tooltip(f"at:{kind}", title="time"), alt.Tooltip("value:Q", format=".4~g"), "part:N"]
    for part, colour, width in (("history", "#767676", 1.2), ("what came", CATEGORIES[1], 1.4), ("median", band, 1.8)):
        chosen = base.transform_filter(f"datum.part == '{part}'")
        layers.append(chosen.mark_line(color=colour, strokeWidth=width, aria=False).encode(y=value, tooltip=tooltip))
    columns = 1 if len(shown) == 1 else 2
    panel = alt.layer(*layers, data=alt.NamedData("rows")).properties(width=640 // columns - 40, height=140)
    chart = panel.facet(
        facet=alt.Facet("name:N", title=None, sort=[fan.name for fan in shown]), columns=columns
    ).resolve_scale(x="independent", y="independent")
    alt_text = f"Fans of {len(shown)} forecasts of {len(shown[0].ahead)} steps: {', '.join(fan.name for fan in shown)}."
    levels = sorted(shown[0].levels)
    told = f"The bands lie between the quantiles {_pairs(levels)}." if len(levels) > 1 else ""
    if len(fans) > len(shown):
        told += f" The first {len(shown)} of {len(fans):,} series."
    return Picture(chart, title, alt_text, " ".join(filter(None, (note, told))), rows, caption=caption)


def _bands(levels: Sequence[float]) -> int:
    return len(levels) // 2


def _pairs(levels: Sequence[float]) -> str:
    return ", ".join(f"{levels[i]:g} and {levels[-1 - i]:g}" for i in range(_bands(levels)))


def _rows(fan: Fan) -> list[dict[str, Any]]:
    """The rows of one panel. History and forecast are joined at the last value."""
    keep = _SHOWN * len(fan.ahead)
    times, values = list(fan.times)[-keep:], np.asarray(fan.values, float)[-keep:]
    order = np.argsort(fan.levels)
    quantiles = np.asarray(fan.quantiles, float)[:, order]
    levels = [float(fan.levels[j]) for j in order]
    rows = [{"name": fan.name, "part": "history", "at": plain_time(t), "value": v} for t, v in zip(times, values)]
    last = {"at": plain_time(times[-1]), "value": values[-1]} if len(values) and np.isfinite(values[-1]) else None
    ahead = [plain_time(t) for t in fan.ahead]
    for depth in range(_bands(levels)):
        joined = [last | {"low": last["value"], "high": last["value"]}] if last else []
        joined += [{"at": t, "low": q[depth], "high": q[len(levels) - 1 - depth]} for t, q in zip(ahead, quantiles)]
        rows += [{"name": fan.name, "part": f"band{depth}"} | row for row in joined]
    middle = int(np.argmin([abs(level - 0.5) for level in levels]))
    lines = [("median", quantiles[:, middle])] + ([("what came", fan.truth)] if fan.truth is not None else [])
    for part, line in lines:
        joined = [last] if last else []
        joined += [{"at": t, "value": v} for t, v in zip(ahead, line)]
        rows += [{"name": fan.name, "part": part} | row for row in joined]
    return rows


def plain_time(time: Any) -> Any:
    """A time as Vega-Lite takes it: dates as ISO text in UTC, whole numbers as they are."""
    if hasattr(time, "isoformat"):
        return f"{time.isoformat()}Z"
    return int(time)


__all__ = ["Fan", "fan_chart", "plain_time"]
