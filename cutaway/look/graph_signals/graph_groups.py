r"""Groups of small graphs, a row each, so that one sees whether they are alike: real ones above, drawn ones below."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.graph_signals.vertex_layouts import GraphLike, edge_ends, fitted, force_layout
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short

_CELL = 112  # pixels of one graph


def graph_groups(
    groups: Mapping[str, Sequence[GraphLike]], *, columns: int = 6, title: str = "Graphs", caption: str = ""
) -> Picture:
    """The graphs of each group side by side, the first group on top, with its name at the left.

    A group of more graphs than ``columns`` goes on in the next line.
    """
    import altair as alt

    if not groups or not all(groups.values()):
        raise ValueError(f"every group must have a graph to draw, got { ({k: len(v) for k, v in groups.items()}) }")
    lines = [
        (name, graphs[first : first + columns], first == 0)
        for name, graphs in groups.items()
        for first in range(0, len(graphs), columns)
    ]
    vertices: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    frames: list[dict[str, Any]] = []  # what is inside one is one graph, whatever pieces it is in
    for place, (name, graphs, is_first) in enumerate(lines):
        top = len(lines) - 1 - place
        if is_first:
            words.append({"x": -0.08, "y": top + 0.5, "head": short(name, 18)})
        for column, graph in enumerate(graphs):
            frames.append({"x": column + 0.03, "x2": column + 0.97, "y": top + 0.03, "y2": top + 0.97})
            places = fitted(force_layout(graph)) * 0.8 + np.array([column + 0.1, top + 0.1])
            degree = np.bincount(np.concatenate(edge_ends(graph)), minlength=graph.vertices)
            for (x, y), d in zip(places.tolist(), degree.tolist(), strict=True):
                vertices.append({"x": x, "y": y, "group": name, "degree": d, "vertices": graph.vertices})
            for i, j in zip(*edge_ends(graph), strict=True):
                (x, y), (x2, y2) = places[i].tolist(), places[j].tolist()
                edges.append({"x": x, "y": y, "x2": x2, "y2": y2})
    wide = max(len(graphs) for _, graphs, _ in lines)
    plane = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-1, wide], nice=False)),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, len(lines)], nice=False)),
    }
    scale = alt.Scale(domain=list(groups), range=[CATEGORIES[i % len(CATEGORIES)] for i in range(len(groups))])
    tips = ["group:N", alt.Tooltip("degree:Q"), alt.Tooltip("vertices:Q", title="vertices of the graph")]
    ends = alt.Chart(alt.NamedData("edges")).mark_rule(color="#7A828C", strokeWidth=0.9, opacity=0.8, aria=False)
    dots = alt.Chart(alt.NamedData("vertices")).mark_point(filled=True, size=26, opacity=1, aria=False)
    names = alt.Chart(alt.NamedData("words")).mark_text(align="right", fontSize=11, fontWeight=600, aria=False)
    cells = alt.Chart(alt.NamedData("frames")).mark_rect(
        fillOpacity=0, stroke="#7A828C", strokeOpacity=0.35, strokeWidth=0.7, cornerRadius=4, aria=False
    )
    chart = alt.layer(
        cells.encode(**plane, x2="x2:Q", y2="y2:Q"),
        ends.encode(**plane, x2="x2:Q", y2="y2:Q"),
        dots.encode(**plane, color=alt.Color("group:N", legend=None, scale=scale), tooltip=tips),
        names.encode(**plane, text="head:N"),
    ).properties(width=_CELL * (wide + 1), height=_CELL * len(lines))
    told = ", ".join(f"{len(graphs)} {name}" for name, graphs in groups.items())
    data = {"vertices": vertices, "edges": edges, "words": words, "frames": frames}
    return Picture(chart, title, f"Small graphs in rows: {told}.", data=data, caption=caption)


__all__ = ["graph_groups"]
