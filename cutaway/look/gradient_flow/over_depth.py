r"""Pictures of a gradient flow: over the depth of a network, and over time.

norm of x = √(mean x²),   on a log axis, as products over layers grow and shrink by factors
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutaway.look.gradient_flow.verdicts import named, role
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number, visible

if TYPE_CHECKING:
    from cutaway.look.flows import Flow

_NAMED = 24  # layers up to which each is named on the axis
PANELS = {"activation": "norm of the activation", "delta": "norm of δ"}
LONGEST = 28  # characters of a name
SHORT = "datum.value >= 0.01 && datum.value < 1000 ? format(datum.value, '~g') : format(datum.value, '~e')"


def flow_picture(flow: "Flow", *, title: str = "Gradient flow") -> Picture:
    """The norms of values and of δ at every layer, in the order of the pass; lines join layers of one kind."""
    import altair as alt

    layers = flow.layers
    kinds = _common([layer.kind for layer in layers])
    data = [
        {
            "depth": i,
            "layer": named(layer),
            "kind": layer.kind if layer.kind in kinds else "other",
            "role": f"{role(layer.address)} {layer.kind}",
            "panel": panel,
            "norm": getattr(layer, panel),
        }
        for panel in PANELS
        for i, layer in enumerate(layers)
    ]
    drawn = [row for row in data if row["norm"] is not None and 0 < row["norm"] < float("inf")]
    colours = [*kinds, *(["other"] if any(row["kind"] == "other" for row in data) else [])]
    names = [named(layer) for layer in layers]
    panels = [_depth_panel(panel, names, colours, drawn) for panel in PANELS]
    chart = alt.vconcat(*panels, spacing=14)
    missing = [row["layer"] for row in data if row not in drawn and row["panel"] == "delta"]
    note = f"Lines join layers of one kind and place. {flow.verdict[0]}"
    if flow.saturation_rule:
        note += f" {flow.saturation_rule.capitalize()}."
    if missing:
        note += f" Without δ, or with one that is 0 or not finite, and so not drawn: {', '.join(missing[:6])}"
        note += f" and {len(missing) - 6} more." if len(missing) > 6 else "."
    caption = "Level lines are healthy: a δ that falls to the left vanishes on its way back, one that rises explodes."
    return Picture(chart, title, _depth_words(flow), note, drawn, caption=caption)


def _depth_panel(panel: str, names: list[str], kinds: list[str], rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    last = panel == "delta"
    few = len(names) <= _NAMED
    axis = alt.Axis(
        title="layer, in the order of the pass" if last else None,
        labels=last,
        ticks=last,
        grid=False,
        labelAngle=-45 if few else 0,
        labelExpr="names[datum.value]" if few else "datum.value",
        values=list(range(len(names))) if few else alt.Undefined,
        tickMinStep=1,
        labelLimit=190,
        labelOverlap=not few,
    )
    base = (
        alt.Chart(alt.NamedData("rows"))
        .transform_filter(alt.datum.panel == panel)
        .encode(
            x=alt.X("depth:Q", axis=axis, scale=alt.Scale(domain=[-0.5, len(names) - 0.5], nice=False)),
            y=alt.Y("norm:Q", **log_axis(_norms(rows, panel), PANELS[panel])),
            color=_kind_colour(kinds),
        )
    )
    tips = [
        alt.Tooltip("layer:N"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("norm:Q", title=PANELS[panel], format=".3~e"),
    ]
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6, aria=False).encode(detail="role:N")
    points = base.mark_point(size=40, opacity=1, aria=False).encode(tooltip=tips)
    chart = alt.layer(lines, points).properties(width=560, height=170)
    return chart.add_params(alt.param(name="names", value=[visible(n, LONGEST) for n in names])) if last else chart


def flow_time_picture(flow: "Flow", *addresses: str, title: str = "Gradient flow through time") -> Picture:
    """The norms of values and of δ at every time step, a line for each address (default: all that have time steps)."""
    import altair as alt

    asked = list(addresses) or flow.timed[: len(CATEGORIES)]
    if not 1 <= len(asked) <= len(CATEGORIES):
        raise ValueError(
            f"one picture through time shows 1 to {len(CATEGORIES)} layers, got {len(asked)}; name some of flow.timed"
        )
    times = {address: flow.times(address)._asdict() for address in asked}
    data = [
        {"time": t, "norm": norm, "layer": visible(address, LONGEST), "panel": panel}
        for address, norms in times.items()
        for panel in PANELS
        for t, norm in enumerate(norms[panel] or [])
        if 0 < norm < float("inf")
    ]
    names = [visible(address, LONGEST) for address in asked]
    steps = ", or ".join(dict.fromkeys(norms["by"] for norms in times.values()))
    panels = []
    for panel, words in PANELS.items():
        base = (
            alt.Chart(alt.NamedData("rows"))
            .transform_filter(alt.datum.panel == panel)
            .encode(
                x=alt.X(
                    "time:Q",
                    title=steps if panel == "delta" else None,
                    axis=alt.Axis(grid=False, tickMinStep=1, labels=panel == "delta", ticks=panel == "delta"),
                    scale=alt.Scale(nice=False),
                ),
                y=alt.Y("norm:Q", **log_axis(_norms(data, panel), words)),
                color=alt.Color("layer:N", title=None, scale=categories(names), legend=top_legend()),
            )
        )
        tips = [alt.Tooltip("layer:N"), alt.Tooltip("time:Q"), alt.Tooltip("norm:Q", title=words, format=".3~e")]
        points = base.mark_point(size=30, opacity=1, aria=False).encode(tooltip=tips)
        panels.append(alt.layer(base.mark_line(aria=False), points).properties(width=560, height=170))
    words = "; ".join(_time_words(address, norms["delta"]) for address, norms in times.items())
    note = "Steps at which δ is exactly 0 are not drawn: the result does not depend on them."
    hidden = any(norm == 0 for norms in times.values() for norm in norms["delta"] or [])
    chart, words = alt.vconcat(*panels, spacing=14), f"Norms by time step. {words}."
    caption = "Where δ falls towards the first time steps, the network forgets what it read early."
    return Picture(chart, title, words, note * hidden, data, caption=caption)


def _norms(rows: list[dict[str, Any]], panel: str) -> list[float]:
    return [row["norm"] for row in rows if row["panel"] == panel]


def _common(kinds: list[str]) -> list[str]:
    """Those that get a colour: all, or the most common."""
    counts = {kind: kinds.count(kind) for kind in kinds}
    if len(counts) <= len(CATEGORIES):
        return list(counts)
    most = sorted(counts, key=lambda kind: -counts[kind])[: len(CATEGORIES) - 1]
    return [kind for kind in counts if kind in most]


def categories(names: list[str]) -> Any:
    import altair as alt

    return alt.Scale(domain=names, range=list(CATEGORIES[: len(names)]))


def _kind_colour(kinds: list[str]) -> Any:
    import altair as alt

    return alt.Color("kind:N", title=None, scale=categories(kinds), legend=top_legend() if len(kinds) > 1 else None)


def top_legend() -> Any:
    import altair as alt

    return alt.Legend(orient="top", symbolOpacity=1, labelLimit=200, columns=4)


def log_axis(norms: Sequence[float], title: str | None) -> dict[str, Any]:
    """A log axis from a little below the smallest to a little above the largest, with few ticks, at round numbers."""
    import altair as alt

    axis = alt.Axis(values=log_ticks(norms), labelExpr=SHORT)
    if not norms:
        return dict(title=title, scale=alt.Scale(type="log"))
    low, high = min(norms), max(norms)
    room = (high / low) ** 0.05 * 1.1
    return dict(title=title, axis=axis, scale=alt.Scale(type="log", domain=[low / room, high * room], nice=False))


def log_ticks(norms: Sequence[float]) -> list[float]:
    """Powers of ten between the ends, or 1, 2, 5 and so on where those are close to each other.

    >>> log_ticks([0.3, 8]), log_ticks([2e-9, 1.0])
    ([0.5, 1.0, 2.0, 5.0], [1e-08, 1e-06, 0.0001, 0.01, 1.0])
    """
    if not norms:
        return []
    low, high = math.log10(min(norms)), math.log10(max(norms))
    bottom, top = math.floor(low), math.ceil(high)
    if high - low <= 2:
        ticks = [float(f"{lead}e{power}") for power in range(bottom, top + 1) for lead in (1, 2, 5)]
        return [tick for tick in ticks if 10 ** (low - 0.06) <= tick <= 10 ** (high + 0.06)] or [float(f"1e{bottom}")]
    every = math.ceil((high - low) / 6)
    return [float(f"1e{power}") for power in range(bottom, top + 1) if power % every == 0 and low <= power <= high]


def _depth_words(flow: "Flow") -> str:
    layers = flow.layers
    deltas = [(layer, layer.delta) for layer in layers if layer.delta]
    words = (
        f"Norms at {len(layers)} layers. Activation from {number(layers[0].activation, 3)} at {named(layers[0])} to "
    )
    words += f"{number(layers[-1].activation, 3)} at {named(layers[-1])}"
    if deltas:
        (first, start), (last, end) = deltas[0], deltas[-1]
        words += f"; δ from {number(end, 3)} at {named(last)} back to {number(start, 3)} at {named(first)}"
    return f"{words}. {' '.join(flow.verdict)}"


def _time_words(address: str, deltas: list[float] | None) -> str:
    if not deltas:
        return f"{address}: no δ"
    return f"{address}: δ from {number(deltas[-1], 3)} at the last step back to {number(deltas[0], 3)} at the first"
