r"""A graph drawn: vertices coloured by a signal or by groups, edges as wide as their weight or attention.

Names stand beside the vertices where there is room; else only those of the vertices with most edges do, and the others
show under the pointer. Edges of a directed graph carry an arrow at two thirds of their way.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.graph_signals.vertex_layouts import GraphLike, edge_ends, force_layout, spectral_layout
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES, MAGNITUDE, SIGNED
from cutaway.look.style.wording import number, short

_SIDE = 560  # pixels
_VERTICES = 4000  # drawn at most
_EDGES = 12_000
_NAMED = 60  # vertices up to which all are named
_COLOURS = (*CATEGORIES, "#882255", "#999933")  # two more that can be told from these (Tol 2021), for small marks
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def draw_graph(
    graph: GraphLike,
    signal: Values | None = None,
    *,
    groups: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    layout: str | Values = "force",
    edge_values: Values | None = None,
    edge_groups: Sequence[Any] | None = None,
    marked: Sequence[int] = (),
    value: str = "value",
    edge_value: str = "weight",
    title: str = "Graph",
    caption: str = "",
) -> Picture:
    """A graph with a ``signal`` (vertices,) or ``groups`` of vertices as colours.

    ``layout`` is "force", "spectral" or places (vertices, 2); ``edge_values`` (edges,) make edges wide, by default
    their weights, and ``edge_groups`` (edges,) give them colours; ``marked`` vertices get a ring and their name.
    """
    n = graph.vertices
    i, j = edge_ends(graph)
    shade = None if signal is None else as_array("signal", signal, "vertices").astype(np.float64)
    if groups is not None and shade is not None:
        raise ValueError("vertices are coloured by a signal or by groups, got both; leave one out")
    for what, given in (("signal", shade), ("groups", groups), ("names", names)):
        if given is not None and len(given) != n:
            raise ValueError(f"{what} must have one for each of the {n} vertices, got {len(given)}; pass all of them")
    if edge_groups is not None and len(edge_groups) != len(i):
        raise ValueError(f"edge_groups must have one for each of the {len(i)} edges, got {len(edge_groups)}; pass all")
    if not n:
        raise ValueError("a picture needs a vertex, got an empty graph; add vertices")
    kind_names = [] if groups is None else sorted({str(group) for group in groups}, key=_natural)
    if len(kind_names) > len(_COLOURS) * len(_SHAPES):
        raise ValueError(f"at most {len(_COLOURS) * len(_SHAPES)} groups can be told apart, got {len(kind_names)}")
    widths = _edge_values(graph, edge_values, len(i))
    places, said = _places(graph, layout, n)
    degrees = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
    shown, note = _chosen(degrees, marked, n)
    visible = np.zeros(n, bool)
    visible[shown] = True
    drawn = np.flatnonzero(visible[i] & visible[j] & (i != j))
    if len(drawn) > _EDGES:
        rank = np.argsort(-widths[drawn], kind="stable") if widths is not None else _spread(len(drawn))
        note += f" Of {len(drawn):,} edges {_EDGES:,} are drawn."
        drawn = drawn[np.sort(rank[:_EDGES])]
    labels = [str(v) for v in range(n)] if names is None else [short(str(name), 18) for name in names]
    vertex_rows = []
    named = _named(degrees, shown, marked, places, labels)
    for v in shown.tolist():
        row = {"x": places[v, 0], "y": places[v, 1], "name": labels[v], "edges": int(degrees[v])}
        if shade is not None:
            row["value"] = shade[v]
        if groups is not None:
            row["group"] = str(groups[v])
        row["written"] = labels[v] if v in named else ""
        row["marked"] = v in set(marked)
        vertex_rows.append(row)
    edge_rows = _edge_rows(i, j, drawn, places, widths, labels, graph.directed)
    edge_kinds = [] if edge_groups is None else list(dict.fromkeys(map(str, edge_groups)))
    if edge_groups is not None:
        edge_rows = [row | {"kind": str(edge_groups[e])} for row, e in zip(edge_rows, drawn.tolist(), strict=True)]
    chart = _chart(
        edge_kinds, shade, kind_names, len(shown), len(drawn), widths is not None, graph.directed, value, edge_value
    )
    if widths is not None and len(drawn):
        low, high = (number(float(f(widths[drawn])), 3) for f in (np.min, np.max))
        note += f" The width of an edge is its {edge_value}, {low} to {high}."
    about = f"coloured by {value}" if shade is not None else f"in {len(kind_names)} groups" if kind_names else "alike"
    alt_text = f"Graph of {n:,} vertices, {about}, and {len(i):,} edges, {said}."
    return Picture(chart, title, alt_text, note.strip(), {"vertices": vertex_rows, "edges": edge_rows}, caption=caption)


def _natural(name: str) -> tuple[int, str]:
    """Short names first: cluster 2 stands before cluster 10."""
    return len(name), name


def _edge_values(graph: GraphLike, given: Values | None, m: int) -> np.ndarray | None:
    values = given if given is not None else getattr(graph, "weights", None)
    if values is None:
        return None
    found = as_array("edge_values", values, "edges").astype(np.float64)
    if len(found) != m:
        raise ValueError(f"edge_values must have one for each of the {m} edges, got {len(found)}; pass all of them")
    return found


def _places(graph: GraphLike, layout: str | Values, n: int) -> tuple[np.ndarray, str]:
    if isinstance(layout, str):
        if layout not in ("force", "spectral"):
            raise ValueError(f"layout must be force, spectral or places of shape (vertices, 2), got {layout!r}")
        return (force_layout(graph) if layout == "force" else spectral_layout(graph)), f"laid out by {layout}"
    places = as_array("layout", layout, "vertices", "2").astype(np.float64)
    if places.shape != (n, 2):
        raise ValueError(f"layout must have shape ({n}, 2), got {places.shape}; give two coordinates a vertex")
    return places, "at given places"


def _chosen(degrees: np.ndarray, marked: Sequence[int], n: int) -> tuple[np.ndarray, str]:
    """The vertices to draw: all, or of a large graph those with most edges."""
    if n <= _VERTICES:
        return np.arange(n), ""
    order = np.argsort(-degrees, kind="stable")[:_VERTICES]
    chosen = np.unique(np.concatenate([order, np.asarray(marked, np.int64).reshape(-1)]))
    return chosen, f"Of {n:,} vertices the {_VERTICES:,} with most edges are drawn."


def _spread(count: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(count)


def _named(
    degrees: np.ndarray, shown: np.ndarray, marked: Sequence[int], places: np.ndarray, labels: list[str]
) -> set[int]:
    """Vertices whose names are written: the marked ones, then those with most edges, where no other name stands."""
    most = len(shown) if len(shown) <= _NAMED else 12 if len(shown) <= 600 else 8
    order = [*map(int, marked), *shown[np.argsort(-degrees[shown], kind="stable")].tolist()]
    low, high = places[shown].min(0), places[shown].max(0)
    pixels = (places - low) / np.maximum(high - low, 1e-12) * (_SIDE - 36)
    taken: dict[int, tuple[float, float, float]] = {}
    for v in order:
        x, y, wide = pixels[v, 0], pixels[v, 1], 7.0 * len(labels[v])
        free = all(abs(x - a) > (wide + w) / 2 or abs(y - b) > 13 for a, b, w in taken.values())
        if v not in taken and (free or v in marked):
            taken[v] = (x, y, wide)
        if len(taken) >= most:
            break
    return set(taken)


def _edge_rows(
    i: np.ndarray,
    j: np.ndarray,
    drawn: np.ndarray,
    places: np.ndarray,
    widths: np.ndarray | None,
    labels: list[str],
    directed: bool,
) -> list[dict[str, Any]]:
    rows = []
    sizes = None
    if widths is not None and len(drawn):
        strength = np.abs(widths[drawn])
        sizes = strength / max(float(strength.max()), 1e-12)
    scale = max(float(np.ptp(places[:, 0])), float(np.ptp(places[:, 1])), 1e-12)
    for place, e in enumerate(drawn.tolist()):
        (x, y), (x2, y2) = places[i[e]], places[j[e]]
        row: dict[str, Any] = {"x": x, "y": y, "x2": x2, "y2": y2, "edge": f"{labels[i[e]]} – {labels[j[e]]}"}
        if directed:
            row["edge"] = f"{labels[i[e]]} → {labels[j[e]]}"
            row |= {"ax": x + 0.66 * (x2 - x), "ay": y + 0.66 * (y2 - y)}
            row["angle"] = float(np.degrees(np.arctan2((x2 - x) / scale, (y2 - y) / scale)))
        if widths is not None and sizes is not None:
            row |= {"value": float(widths[e]), "size": float(sizes[place])}
        rows.append(row)
    return rows


def _chart(
    edge_kinds: list[str],
    shade: np.ndarray | None,
    kinds: list[str],
    vertices: int,
    edges: int,
    weighted: bool,
    directed: bool,
    value: str,
    edge_value: str,
) -> Any:
    import altair as alt

    room = alt.Scale(zero=False, padding=18)
    plane = {"x": alt.X("x:Q", axis=None, scale=room), "y": alt.Y("y:Q", axis=None, scale=room)}
    faint = 0.55 if edges <= 200 else 0.3 if edges <= 1500 else 0.12
    tips = [alt.Tooltip("edge:N")]
    if weighted:
        tips.append(alt.Tooltip("value:Q", title=edge_value, format=".4~g"))
        range_ = [0.4, 5] if edges <= 400 else [0.2, 2.5]
        look: dict[str, Any] = {
            "strokeWidth": alt.StrokeWidth("size:Q", scale=alt.Scale(domain=[0, 1], range=range_), legend=None),
            "opacity": alt.Opacity("size:Q", scale=alt.Scale(domain=[0, 1], range=[faint * 0.5, 0.9]), legend=None),
        }
    else:
        look = {"strokeWidth": alt.value(1.2 if edges <= 400 else 0.6), "opacity": alt.value(faint)}
    rules = alt.Chart(alt.NamedData("edges")).mark_rule(color="#7A828C", aria=False)
    lines = rules.encode(**plane, x2="x2:Q", y2="y2:Q", tooltip=tips, **look)
    if edge_kinds:  # the first is the usual one, and grey
        colours = ["#9AA2AC", *_COLOURS][: len(edge_kinds)]
        hue = alt.Color("kind:N", title="edges", scale=alt.Scale(domain=edge_kinds, range=colours))
        usual = f"datum.kind == {json.dumps(edge_kinds[0])}"
        width = alt.condition(usual, alt.value(1.0), alt.value(2.6))
        clear = alt.condition(usual, alt.value(faint), alt.value(1.0))
        tips = [*tips, alt.Tooltip("kind:N")]
        lines = rules.encode(**plane, x2="x2:Q", y2="y2:Q", tooltip=tips, color=hue, strokeWidth=width, opacity=clear)
    layers = [lines]
    if directed and edges <= 1500:
        heads = alt.Chart(alt.NamedData("edges")).mark_point(
            shape="triangle-up",
            filled=True,
            opacity=1,
            size=(90 if weighted else 45) if edges <= 300 else 14,
            color="#4A525C",
            aria=False,
        )
        layers.append(
            heads.encode(
                x=alt.X("ax:Q", axis=None, scale=room),
                y=alt.Y("ay:Q", axis=None, scale=room),
                angle=alt.Angle("angle:Q", scale=alt.Scale(domain=[-180, 180], range=[-180, 180])),
            )
        )
    size = 170 if vertices <= _NAMED else 60 if vertices <= 600 else 14
    tips = [alt.Tooltip("name:N", title="vertex"), alt.Tooltip("edges:Q", title="edges")]
    coding: dict[str, Any] = {}
    if shade is not None:
        tips.append(alt.Tooltip("value:Q", title=value, format=".4~g"))
        low, high = float(np.nanmin(shade)), float(np.nanmax(shade))
        signed = low < 0 < high
        top = max(abs(low), abs(high))
        scale = alt.Scale(domain=[-top, top], range=list(SIGNED)) if signed else alt.Scale(range=list(MAGNITUDE))
        coding["color"] = alt.Color("value:Q", title=value, scale=scale)
    elif kinds:
        tips.append(alt.Tooltip("group:N", title=value))
        colours = [_COLOURS[k % len(_COLOURS)] for k in range(len(kinds))]
        title = None if value == "value" else value
        coding["color"] = alt.Color("group:N", title=title, scale=alt.Scale(domain=kinds, range=colours))
        if len(kinds) > len(_COLOURS):
            shapes = [_SHAPES[k // len(_COLOURS)] for k in range(len(kinds))]
            coding["shape"] = alt.Shape("group:N", title=title, scale=alt.Scale(domain=kinds, range=shapes))
    plain: dict[str, Any] = {"color": "#D5DAE0"} if edge_kinds and not coding else {}  # edges are what is looked at
    dots = alt.Chart(alt.NamedData("vertices")).mark_point(
        **plain,
        filled=True,
        size=size,
        opacity=1,
        stroke="#57606A",
        strokeWidth=0.8 if vertices <= 600 else 0,
        aria=False,
    )
    layers.append(dots.encode(**plane, tooltip=tips, **coding))
    rings = alt.Chart(alt.NamedData("vertices")).transform_filter("datum.marked")
    layers.append(
        rings.mark_point(size=size * 3.2, filled=False, strokeWidth=2.5, color=CATEGORIES[1], aria=False).encode(
            **plane
        )
    )
    words = alt.Chart(alt.NamedData("vertices")).transform_filter("datum.written != ''")
    layers.append(
        words.mark_text(dy=-12 if vertices <= _NAMED else -8, fontSize=11, fontWeight=600, aria=False).encode(
            **plane, text="written:N"
        )
    )
    chart = alt.layer(*layers).properties(width=_SIDE, height=_SIDE)
    return chart.resolve_scale(color="independent") if edge_kinds else chart


__all__ = ["draw_graph"]
