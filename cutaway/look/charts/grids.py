r"""A grid of coloured cells with a word or a number in each.

Where the cells would be too narrow for words, the colours and the tooltips remain.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.heatmaps import CELLS, Shades
from cutaway.look.style.colours import ink_on
from cutaway.look.style.wording import short, visible

_WIDE = 1000  # of a grid, at most
_LETTER = 6.1  # width of one, in the font of the cells
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
Words = Sequence[Sequence[str]]


def in_cells(values: np.ndarray, decimals: int) -> list[list[str]]:
    """Numbers as they are written in cells; 0 in place of 0.00.

    >>> in_cells(np.array([[1.0, -0.004, -0.25]]), 2)
    [['1.00', '0', '−0.25']]
    """
    shown = lambda x: "0" if abs(x) < 0.5 * 10**-decimals else f"{x:.{decimals}f}".replace("-", "−")
    return [[shown(x) for x in line] for line in values.tolist()]


def fits_a_grid(values: np.ndarray) -> bool:
    """Whether there are few enough lines to name them."""
    return max(values.shape) <= CELLS


def grid_chart(
    values: np.ndarray,
    words: Words,
    names: tuple[Sequence[str], Sequence[str]],
    axes: tuple[str, str],
    shades: Shades,
    value: str,
    tips: Mapping[str, Words] | None = None,
    data: str = "rows",
) -> tuple[Any, list[dict[str, Any]]]:
    """The chart and its rows: ``values`` give the colours, ``words`` stand in the cells, ``tips`` under the pointer."""
    import altair as alt

    shown = [[visible(word, 10) for word in line] for line in words]
    longest = max(len(word) for line in shown for word in line)
    room = int((_WIDE / values.shape[1] - 6) / _LETTER)
    letters = min(longest, room)
    readable = letters >= min(longest, 4)
    side = max(26, int(letters * _LETTER) + 8) if readable else max(12, _WIDE // values.shape[1])
    extra = list((tips or {}).items())
    rows = []
    for i, line in enumerate(values.tolist()):
        for j, x in enumerate(line):
            share = (x - shades.low) / (shades.high - shades.low) if x == x else 0.0
            cell = {"row": i, "column": j, "value": x, "dark": ink_on(share, shades.colours) == "#FFFFFF"}
            if readable:
                cell["word"] = visible(words[i][j], letters)
            rows.append(cell | {f"tip{k}": visible(tip[i][j], 80) for k, (_, tip) in enumerate(extra)})

    def axis(which: int, angle: int) -> dict[str, Any]:
        # names by place from a list, as two of them may be the same
        look = alt.Axis(
            title=axes[which],
            labelExpr=f"{data}_{'xy'[1 - which]}[datum.value]",
            labelAngle=angle,
            labelOverlap=False,
            ticks=False,
            domain=False,
            grid=False,
            labelFont=MONO,
            labelFontSize=11 if side >= 14 or not which else 9,
        )
        return dict(axis=look, scale=alt.Scale(domain=list(range(values.shape[which]))))

    lines = [[short(name, 16) for name in given] for given in names]
    upright = all(len(name) * 6.7 <= side for name in lines[1])
    base = (
        alt.Chart(alt.NamedData(data))
        .transform_calculate(at=f"{data}_y[datum.row]", of=f"{data}_x[datum.column]")
        .transform_filter("isValid(datum.value)")
        .encode(
            x=alt.X("column:O", **axis(1, 0 if upright else -90)),
            y=alt.Y("row:O", **axis(0, 0)),
            tooltip=[
                alt.Tooltip("at:N", title=axes[0]),
                alt.Tooltip("of:N", title=axes[1]),
                alt.Tooltip("value:Q", title=value, format=".4~g"),
                *(alt.Tooltip(f"tip{k}:N", title=title) for k, (title, _) in enumerate(extra)),
            ],
        )
    )
    cells = base.mark_rect(aria=False).encode(color=shades.channel("value", value, max(120, 24 * values.shape[0])))
    layers = [cells]
    if readable:
        ink = alt.condition("datum.dark", alt.value("#FFFFFF"), alt.value("#000000"))
        layers.append(base.mark_text(font=MONO, fontSize=10, aria=False).encode(text="word:N", color=ink))
    chart = (
        alt.layer(*layers)
        .properties(width=alt.Step(side), height=alt.Step(24))
        .add_params(alt.param(name=f"{data}_y", value=lines[0]), alt.param(name=f"{data}_x", value=lines[1]))
    )
    return chart, rows
