r"""The confusion matrix of a classifier: how many examples of each class were taken for which.

    C_ij = number of examples of class i that were predicted as class j

Right predictions lie on the diagonal. A cell holds its count and, where there is room, its share of the row: of all
examples of class i, how many were taken for j; on the diagonal this is the recall of the class.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.heatmaps import Shades, heatmap
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import MAGNITUDE, ink_on
from cutaway.look.style.wording import short

_NUMBERED = 20  # classes up to which each cell has its number
_SIDE = 460  # of the picture
_LARGEST, _LEAST = 96, 34  # of a cell
_ROOMY = 54  # a cell that holds its share, too


def confusion_matrix(
    counts: Values, labels: Sequence[str] | None = None, *, title: str = "What each class is taken for"
) -> Picture:
    """A picture of ``counts``, one row a true class and one column a predicted one, with the numbers in the cells.

    >>> picture = confusion_matrix([[8, 2], [1, 9]], ["cat", "dog"])
    >>> picture.caption
    'Right answers lie on the diagonal: 17 of 20. The most frequent mistake takes cat for dog (2 times).'
    """
    c = as_array("counts", counts, "truth", "prediction")
    if c.shape[0] != c.shape[1]:
        raise ValueError(f"a confusion matrix must be square, got shape {c.shape}; count every class on both sides")
    names = [str(i) for i in range(len(c))] if labels is None else [str(label) for label in labels]
    if len(names) != len(c):
        raise ValueError(f"there must be a label for every class, got {len(names)} for {len(c)}; leave labels out")
    if len(c) > _NUMBERED:
        picture = heatmap(c, names, names, title=title, value="rows", axes=("truth", "prediction"), root=True)
        return picture.captioned(_caption(c, names))
    shares = c / np.maximum(c.sum(1, keepdims=True), 1)
    chart, data = _numbered(c, shares, names)
    words = f"Confusion matrix of {len(c)} classes, {int(c.sum()):,} examples. {_caption(c, names)}"
    what = "Colours and percentages" if _cell_side(len(c)) >= _ROOMY else "Colours"
    note = f"{what}: the share of the row, that is, of all examples of this class."
    return Picture(chart, title, words, note, data, caption=_caption(c, names))


def _caption(c: np.ndarray, names: Sequence[str]) -> str:
    right = f"Right answers lie on the diagonal: {int(np.trace(c)):,} of {int(c.sum()):,}."
    wrong = c - np.diag(np.diag(c))
    if not wrong.any():
        return f"{right} There is no mistake."
    i, j = divmod(int(wrong.argmax()), len(c))
    times = int(wrong[i, j])
    often = "once" if times == 1 else f"{times:,} times"
    return f"{right} The most frequent mistake takes {short(names[i], 24)} for {short(names[j], 24)} ({often})."


def _cell_side(classes: int) -> int:
    return max(_LEAST, min(_LARGEST, _SIDE // classes))


def _numbered(c: np.ndarray, shares: np.ndarray, names: list[str]) -> tuple[Any, list[dict[str, Any]]]:
    import altair as alt

    side = _cell_side(len(c))
    shades = Shades(MAGNITUDE, 0.0, 1.0)
    rows = [
        {
            "row": i,
            "column": j,
            "count": int(c[i, j]),
            "share": float(shares[i, j]),
            "dark": ink_on(float(shares[i, j]), shades.colours) == "#FFFFFF",
        }
        for i in range(len(c))
        for j in range(len(c))
    ]
    longest = max(map(len, names))

    def axis(title: str, angle: int) -> dict[str, Any]:
        look = alt.Axis(
            title=title,
            labelExpr="classes[datum.value]",
            labelAngle=angle,
            labelOverlap=False,
            labelLimit=140,
            labelFontSize=12,
            ticks=False,
            domain=False,
            grid=False,
        )
        return dict(axis=look, scale=alt.Scale(domain=list(range(len(c)))))

    base = (
        alt.Chart(alt.NamedData("rows"))
        .transform_calculate(truth="classes[datum.row]", prediction="classes[datum.column]")
        .encode(
            x=alt.X("column:O", **axis("prediction", 0 if longest * 7 <= side else -45)),
            y=alt.Y("row:O", **axis("truth", 0)),
            tooltip=[
                alt.Tooltip("truth:N"),
                alt.Tooltip("prediction:N"),
                alt.Tooltip("count:Q", format=","),
                alt.Tooltip("share:Q", title="share of the row", format=".1%"),
            ],
        )
    )
    ink = alt.condition("datum.dark", alt.value("#FFFFFF"), alt.value("#000000"))
    roomy = side >= _ROOMY
    layers = [
        base.mark_rect(aria=False, stroke="white", strokeWidth=1).encode(
            color=alt.Color(
                "share:Q", scale=alt.Scale(domain=[0, 1], range=list(shades.colours), interpolate="rgb"), legend=None
            )
        ),
        base.mark_text(fontSize=15 if roomy else 11, dy=-7 if roomy else 0, aria=False).encode(
            text=alt.Text("count:Q", format=","), color=ink
        ),
    ]
    if roomy:
        layers.append(
            base.mark_text(fontSize=11, dy=11, aria=False).encode(text=alt.Text("share:Q", format=".0%"), color=ink)
        )
    chart = (
        alt.layer(*layers)
        .properties(width=alt.Step(side), height=alt.Step(side))
        .add_params(alt.param(name="classes", value=[short(name, 24) for name in names]))
    )
    return chart, rows
