r"""Small graphs side by side, each with a signal on its vertices and words above it; and curves of a ranking."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.graph_signals.vertex_layouts import GraphLike, edge_ends, fitted, force_layout
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES, SIGNED
from cutaway.look.style.wording import short

_CELL = 200  # pixels of one graph
_COLUMNS = 3
_WORDS = 30  # letters above a graph
_WRITTEN = 40  # vertices of a graph up to which their letters are written


def graph_gallery(
    graphs: Sequence[GraphLike],
    signals: Sequence[Values],
    heads: Sequence[str],
    *,
    letters: Sequence[Sequence[str]] = (),
    value: str = "value",
    title: str = "Graphs",
    caption: str = "",
) -> Picture:
    """Graphs in a grid, with ``signals`` (vertices,) above and below 0 as colours, and ``heads`` above them.

    ``letters`` are a short word for each vertex, as the element of an atom.
    """
    import altair as alt

    if not graphs or not len(graphs) == len(signals) == len(heads):
        raise ValueError(
            f"a gallery needs a signal and a head for every graph, got {len(graphs)} graphs, {len(signals)} signals, "
            f"{len(heads)} heads; give one of each"
        )
    vertices: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    rows = -(-len(graphs) // _COLUMNS)
    for g, (graph, signal, head) in enumerate(zip(graphs, signals, heads, strict=True)):
        shade = as_array("signal", signal, "vertices").astype(np.float64)
        if len(shade) != graph.vertices:
            raise ValueError(f"a signal must have {graph.vertices} values, one a vertex, got {len(shade)}; pass all")
        left, top = g % _COLUMNS, rows - 1 - g // _COLUMNS
        places = fitted(force_layout(graph)) * 0.72 + np.array([left + 0.14, top + 0.08])
        own = letters[g] if g < len(letters) and graph.vertices <= _WRITTEN else [""] * graph.vertices
        for v in range(graph.vertices):
            x, y = places[v].tolist()
            vertices.append({"x": x, "y": y, "value": float(shade[v]), "letter": own[v], "graph": head})
        for i, j in zip(*edge_ends(graph), strict=True):
            (x, y), (x2, y2) = places[i].tolist(), places[j].tolist()
            edges.append({"x": x, "y": y, "x2": x2, "y2": y2})
        words.append({"x": left + 0.5, "y": top + 0.93, "head": short(head, _WORDS)})
    wide, high = min(len(graphs), _COLUMNS), rows
    plane = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, wide], nice=False)),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, high], nice=False)),
    }
    most = max((abs(row["value"]) for row in vertices), default=1.0) or 1.0
    colour = alt.Color("value:Q", title=value, scale=alt.Scale(domain=[-most, most], range=list(SIGNED)))
    lines = alt.Chart(alt.NamedData("edges")).mark_rule(color="#7A828C", strokeWidth=1.2, aria=False)
    dots = alt.Chart(alt.NamedData("vertices")).mark_point(
        filled=True, size=190 if letters else 90, opacity=1, stroke="#57606A", strokeWidth=0.8, aria=False
    )
    tips = [alt.Tooltip("graph:N"), alt.Tooltip("letter:N", title="vertex"), alt.Tooltip("value:Q", title=value)]
    layers = [lines.encode(**plane, x2="x2:Q", y2="y2:Q"), dots.encode(**plane, color=colour, tooltip=tips)]
    if letters:
        inside = alt.Chart(alt.NamedData("vertices")).mark_text(fontSize=9, aria=False)
        dark = f"abs(datum.value) > {0.55 * most}"  # fills on which black cannot be read
        ink = alt.condition(dark, alt.value("#FFFFFF"), alt.value("#1B1F24"))
        layers.append(inside.encode(**plane, text="letter:N", color=ink))
    above = alt.Chart(alt.NamedData("words")).mark_text(fontSize=11, fontWeight=600, aria=False)
    layers.append(above.encode(**plane, text="head:N"))
    chart = alt.layer(*layers).properties(width=_CELL * wide, height=_CELL * high)
    data = {"vertices": vertices, "edges": edges, "words": words}
    return Picture(chart, title, f"{len(graphs)} graphs, vertices coloured by {value}.", data=data, caption=caption)


def ranking_curves(shares: Mapping[str, Values], *, title: str, value: str, caption: str = "") -> Picture:
    """Curves over the number k of those that rank highest: ``shares`` (k,) by the name of what ranks."""
    import altair as alt

    rows: list[dict[str, Any]] = []
    for name, given in shares.items():
        own = as_array("shares", given, "k").astype(np.float64)
        places = np.unique(np.geomspace(1, len(own), 120).astype(int)).tolist()
        rows += [{"k": k, "share": float(own[k - 1]), "by": name} for k in places]
    names = list(shares)
    colour = alt.Color(
        "by:N", title=None, scale=alt.Scale(domain=names, range=list(CATEGORIES[: len(names)])),
        legend=alt.Legend(orient="top"),
    )  # fmt: skip
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_line(aria=False)
        .encode(
            x=alt.X(
                "k:Q", title="k best of all pairs", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(grid=False)
            ),
            y=alt.Y("share:Q", title=value, scale=alt.Scale(domain=[0, 1])),
            color=colour,
            tooltip=[alt.Tooltip("by:N"), alt.Tooltip("k:Q"), alt.Tooltip("share:Q", format=".3f")],
        )
        .properties(width=560, height=260)
    )
    told = "; ".join(f"{name} {float(np.asarray(given)[-1]):.2f} at the end" for name, given in shares.items())
    return Picture(chart, title, f"Curves of {value}: {told}.", data=rows, caption=caption, fills=True)


__all__ = ["graph_gallery", "ranking_curves"]
