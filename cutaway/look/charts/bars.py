r"""A bar chart of signed numbers by name: orange bars to the right of zero, blue ones to the left."""

import math
from collections.abc import Mapping
from typing import Any

from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short

_BARS = 200  # in one chart, at most
POSITIVE, NEGATIVE = CATEGORIES[1], CATEGORIES[0]


def bar_chart(numbers: Mapping[str, float], value: str, of: str = "part", data: str = "rows") -> tuple[Any, list[Any]]:
    """The chart and its rows, in the order given; ``value`` says what the numbers are, ``of`` what has them."""
    import altair as alt

    if len(numbers) > _BARS:
        raise ValueError(f"one picture holds at most {_BARS} bars, got {len(numbers)}; pass a part of them")
    names = [short(name, 28) for name in numbers]
    rows = [{"at": i, "name": name, "value": x} for i, (name, x) in enumerate(zip(names, numbers.values()))]
    finite = [0.0, *(x for x in numbers.values() if math.isfinite(x))]
    room = 0.2 * ((max(finite) - min(finite)) or 1.0)  # for the numbers at the ends
    ends = [end + room * sign for end, sign in ((min(finite), -1 if min(finite) else 0), (max(finite), 1))]
    base = alt.Chart(alt.NamedData(data)).encode(
        x=alt.X(
            "value:Q", title=value, axis=alt.Axis(tickCount=6, domain=False), scale=alt.Scale(domain=ends, nice=False)
        ),
        y=alt.Y(
            "at:O",
            title=None,
            axis=alt.Axis(labelExpr=f"{data}_names[datum.value]", labelOverlap=False, ticks=False, domain=False),
        ),
        tooltip=[alt.Tooltip("name:N", title=of), alt.Tooltip("value:Q", title=value, format=".4~g")],
    )
    sign = alt.condition("datum.value < 0", alt.value(NEGATIVE), alt.value(POSITIVE))
    words: dict[str, Any] = dict(fontSize=10, aria=False)
    chart = alt.layer(
        base.mark_bar(aria=False).encode(color=sign),
        base.transform_filter("datum.value >= 0")
        .mark_text(align="left", dx=4, **words)
        .encode(text=alt.Text("value:Q", format=".3~g")),
        base.transform_filter("datum.value < 0")
        .mark_text(align="right", dx=-4, **words)
        .encode(text=alt.Text("value:Q", format=".3~g")),
    )
    return (
        chart.properties(width=360, height=alt.Step(18)).add_params(alt.param(name=f"{data}_names", value=names)),
        rows,
    )
