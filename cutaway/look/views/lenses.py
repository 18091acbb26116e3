r"""The logit lens as a map: layers from the top down, positions from left to right, the likeliest token in a cell."""

import numpy as np

from cutaway.look.lenses import Lens
from cutaway.look.picture import Picture
from cutaway.look.views.grids import fits_a_grid, grid_chart
from cutaway.look.views.matrices import Shades, heatmap
from cutaway.look.wording import number, quoted, visible

_VALUES = {
    "probability": ("probability", "the probability of the likeliest token"),
    "entropy": ("entropy (nats)", "how undecided the prediction is"),
    "rank": ("rank (log 10)", "the rank of the token that the whole model puts first, 0 where it is first already"),
    "follows": ("probability", "the probability of the token that follows in the text"),
}


def lens_map(
    lens: Lens, value: str = "probability", *, positions: slice = slice(None), title: str = "Logit lens"
) -> Picture:
    """What the model would predict after each layer. ``positions`` chooses a part of a long text.

    Colours show the "probability" of that token, the "entropy" of the prediction, the "rank" of the token that the
    whole model puts first, or the probability of the token that "follows" in the text.
    """
    if value not in _VALUES:
        raise ValueError(f"a lens shows {', '.join(_VALUES)}, got {value!r}; pick one of these")
    shown = {
        "probability": lens.probability[..., 0],
        "entropy": lens.entropy,
        "rank": np.log10(lens.rank),
        "follows": lens.follows,
    }[value][:, positions]
    if not shown.size:
        raise ValueError(f"positions must hold at least one of the {len(lens.tokens)}, got {positions}; widen it")
    tokens = [f"{visible(token, 9)}" for token in lens.tokens[positions]]
    legend, meaning = _VALUES[value]
    final = quoted(lens.words[-1][positions][-1][0])
    end = f"The last row is the model's own prediction; after the last token it is {final}."
    if not fits_a_grid(shown):
        picture = heatmap(shown, None, None, title=title, value=legend, axes=("layers passed", "position"))
        picture.note = f"Colours: {meaning}. {end} {picture.note} Or choose positions=slice(0, 32)."
        return picture
    most = 1.0 if value in ("probability", "follows") else float(np.nanmax(shown)) or 1.0
    if np.isnan(shown).all():
        raise ValueError("the last token has none that follows, got positions with that one only; choose another value")
    shades = Shades(Shades.of(np.abs(np.nan_to_num(shown))).colours, 0.0, most)
    words = [[best[0] for best in line[positions]] for line in lens.words]
    places = range(lens.top.shape[-1])
    tips = {
        f"{place + 1}.": [
            [f"{visible(best[place], 24)}  {number(float(p[place]), 3)}" for best, p in zip(line, row)]
            for line, row in zip((w[positions] for w in lens.words), lens.probability[:, positions])
        ]
        for place in places
    }
    axes = ("after layer", "token read")
    chart, rows = grid_chart(shown, words, (lens.layers, tokens), axes, shades, legend, tips)
    where = "In each cell" if "word" in rows[0] else "Under the pointer, for want of room,"
    note = f"{where} the likeliest next token if the model stopped there. Colours: {meaning}. {end}"
    alt = f"Logit lens: the likeliest next token at {shown.shape[1]} positions after {shown.shape[0] - 1} layers. {end}"
    return Picture(chart, title, alt, note, rows)
