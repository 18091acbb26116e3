r"""Curves over a run: the loss, or any other metric, by step or by seconds of training."""

from typing import Any, Literal

import numpy as np

from cutaway.look.charts.series import Metrics, Series, read_series, smoothed, split_name, thinned
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number

_POINTS = 1000  # of one curve, at most
_DOTS = 30  # rows up to which each is marked


def curves(
    metrics: Metrics,
    metric: str = "loss",
    by: Literal["step", "seconds"] = "step",
    *,
    unit: str = "",
    log: bool = False,
    smooth: int | None = None,
    title: str = "",
    caption: str = "",
) -> Picture:
    """A metric of a run over time, training and validation, from rows such as those of metrics.jsonl.

    A training row is the mean over the few steps since the row before, which is noisy: a thin line shows these, and a
    thick line the mean over about ``smooth`` rows around each (default: a twentieth of them; 1: no smoothing).
    """
    import altair as alt

    if by not in ("step", "seconds"):
        raise ValueError(f"by must be step or seconds, got {by!r}; pick one of these")
    if smooth is not None and smooth < 1:
        raise ValueError(f"smooth must be 1 row or more, got {smooth}; smooth=1 draws the rows alone")
    series = read_series(metrics, metric)
    _expect_drawable(series, metrics, metric, by, log)
    name = metric.replace("_", " ")
    data: list[dict[str, Any]] = []
    spans = set()
    for s in series:
        span = max(1, len(s.values) // 20) if smooth is None else smooth
        if s.split == "train" and span > 1:
            spans.add(span)
            data += _rows(s, s.values, by, "raw") + _rows(s, smoothed(s.values, span), by, "line")
        else:
            data += _rows(s, s.values, by, "line")
    values = np.concatenate([s.values[s.finite] for s in series])
    splits = [split_name(s.split) for s in series]
    colour = alt.Color(
        "split:N",
        title=None,
        scale=alt.Scale(domain=splits, range=list(CATEGORIES[: len(splits)])),
        legend=_legend(splits),
    )
    whole: dict[str, Any] = {"tickMinStep": 1} if by == "step" else {}
    x = alt.X(
        "at:Q",
        title="step" if by == "step" else "time spent training (s)",
        axis=alt.Axis(grid=False, labelExpr="format(datum.value, ',')", tickCount=8, **whole),
        scale=alt.Scale(nice=False),
    )
    y = alt.Y(
        "value:Q",
        title=f"{name} ({unit})" if unit else name,
        scale=alt.Scale(type="log" if log else "linear", zero=False, nice=not log, **_room(values, log)),
    )
    base = alt.Chart(alt.NamedData("rows")).encode(x=x, y=y, color=colour)
    tips = [alt.Tooltip("split:N"), alt.Tooltip("step:Q", format=",")]
    tips += [alt.Tooltip("seconds:Q", title="seconds", format=",.4~g")] if np.isfinite(series[0].seconds).any() else []
    tips += [alt.Tooltip("value:Q", title=name, format=".4~f"), alt.Tooltip("kind:N", title="drawn as")]

    def line(kind: str, **look: Any) -> Any:
        # the line has a gap where the value is not a number
        mark = base.mark_line(invalid="break-paths-show-domains", aria=False, **look)
        return mark.transform_filter(alt.datum.layer == kind)

    dots = (
        base.transform_filter("isValid(datum.value)")
        .mark_point(size=36, aria=False)
        # invisible points, for the tooltips
        .encode(tooltip=tips, opacity=alt.condition("datum.dot", alt.value(1), alt.value(0)))
    )
    raw = [line("raw", strokeWidth=1, opacity=0.35)] if spans else []
    chart = alt.layer(*raw, line("line"), dots).properties(width=560, height=260)
    title = title or f"{name.capitalize()} by {'step' if by == 'step' else 'time'}"
    words = _described(series, name, by)
    caption = caption or _caption(splits, metric, by)
    return Picture(chart, title, words, _note(series, metric, spans), data, caption=caption, fills=True)


def _caption(splits: list[str], metric: str, by: str) -> str:
    """A caption that says what to see in the curves of a loss."""
    if metric != "loss":
        return ""
    if by == "seconds":
        return "The same losses over the time spent training: a steep fall at the left is quick learning."
    if "validation" not in splits:
        return "A falling curve is learning; a flat one has learned what it can at this learning rate."
    return "Both curves fall while the model learns; where validation turns up again, it begins to learn by heart."


def _room(values: np.ndarray, log: bool) -> dict[str, Any]:
    """Room around values that are all equal, for which a chart would round the axis away from them."""
    low, high = float(values.min()), float(values.max())
    if high > low:
        return {}
    return {"domain": [low / 2, low * 2] if log else [low - 1, low + 1]}


def _legend(splits: list[str]) -> Any:
    import altair as alt

    return (
        alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolSize=200, symbolOpacity=1)
        if len(splits) > 1
        else None
    )


def _rows(s: Series, values: np.ndarray, by: str, layer: str) -> list[dict[str, Any]]:
    at = s.steps if by == "step" else s.seconds
    kind = "one row of the log" if layer == "raw" else "mean of rows" if values is not s.values else "as logged"
    kept = thinned(values, _POINTS)
    dot = layer == "line" and values is s.values and len(kept) <= _DOTS  # a lone point has no line to be seen by
    return [
        {
            "at": at[i],
            "step": int(s.steps[i]),
            "seconds": s.seconds[i],
            "value": values[i],
            "split": split_name(s.split),
            "layer": layer,
            "kind": kind,
            "dot": dot,
        }
        for i in kept
    ]


def _expect_drawable(series: list[Series], metrics: Metrics, metric: str, by: str, log: bool) -> None:
    if not any(s.finite.any() for s in series):
        known = sorted({k for row in metrics for k in row} - {"step", "split", "seconds"})
        raise ValueError(
            f"a curve needs at least one row with a finite {metric!r}, got {len(metrics)} rows"
            + (f" with {', '.join(known)}" if known else "")
            + "; train for a step first, or name another metric"
        )
    if by == "seconds" and not any(np.isfinite(s.seconds).any() for s in series):
        raise ValueError("a curve by seconds needs rows that hold 'seconds', got none; use by='step'")
    if log:
        low = min(float(s.values[s.finite].min()) for s in series if s.finite.any())
        if low <= 0:
            raise ValueError(f"a log axis needs values above 0, got {metric}={low:.4g}; use log=False")


def _note(series: list[Series], metric: str, spans: set[int]) -> str:
    words = []
    if spans:
        words.append(
            f"Thin: rows of the log, each a mean over a few steps. Thick: their mean over about {max(spans)} rows."
        )
    broken = [s for s in series if not s.finite.all()]
    if broken:
        count = sum(int((~s.finite).sum()) for s in broken)
        first = min(int(s.steps[~s.finite][0]) for s in broken)
        words.append(f"In {count:,} row{'s' * (count > 1)}, first at step {first:,}, {metric} is not a finite number.")
    return " ".join(words)


def _described(series: list[Series], name: str, by: str) -> str:
    parts = []
    for s in series:
        values, steps = s.values[s.finite], s.steps[s.finite]
        if len(values):
            first, last = (f"{number(float(values[i]))} at step {int(steps[i]):,}" for i in (0, -1))
            lowest = number(float(values.min()))
            parts.append(f"{split_name(s.split)} from {first} to {last}, lowest {lowest}")
    return f"Line chart of {name} by {by}: {'; '.join(parts)}."
