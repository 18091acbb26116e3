r"""The nearest neighbours of some rows of an embedding matrix, as bars: what the model takes for alike (nearest.py)."""

from collections.abc import Mapping, Sequence

from cutaway.look.arrays import Values
from cutaway.look.nearest import UNITS, By, neighbour_rows
from cutaway.look.picture import Picture
from cutaway.look.wording import number, short, visible

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
    return Picture(
        chart, title, f"Bars of {len(data)} neighbours of {len(queries)} rows. The nearest {nearest}.", note, data
    )
