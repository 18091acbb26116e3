r"""Histograms of weights, activations or gradients: numbers counted in bins of one width.

    count_b = |{x : b ≤ (x − low) / width < b + 1}|

The last bin also holds its upper end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array, short_names
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number, short

_SERIES = 24  # in one picture, at most


def histogram(
    values: Values | Mapping[str, Values],
    *,
    bins: int = 60,
    log: bool = False,
    title: str = "Distribution",
    value: str = "value",
) -> Picture:
    """The histogram of any tensor, or of several by name, one above the other on one axis.

    ``log`` draws the counts on a logarithmic axis (of 1 + count), for long tails.
    """
    import altair as alt

    if bins < 1:
        raise ValueError(f"bins must be above 0, got {bins}; try bins=60")
    given = {k: as_array(k, v).ravel() for k, v in (values if isinstance(values, Mapping) else {value: values}).items()}
    if not 1 <= len(given) <= _SERIES:
        raise ValueError(f"one picture holds 1 to {_SERIES} histograms, got {len(given)}; make several pictures")
    finite = {name: x[np.isfinite(x)] for name, x in given.items()}
    present = [x for x in finite.values() if x.size]
    low = float(min((x.min() for x in present), default=0.0))
    high = float(max((x.max() for x in present), default=1.0))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    data = []
    names = [short(name, 28) for name in short_names(list(finite))]
    for name, x in zip(names, finite.values()):
        counts, edges = np.histogram(x, bins=bins, range=(low, high))
        data += [
            {"series": name, "from": a, "to": b, "count": int(n)}
            for n, a, b in zip(counts, edges[:-1].tolist(), edges[1:].tolist())
        ]
    many = len(given) > 1
    most = max(row["count"] for row in data) or 1
    ticks: dict[str, Any] = {"values": [0, *(10**i for i in range(len(str(most))))]} if log else {}
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar(binSpacing=0, aria=False)
        .encode(
            x=alt.X(
                "from:Q",
                bin="binned",
                title=value,
                scale=alt.Scale(domain=[low, high], nice=False),
                axis=alt.Axis(grid=False),
            ),
            x2="to:Q",
            y=alt.Y(
                "count:Q",
                title="count" + (" (log axis)" if log else ""),
                # on a symmetric log axis an empty bin still has its place, at 0
                scale=alt.Scale(type="symlog", domain=[0, most], nice=False) if log else alt.Scale(domain=[0, most]),
                axis=alt.Axis(
                    tickCount=3 if many else 6, labelExpr="format(datum.value, '~s')", **ticks, grid=not many
                ),
            ),
            tooltip=[
                *([alt.Tooltip("series:N", title="of")] if many else []),
                *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("from", "to")),
                alt.Tooltip("count:Q", format=","),
            ],
        )
        .properties(width=540, height=64 if many else 240)
    )
    if many:
        header = alt.Header(title=None, labelOrient="top", labelAnchor="end", labelPadding=-14)
        chart = chart.facet(row=alt.Row("series:N", sort=names, header=header), spacing=8)
    words = "; ".join(_described(name if many else "", given[name], x) for name, x in finite.items())
    note = "" if many else f"{words}."
    return Picture(chart, title, f"Histogram of {value}. {words}.", note, data, fills=not many)


def _described(name: str, given: np.ndarray, x: np.ndarray) -> str:
    parts = [f"{given.size:,} values"]
    if x.size:
        parts += [
            f"mean {number(float(x.mean(dtype=np.float64)))}",
            f"deviation {number(float(x.std(dtype=np.float64)))}",
        ]
        zeros = float((x == 0).mean())
        parts += [f"{100 * zeros:.3g} % exactly zero"] if zeros else []
    if x.size < given.size:
        parts.append(f"{given.size - x.size:,} not finite, left out")
    return (f"{name}: " if name else "") + ", ".join(parts)
