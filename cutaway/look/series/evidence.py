r"""A picture of series with what each of their steps says for a class, in colour behind the curve."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.heatmaps import Shades
from cutaway.look.pages.picture import Picture

_STEPS = 160  # strips of colour in a panel, at most


def evidence_picture(
    values: Sequence[Values],
    evidence: Sequence[Values],
    names: Sequence[str],
    *,
    title: str = "Which part of a series speaks for its class",
    of: str = "evidence",
) -> Picture:
    """One panel a series: ``values`` (steps,) or (steps, channels) as lines, ``evidence`` (steps,) as colour behind.

    Red speaks for the class that the panel's name tells, blue against it.
    """
    import altair as alt

    if not len(values) == len(evidence) == len(names):
        raise ValueError(
            f"there must be values, evidence and a name for every series, got {len(values)}, {len(evidence)} and "
            f"{len(names)}; pass as many of each"
        )
    rows: list[dict[str, Any]] = []
    most = 0.0
    for i, (x, e, name) in enumerate(zip(values, evidence, names, strict=True)):
        lines = np.asarray(x, dtype=np.float64)
        lines = lines[:, None] if lines.ndim == 1 else lines
        says = as_array("evidence", e, "steps")
        if len(says) != len(lines):
            raise ValueError(f"evidence must be one number a step, got {len(says)} for {len(lines)} steps; check both")
        most = max(most, float(np.abs(says).max()))
        panel = f"{i + 1}. {name}"
        low, high = float(lines.min()), float(lines.max())
        for places in np.array_split(np.arange(len(says)), min(len(says), _STEPS)):
            strip = {"from": int(places[0]) - 0.5, "to": int(places[-1]) + 0.5, "low": low, "high": high}
            rows.append({"panel": panel, "evidence": float(says[places].mean()), **strip})
        for c in range(lines.shape[1]):
            rows += [{"panel": panel, "step": t, "value": float(v), "channel": c} for t, v in enumerate(lines[:, c])]
    base = alt.Chart()
    shades = Shades.of(np.array([[-most or -1.0, most or 1.0]]))
    strips = (
        base.mark_rect(opacity=0.75, aria=False)
        .transform_filter("isValid(datum.evidence)")
        .encode(
            x=alt.X("from:Q", title="step").scale(nice=False),
            x2="to:Q",
            y=alt.Y("low:Q", title=None),
            y2="high:Q",
            color=shades.channel("evidence", of, 140),
        )
    )
    lines_of = (
        base.mark_line(strokeWidth=1.6, color="#111111", aria=False)
        .transform_filter("isValid(datum.value)")
        .encode(x="step:Q", y=alt.Y("value:Q", title=None).scale(zero=False), detail="channel:N")
    )
    columns = min(3, len(names))
    chart = (
        alt.layer(strips, lines_of, data=alt.NamedData("rows"))
        .properties(width=560 // columns, height=150)
        .facet(facet=alt.Facet("panel:N", title=None, sort=None), columns=columns)
        .resolve_scale(x="independent", y="independent")
    )
    words = f"{len(names)} series as lines over coloured strips of {of}, from {-most:.3g} to {most:.3g}."
    caption = "Red stretches speak for the class named above the panel, blue ones against it."
    return Picture(chart, title, words, "", rows, caption=caption)


__all__ = ["evidence_picture"]
