r"""Direct logit attribution as a picture: bars for the parts of the model, and a grid of its heads."""

import math

import numpy as np

from cutaway.look.colours import SIGNED
from cutaway.look.contributions import Contributions
from cutaway.look.picture import Picture
from cutaway.look.views.bars import bar_chart
from cutaway.look.views.grids import fits_a_grid, grid_chart, in_cells
from cutaway.look.views.matrices import Shades
from cutaway.look.wording import number, quoted


def contribution_map(contributions: Contributions, *, title: str = "Who wrote the logit") -> Picture:
    """The parts that add up to a logit, or to the difference of two, in bars; and the heads, each by itself."""
    import altair as alt

    c = contributions
    parts = {name: value for name, value in c.by_part().items() if name != "positions" or value}
    asked = f"the logit of {quoted(c.answer)}" + ("" if c.wrong is None else f" over {quoted(c.wrong)}")
    bars, bar_rows = bar_chart(parts, "written towards it (logits)", data="parts")
    charts, data = [bars], {"parts": bar_rows}
    if fits_a_grid(c.heads):
        most = float(np.abs(c.heads).max()) or 1.0
        names = tuple([str(i) for i in range(n)] for n in c.heads.shape)
        words = in_cells(c.heads, min(max(2 - math.floor(math.log10(most)), 0), 5))
        shades = Shades(SIGNED, -most, most)
        grid, data["heads"] = grid_chart(
            c.heads, words, (names[0], names[1]), ("layer", "head"), shades, "logits", data="heads"
        )
        charts.append(grid.properties(title=alt.TitleParams("Heads", fontSize=12, fontWeight="normal", offset=6)))
    chart = alt.hconcat(*charts, spacing=40).resolve_scale(color="independent")
    layer, head = np.unravel_index(np.abs(c.heads).argmax(), c.heads.shape)
    largest = f"The strongest head is {head} of layer {layer}: {number(float(c.heads[layer, head]), 3)}."
    note = (
        f"Parts of {asked}, {number(c.total)}, to which they add up: what each wrote into the residual stream, read "
        f"by the unembedding with the scale of the last norm kept. {largest}"
    )
    return Picture(chart, title, f"Bars: {len(parts)} parts of {asked}, {number(c.total)}. {largest}", note, data)
