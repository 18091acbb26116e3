r"""A series with marks: where its values are odd, what was expected, and how surprising each step is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cutaway.look.pages.picture import Picture
from cutaway.look.series.fans import plain_time
from cutaway.look.style.colours import CATEGORIES

_POINTS = 3000  # of a line, at most: more are thinned, odd stretches are kept whole


def marked_series(
    times: Sequence[Any],
    values: Float[np.ndarray, "n"],
    expected: Float[np.ndarray, "n"],
    stretches: Sequence[tuple[int, int]],
    *,
    title: str,
    caption: str = "",
    note: str = "",
    width: int = 680,
) -> Picture:
    """A series, what was expected of each step, and bands over the stretches (start, stop) that are odd."""
    import altair as alt

    keep = np.zeros(len(values), bool)
    keep[:: max(len(values) // _POINTS, 1)] = True
    for start, stop in stretches:
        keep[max(start - 3, 0) : stop + 3] = True
    dated = not isinstance(plain_time(times[0]), int)
    rows: list[dict[str, Any]] = []
    for part, line in (("expected", expected), ("values", values)):
        rows += [
            {"part": part, "at": plain_time(times[t]), "value": float(line[t])} for t in np.flatnonzero(keep).tolist()
        ]
    bands = [
        {"from": plain_time(times[max(a - 1, 0)]), "to": plain_time(times[min(b, len(times) - 1)])}
        for a, b in stretches
    ]
    dots = [{"at": plain_time(times[t]), "value": float(values[t])} for a, b in stretches for t in range(a, b)]
    kind = "T" if dated else "Q"
    scale = alt.Scale(type="utc") if dated else alt.Scale(zero=False, nice=False)
    x = alt.X(f"at:{kind}", title=None, scale=scale, axis=alt.Axis(tickCount=8, grid=False))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    colour = alt.Color(
        "part:N", title=None, scale=alt.Scale(domain=["values", "expected"], range=["#767676", CATEGORIES[0]])
    )
    layers = [
        alt.Chart(alt.NamedData("bands"))
        .mark_rect(color=CATEGORIES[1], opacity=0.2, aria=False)
        .encode(x=alt.X(f"from:{kind}", scale=scale), x2=f"to:{kind}"),
        alt.Chart(alt.NamedData("rows"))
        .mark_line(strokeWidth=1, aria=False)
        .encode(x=x, y=y, color=colour, tooltip=[alt.Tooltip(f"at:{kind}"), alt.Tooltip("value:Q", format=".4~g")]),
        alt.Chart(alt.NamedData("dots")).mark_circle(color=CATEGORIES[1], size=22, aria=False).encode(x=x, y=y),
    ]
    chart = alt.layer(*layers).properties(width=width, height=220)
    alt_text = f"A series of {len(values):,} values with {len(stretches)} odd stretches marked."
    data = {"rows": rows, "bands": bands, "dots": dots}
    return Picture(chart, title, alt_text, note, data, caption=caption)


__all__ = ["marked_series"]
