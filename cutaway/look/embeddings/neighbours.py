r"""Nearest neighbours: the rows of an embedding matrix that are nearest to others, by name, and their picture.

    cosine      x·y / (‖x‖ ‖y‖)        1: the same direction; the larger, the nearer

Exact; how rows are searched, by which measures, and fast where they are many, is in vector_index.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.embeddings.vector_index import UNITS, By, Nearest, VectorIndex
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number, short, visible


def nearest(matrix: Values, vectors: Values, count: int = 10, by: By = "cosine") -> Nearest:
    """The ``count`` rows nearest to each of the ``vectors`` (vectors, dimensions); equal ones in the order of the rows.

    To search one matrix many times, build a `VectorIndex` of it.

    >>> nearest([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], [[0.0, 2.0]], count=2)
    Nearest(rows=array([[1, 2]]), scores=array([[1. , 0.8]]))
    """
    return VectorIndex(matrix, by).search(vectors, count)


def neighbour_rows(
    matrix: Values,
    names: Sequence[str],
    of: Sequence[str] | Mapping[str, Values],
    *,
    count: int = 10,
    by: By = "cosine",
    without: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The nearest rows by name: {"of", "place", "neighbour", "score"} for each, no name its own neighbour.

    ``of`` are names of rows, or vectors by a name of their own, as in {"king − man + woman": v}; ``without`` are names
    that do not count, such as those that a vector was made of.
    """
    x = as_array("matrix", matrix, "rows", "dimensions")
    if len(names) != len(x):
        raise ValueError(f"names must be one for each of the {len(x)} rows, got {len(names)}; pass the same rows")
    if not len(of):
        raise ValueError("of must name at least one row, got none; try of=[names[0]]")
    places: dict[str, int] = {}
    for i, name in enumerate(names):
        places.setdefault(name, i)
    if isinstance(of, Mapping):
        vectors = np.stack([as_array(f"the vector of {name!r}", vector, "dimensions") for name, vector in of.items()])
    else:
        vectors = x[[_place(places, name, names) for name in of]]
    skipped = {_place(places, name, names) for name in without}
    found = nearest(x, vectors, min(len(x), count + len(skipped) + 1), by)
    listed = []
    for name, rows, scores in zip(of, found.rows.tolist(), found.scores.tolist()):
        left_out = skipped | ({places[name]} if name in places else set())
        kept = [(i, score) for i, score in zip(rows, scores) if i not in left_out][:count]
        listed += [
            {"of": name, "place": place, "neighbour": names[i], "score": score}
            for place, (i, score) in enumerate(kept, 1)
        ]
    return listed


def _place(places: Mapping[str, int], name: str, names: Sequence[str]) -> int:
    if name not in places:
        import difflib

        near = difflib.get_close_matches(str(name), map(str, places), n=3)
        advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"they begin with {names[0]!r}"
        raise ValueError(f"a name must be one of the {len(names):,} rows, got {name!r}; {advice}")
    return places[name]


__all__ = ["UNITS", "By", "Nearest", "nearest", "neighbour_rows"]

_PANELS = 24  # in one picture, at most


def neighbours(
    matrix: Values,
    names: Sequence[str],
    of: Sequence[str] | Mapping[str, Values],
    *,
    count: int = 10,
    by: By = "cosine",
    without: Sequence[str] = (),
    title: str = "Nearest neighbours",
) -> Picture:
    """The ``count`` nearest neighbours of each of some rows, a list of bars each; as rows: `neighbour_rows`."""
    import altair as alt

    if len(of) > _PANELS:
        raise ValueError(f"one picture shows the neighbours of at most {_PANELS} rows, got {len(of)}; make several")
    found = neighbour_rows(matrix, names, of, count=count, by=by, without=without)
    queries = [short(str(name), 28) for name in of]
    shown = dict(zip(of, queries))
    data = [
        {
            "of": shown[row["of"]],
            "place": row["place"],
            "name": visible(str(row["neighbour"]), 20),
            "score": row["score"],
        }
        for row in found
    ]
    columns = 2 if len(queries) in (2, 4) else min(3, len(queries))
    base = alt.Chart(alt.NamedData("rows")).encode(
        y=alt.Y("place:O", title=None, axis=alt.Axis(labels=False, ticks=False, domain=False)),
        x=alt.X("score:Q", title=UNITS[by], axis=alt.Axis(tickCount=4)),
        tooltip=[
            alt.Tooltip("of:N"),
            alt.Tooltip("name:N", title="neighbour"),
            alt.Tooltip("score:Q", title=UNITS[by], format=".4~g"),
        ],
    )
    bars = base.mark_bar(opacity=0.3, height={"band": 0.86}, aria=False)
    words = base.mark_text(align="left", dx=4, aria=False).encode(text="name:N", x=alt.XDatum(0))
    panel = alt.layer(bars, words).properties(width=540 // columns - 24, height=alt.Step(18))
    header = alt.Header(title=None, labelFontSize=13, labelFontWeight=600, labelAnchor="start")
    chart = panel.facet(facet=alt.Facet("of:N", sort=queries, header=header), columns=columns, spacing=24)
    first = {row["of"]: row for row in reversed(found)}
    nearest = "; ".join(
        f"of {of}: {row['neighbour']} ({number(row['score'], 3)})" for of, row in reversed(first.items())
    )
    nearer = "smaller" if by == "euclidean" else "larger"
    note = f"Among {len(names):,} rows, by {UNITS[by]}: the {nearer}, the nearer."
    words = f"Bars of {len(data)} neighbours of {len(queries)} rows. The nearest {nearest}."
    caption = "Neighbours are used alike by the model; where they make no sense together, it has not learned them yet."
    return Picture(chart, title, words, note, data, caption=caption)
