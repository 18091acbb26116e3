r"""A heat map shows a matrix as a grid of coloured cells, or as an image where there are too many to tell apart.

    colour = magnitude(x)   if all x ≥ 0, from 0 to the largest
    colour = signed(x)      else, from −m to m with m = max |x|

so that zero is always the darkest of the one and the lightest of the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.rasters import image_url, levels_of, strongest
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import MAGNITUDE, SIGNED
from cutaway.look.style.wording import number, short, visible

CELLS = 64  # rows or columns that are drawn as cells, with names, and values under the pointer
_PIXELS = 512  # of an image, along each side
_SIDE = 512  # of the picture, the longer one
_LINE = 12  # a line of an image that has a name
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_LEAST = 60  # of an image, the shorter one
_WORDS = 24  # letters of a name that is no token
_ROOT = "Colours follow the square root of the {}, so that small ones show."


@dataclass(frozen=True)
class Shades:
    """The colours of a matrix and the values at their ends."""

    colours: tuple[str, ...]
    low: float
    high: float
    root: bool = False  # colours follow the square root of the value

    @staticmethod
    def of(matrix: np.ndarray, root: bool = False) -> "Shades":
        finite = matrix[np.isfinite(matrix)]
        if finite.size and finite.min() < 0:
            most = float(np.abs(finite).max())
            return Shades(SIGNED, -most, most)
        most = float(finite.max()) if finite.size else 1.0
        return Shades(MAGNITUDE, 0.0, most or 1.0, root)

    def channel(self, field: str, title: str, length: float) -> Any:
        """The colour channel of a chart, with a legend of about that length."""
        import altair as alt

        options: dict[str, Any] = {"type": "sqrt"} if self.root else {}
        scale = alt.Scale(domain=[self.low, self.high], range=list(self.colours), interpolate="rgb", **options)
        # evenly spaced along the square root
        values = [self.high * share for share in (0, 1 / 16, 1 / 4, 9 / 16, 1)] if self.root else None
        return alt.Color(f"{field}:Q", title=title, scale=scale, legend=legend_of(length, values))


def legend_of(length: float, values: list[float] | None = None) -> Any:
    """The legend of a range of colours, beside a picture of that height."""
    import altair as alt

    length = max(60, min(160, length - 20))
    ticks: dict[str, Any] = {"values": values, "format": ".2~g"} if values else {}
    return alt.Legend(gradientLength=length, tickCount=3 if length < 120 else 5, **ticks)


def heatmap(
    matrix: Values,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    title: str = "Matrix",
    value: str = "value",
    axes: tuple[str, str] = ("row", "column"),
    root: bool = False,
    words: bool = False,
) -> Picture:
    """Any matrix in colour. ``rows`` and ``columns`` name its lines, ``axes`` and ``value`` say what it shows.

    With ``root`` the colours of a matrix without negative entries follow the square root, so that small ones show. With
    ``words`` the names are words, not tokens: their blanks are not marked, and they may be longer.
    """
    entries = as_array("matrix", matrix, "rows", "columns")
    names = [_names(axes[i], given, entries, i, words) for i, given in enumerate((rows, columns))]
    shades = Shades.of(entries, root)
    notes = [_ROOT.format(value)] if shades.root else []
    if max(entries.shape) <= CELLS:
        chart, data = _cells(entries, shades, names, axes, value)
    else:
        named = [names[i] if given is not None else None for i, given in enumerate((rows, columns))]
        chart, data, note = _image(entries, shades, named, axes, value)
        notes.append(note)
    finite = entries[np.isfinite(entries)]
    if finite.size < entries.size:
        notes.append(f"{entries.size - finite.size:,} of {entries.size:,} values are no finite numbers and left blank.")
    extremes = f"from {number(float(finite.min()))} to {number(float(finite.max()))}" if finite.size else "none finite"
    alt = f"Heat map of {value}: {entries.shape[0]} × {entries.shape[1]} ({axes[0]} × {axes[1]}), {extremes}."
    return Picture(chart, title, alt, " ".join(notes), data)


def _names(axis: str, names: Sequence[str] | None, entries: np.ndarray, which: int, words: bool) -> list[str]:
    if names is None:
        return [str(i) for i in range(entries.shape[which])]
    if len(names) != entries.shape[which]:
        raise ValueError(
            f"there must be a name for every {axis}, got {len(names)} names for shape {entries.shape}; "
            "leave the names out to count instead"
        )
    return [short(str(name), _WORDS) if words else visible(str(name)) for name in names]


def _cells(
    entries: np.ndarray, shades: Shades, names: list[list[str]], axes: tuple[str, str], value: str
) -> tuple[Any, list[dict[str, Any]]]:
    import altair as alt

    # One row of data a line of the matrix, taken apart by the chart: a fifth of the size of one row a cell.
    data = [{"row": i, "values": line} for i, line in enumerate(entries)]
    side = min(26, _SIDE // max(entries.shape))

    def axis(which: int, names_in: str, angle: int) -> dict[str, Any]:
        # numbers on the axis, names from a list: two tokens may have one name, and no name is part of an expression
        look = alt.Axis(
            title=axes[which],
            labelExpr=f"{names_in}[datum.value]",
            labelFontSize=min(11, side),
            labelAngle=angle,
            labelOverlap=False,
            ticks=False,
            domain=False,
            grid=False,
            labelFont=_MONO,
        )
        return dict(axis=look, scale=alt.Scale(domain=list(range(entries.shape[which]))))

    upright = all(len(name) * 7 <= side for name in names[1])
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .transform_flatten(["values"], ["value"])
        .transform_window(column="row_number()", groupby=["row"])
        .transform_calculate(column="datum.column - 1", at="names[datum.row]", of="others[datum.column]")
        .transform_filter("isValid(datum.value)")
        .mark_rect(aria=False)
        .encode(
            x=alt.X("column:O", **axis(1, "others", 0 if upright else -90)),
            y=alt.Y("row:O", **axis(0, "names", 0)),
            color=shades.channel("value", value, side * entries.shape[0]),
            tooltip=[
                alt.Tooltip("at:N", title=axes[0]),
                alt.Tooltip("of:N", title=axes[1]),
                alt.Tooltip("value:Q", title=value, format=".4~g"),
            ],
        )
        .properties(width=alt.Step(side), height=alt.Step(side))
        .add_params(alt.param(name="names", value=names[0]), alt.param(name="others", value=names[1]))
    )
    return chart, data


def _image(
    entries: np.ndarray, shades: Shades, names: list[list[str] | None], axes: tuple[str, str], value: str
) -> tuple[Any, list[dict[str, Any]], str]:
    import altair as alt

    blocks = [-(-n // _PIXELS) for n in entries.shape]
    levels = levels_of(strongest(entries, *blocks), shades.low, shades.high, shades.root)
    # the blocks at the ends may be cut short; the image is as long as if they were whole, and is clipped
    bottom, right = (n * block for n, block in zip(levels.shape, blocks))
    # the shorter side may have names, and then room for them
    named = [n is not None and len(n) <= CELLS for n in names]
    least = [_LINE * n if has else _LEAST for n, has in zip(entries.shape, named)]
    height, width = (max(low, round(_SIDE * n / max(entries.shape))) for n, low in zip(entries.shape, least))
    data = [{"url": image_url(levels, shades.colours), "left": 0, "top": 0, "value": shades.low}]

    def axis(which: int) -> dict[str, Any]:
        ends = [0, entries.shape[1]] if which else [entries.shape[0], 0]
        if named[which]:
            middles = [i + 0.5 for i in range(entries.shape[which])]
            words = f"{('names', 'others')[which]}[floor(datum.value)]"
            look = alt.Axis(
                grid=False, values=middles, labelExpr=words, labelOverlap=False, ticks=False, labelFont=_MONO
            )
        else:
            look = alt.Axis(grid=False, tickCount=8 if (height, width)[which] > 200 else 3)
        return dict(title=axes[which], scale=alt.Scale(domain=ends, nice=False), axis=look)

    base = alt.Chart(alt.NamedData("rows")).encode(x=alt.X("left:Q", **axis(1)), y=alt.Y("top:Q", **axis(0)))
    image = base.mark_image(
        width=width * right / entries.shape[1],
        height=height * bottom / entries.shape[0],
        align="left",
        baseline="top",
        smooth=False,
        aspect=False,
        clip=True,
    ).encode(url="url:N")
    legend = base.mark_point(opacity=0).encode(
        color=shades.channel("value", value, height)
    )  # an unseen mark carries it
    note = f"Drawn as an image: more than {CELLS} lines are too many to name"
    if max(blocks) > 1:
        note += f", and each pixel is the strongest of {blocks[0]}\u00a0×\u00a0{blocks[1]} values"
    chart = alt.layer(image, legend).properties(width=width, height=height)
    for name, words in zip(("names", "others"), names):
        chart = (
            chart.add_params(alt.param(name=name, value=words)) if words is not None and len(words) <= CELLS else chart
        )
    return chart, data, f"{note}. Pass a part, as in x[:{CELLS}, :{CELLS}], to read names and values."
