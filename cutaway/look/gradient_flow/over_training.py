r"""Pictures of the gradient flow over the steps of training, from the lines of a run's flow.jsonl.

‖Δw‖ / ‖w‖ ≈ 10⁻³           a rule of thumb for the length of a step: much less is slow, much more is unstable
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import short_names
from cutaway.look.charts.heatmaps import legend_of
from cutaway.look.gradient_flow.over_depth import LONGEST, PANELS, SHORT, categories, log_axis, log_ticks, top_legend
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import MAGNITUDE
from cutaway.look.style.wording import number, visible

Looks = Sequence[Mapping[str, Any]]  # the lines of flow.jsonl: one a layer a look
GUIDE = 1e-3
_LINES = 64  # rows or columns of a history, at most
_HISTORIES = {**PANELS, "gradient": "length of the gradient of the weights"}


def flow_pictures(rows: Looks) -> list[Picture]:
    """The pictures that a report shows of a run's flow.jsonl; those without data are left out."""
    histories = [flow_history(rows)] if _layers(rows, "delta") else []
    return [*histories, *([update_picture(rows)] if _layers(rows, "update") else [])]


def flow_history(rows: Looks, what: str = "delta", *, title: str = "") -> Picture:
    """The norm of δ (or ``what="activation"``, "gradient") of every layer over the steps of training, as colours."""
    import altair as alt

    if what not in _HISTORIES:
        raise ValueError(f"a history is of {', '.join(_HISTORIES)}, got {what!r}; pick one of these")
    layers, steps = _layers(rows, what), sorted({row["step"] for row in rows})
    if not layers:
        raise ValueError(
            f"a history needs looks with a finite {what} above 0, got {len(rows)} rows without; train with flow_every="
        )
    words = _HISTORIES[what]
    shown, at = _spread(layers), _spread(steps)
    data = [
        {"layer": shown.index(row["layer"]), "address": row["layer"], "step": row["step"], "norm": row[what]}
        for row in rows
        if row["layer"] in shown and row["step"] in at and _drawable(row, what)
    ]
    values = [row["norm"] for row in data]
    side = max(9, min(18, 420 // len(shown)))
    wide = max(6, min(26, 520 // len(at)))
    names = [visible(name, 2 * LONGEST) for name in short_names(shown)]
    legend = legend_of(side * len(shown), log_ticks(values))
    legend.labelExpr = SHORT
    scale = alt.Scale(type="log", range=list(MAGNITUDE), interpolate="rgb", nice=False)
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_rect(aria=False)
        .encode(
            x=alt.X("step:O", title="step", axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False)),
            y=alt.Y(
                "layer:O",
                title="layer, from input to output",
                axis=alt.Axis(
                    labelExpr="names[datum.value]",
                    labelFontSize=min(11, side),
                    labelOverlap=False,
                    labelLimit=260,
                    ticks=False,
                    domain=False,
                ),
                scale=alt.Scale(domain=list(range(len(shown)))),
            ),
            color=alt.Color(
                "norm:Q",
                title=words.replace("norm of the", "norm of").replace(" of the weights", ""),
                scale=scale,
                legend=legend,
            ),
            tooltip=[
                alt.Tooltip("address:N", title="layer"),
                alt.Tooltip("step:O"),
                alt.Tooltip("norm:Q", title=words, format=".3~e"),
            ],
        )
        .properties(width=alt.Step(wide), height=alt.Step(side))
        .add_params(alt.param(name="names", value=names))
    )
    notes = ["Each column is one look at one batch."]
    if len(data) < len(shown) * len(at):
        notes.append("Blank: it is 0, or none.")
    if len(shown) < len(layers):
        notes.append(f"{len(shown)} of {len(layers)} layers are shown.")
    if len(at) < len(steps):
        notes.append(f"{len(at)} of {len(steps)} looks are shown.")
    notes += _last_units(rows)
    alt_words = f"Heat map of the {words} of {len(layers)} layers at {len(steps)} steps from {steps[0]:,} to "
    alt_words += f"{steps[-1]:,}: from {number(min(values), 3)} to {number(max(values), 3)}."
    title = title or f"Gradient flow: {words} by layer and step"
    caption = "A row that stays dark belongs to a layer that hardly gets a gradient, and learns slowly or not at all."
    return Picture(chart, title, alt_words, " ".join(notes), data, caption=caption)


def update_picture(
    rows: Looks, *, title: str = "Gradient flow: length of a step, as a share of the weights"
) -> Picture:
    """‖Δw‖ / ‖w‖ of every layer over the steps of training, beside the guide line at one in a thousand."""
    import altair as alt

    layers = _layers(rows, "update")
    if not layers:
        raise ValueError(f"update ratios need looks with an update above 0, got {len(rows)} rows without; train first")
    known = [row for row in rows if _drawable(row, "update")]
    typical = {layer: float(np.median([row["update"] for row in known if row["layer"] == layer])) for layer in layers}
    order = sorted(layers, key=lambda layer: typical[layer])
    marked = dict.fromkeys([order[-1], order[len(order) // 2], order[0]])  # one layer may be all three
    names = {layer: visible(layer, LONGEST) for layer in marked}
    data = [
        {
            "layer": row["layer"],
            "name": names.get(row["layer"], ""),
            "step": row["step"],
            "update": row["update"],
            "marked": row["layer"] in marked,
        }
        for row in known
    ]
    ratios = [GUIDE, *(row["update"] for row in data)]
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X(
            "step:Q",
            title="step",
            axis=alt.Axis(grid=False, labelExpr="format(datum.value, ',')", tickMinStep=1),
            scale=alt.Scale(nice=False),
        ),
        y=alt.Y("update:Q", **log_axis(ratios, "‖Δw‖ / ‖w‖")),
    )
    tips = [alt.Tooltip("layer:N"), alt.Tooltip("step:Q", format=","), alt.Tooltip("update:Q", format=".3~e")]
    quiet = (
        base.transform_filter("!datum.marked")
        .mark_line(color="#8A929B", strokeWidth=1, opacity=0.55, aria=False)
        .encode(detail="layer:N")
    )
    loud = base.transform_filter("datum.marked").encode(
        color=alt.Color("name:N", title=None, scale=categories(list(names.values())), legend=top_legend())
    )
    points = base.mark_point(size=36, opacity=0, aria=False).encode(tooltip=tips, detail="layer:N")
    guide = alt.Chart().mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(y=alt.datum(GUIDE))
    label = (
        alt.Chart()
        .mark_text(align="left", baseline="middle", text="guide, 1e-3")
        .encode(y=alt.datum(GUIDE), x=alt.value(566))
    )
    chart = alt.layer(quiet, loud.mark_line(strokeWidth=2.5, aria=False), loud.mark_point(), guide, label, points)
    largest, middle, smallest = order[-1], order[len(order) // 2], order[0]
    note = "Coloured: the layers with the largest, the middle and the smallest ratio."
    note = f"{note} Grey: {len(layers) - len(marked)} others." if len(layers) > len(marked) else ""
    words = (
        f"Line chart of ‖Δw‖ / ‖w‖ of {len(layers)} layers: by the median over the run, largest {largest} "
        f"({number(typical[largest], 3)}), middle {middle} ({number(typical[middle], 3)}), smallest {smallest} "
        f"({number(typical[smallest], 3)}); a guide line stands at 0.001."
    )
    caption = "Healthy layers stay near the guide: far below it they hardly move, far above they are thrown about."
    chart = chart.properties(width=560, height=260)
    return Picture(chart, title, words, note, data, caption=caption, fills=True)


def _layers(rows: Looks, what: str) -> list[str]:
    """Layers with a number to draw, in the order of the pass."""
    drawn = {row["layer"] for row in rows if _drawable(row, what)}
    return [layer for layer in dict.fromkeys(row["layer"] for row in rows) if layer in drawn]


def _last_units(rows: Looks) -> list[str]:
    """Sentences about dead and saturated units in the newest measurement."""
    newest = max(row["step"] for row in rows)
    said = []
    for share, of in (("dead", "units are dead"), ("saturated", "values are saturated")):
        worst = max(
            (row for row in rows if row["step"] == newest and row.get(share)), key=lambda r: r[share], default=None
        )
        if worst is not None:
            bar = worst.get("saturated_at") if share == "saturated" else None  # runs made before have none
            why = f", |v| ≥ {bar:g}" if bar else ""
            said.append(f"At step {newest:,} up to {worst[share]:.0%} of a layer's {of} ({worst['layer']}{why}).")
    return said


def _drawable(row: Mapping[str, Any], what: str) -> bool:
    value = row.get(what)
    return value is not None and 0 < value < math.inf


def _spread(values: list[Any]) -> list[Any]:
    """At most so many, evenly spread, the ends among them."""
    if len(values) <= _LINES:
        return values
    return [values[i] for i in np.linspace(0, len(values) - 1, _LINES).round().astype(int)]
