r"""Pictures of position embeddings: how similar the vectors of any two positions are.

    S_ij = P_i·P_j / (‖P_i‖ ‖P_j‖)

For sinusoids of width w it depends on the distance alone (posemb in blocks/positions/sinusoidal.py):

    S_ij = (2/w) Σ_k cos((i − j) / 10000^{2k/w})

because sin a sin b + cos a cos b = cos(a − b), and every ‖P_i‖² = w/2. For learned positions it may not.
Wang and Chen 2020.
"""

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.embeddings.vector_index import unit
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES


def cosines(positions: Values) -> np.ndarray:
    """The cosine of every pair of rows, (positions, positions).

    >>> cosines([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]).round(4).tolist()
    [[1.0, 0.7071, 0.0], [0.7071, 1.0, 0.7071], [0.0, 0.7071, 1.0]]
    """
    x = unit(as_array("positions", positions, "positions", "dimensions").astype(np.float64))
    return x @ x.T


def position_similarity(positions: Values, *, title: str = "How alike positions are") -> Picture:
    """The cosine of every pair of positions, the rows of ``positions``, as a heat map."""
    picture = heatmap(cosines(positions), title=title, value="cosine", axes=("position", "position"))
    return picture.captioned(
        "A band along the diagonal means that near positions are alike: the model has learned what near is."
    )


def position_profile(positions: Values, *, title: str = "How alike positions are, by their distance") -> Picture:
    """The mean cosine of positions that are d apart, and the band from the least to the greatest.

    For sinusoids the band has no width: their cosine depends on the distance alone.
    """
    import altair as alt

    similarity = cosines(positions)
    data = []
    for d in range(len(similarity)):
        at = np.diagonal(similarity, d)
        data.append({"distance": d, "mean": at.mean(), "low": at.min(), "high": at.max()})
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("distance:Q", title="distance (positions)", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    )
    band = base.mark_area(opacity=0.25, color=CATEGORIES[0], aria=False).encode(
        y=alt.Y("low:Q", title="cosine", scale=alt.Scale(zero=False)), y2="high:Q"
    )
    line = base.mark_line(color=CATEGORIES[0], aria=False, point=len(data) <= 30).encode(
        y="mean:Q",
        tooltip=["distance:Q", *(alt.Tooltip(f"{name}:Q", format=".4~f") for name in ("mean", "low", "high"))],
    )
    widest = max(data, key=lambda row: row["high"] - row["low"])
    spread = float(widest["high"] - widest["low"])
    words = (
        f"Line of the mean cosine of {len(similarity)} positions by distance; pairs of one distance differ by up to "
        f"{spread:.2g} (distance {widest['distance']})."
    )
    note = "The line is the mean over all pairs that far apart, the band goes from the least to the greatest of them."
    chart = alt.layer(band, line).properties(width=560, height=240)
    caption = "A curve that falls means that near positions are alike; a thin band, that the distance alone counts."
    return Picture(chart, title, words, note, data, caption=caption, fills=True)
