r"""The spectrum of a graph, and its first eigenvectors as signals over the vertices.

Small eigenvalues before a wide step are as many as there are clusters. The first eigenvector is constant; the next ones
are waves over the graph, each a little faster: vertices that are joined have like colours.
"""

from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES, SIGNED
from cutaway.look.style.wording import number

_POINTS = 3000  # vertices of a panel, at most


def spectrum_picture(
    values: Values, *, clusters: int | None = None, converged: Values | None = None, title: str = "Spectrum"
) -> Picture:
    """The eigenvalues of a Laplacian, smallest first; ``clusters`` marks the step after as many."""
    import altair as alt

    spectrum = as_array("values", values, "eigenvalues").astype(np.float64)
    sure = np.ones(len(spectrum), bool) if converged is None else as_array("converged", converged, "eigenvalues") > 0
    rows: list[dict[str, Any]] = [
        {"k": k + 1, "value": value, "state": "converged" if done else "not converged"}
        for k, (value, done) in enumerate(zip(spectrum.tolist(), sure.tolist(), strict=True))
    ]
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("k:Q", title="eigenvalue, by size", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
        y=alt.Y("value:Q", title="λ"),
    )
    colours = alt.Scale(domain=["converged", "not converged"], range=[CATEGORIES[0], CATEGORIES[1]])
    legend = None if sure.all() else alt.Legend(orient="top", title=None)
    dots = base.mark_point(size=70, filled=True, aria=False).encode(
        color=alt.Color("state:N", scale=colours, legend=legend),
        tooltip=[alt.Tooltip("k:Q"), alt.Tooltip("value:Q", title="λ", format=".4~g"), alt.Tooltip("state:N")],
    )
    layers = [base.mark_line(strokeWidth=1, opacity=0.4, aria=False), dots]
    caption = "Small eigenvalues before a wide step are as many as the graph has clusters."
    if clusters is not None and 1 <= clusters < len(spectrum):
        at = alt.Chart(alt.NamedData("gap"))
        layers.append(at.mark_rule(strokeDash=[5, 4], aria=False).encode(x="x:Q"))
        words_at = at.mark_text(align="left", dx=6, dy=8, baseline="top", aria=False)
        layers.append(words_at.encode(x="x:Q", y=alt.value(0), text="words:N"))
        step = spectrum[clusters] - spectrum[clusters - 1]
        told = f"After {clusters} eigenvalues comes a step of {number(step, 3)}"
        caption = f"{told}: the wider, the clearer the {clusters} clusters."
    gap = [{"x": (clusters or 0) + 0.5, "words": f"{clusters} clusters"}]
    chart = alt.layer(*layers).properties(width=420, height=260)
    zeros = int((spectrum <= 1e-9 * max(float(spectrum.max()), 1e-300)).sum())
    words = f"Eigenvalues from {number(spectrum[0], 3)} to {number(spectrum[-1], 3)}, {zeros} of {len(spectrum)} are 0."
    return Picture(chart, title, words, "", {"rows": rows, "gap": gap}, caption=caption, fills=True)


def eigenvector_picture(
    vectors: Values, places: Values, *, values: Values | None = None, first: int = 6, title: str = "First eigenvectors"
) -> Picture:
    """The first eigenvectors (vertices, k), each as colours of the vertices at their ``places`` (vertices, 2)."""
    import altair as alt

    q = as_array("vectors", vectors, "vertices", "eigenvectors").astype(np.float64)
    xy = as_array("places", places, "vertices", "2").astype(np.float64)
    if xy.shape != (len(q), 2):
        raise ValueError(f"places must have shape ({len(q)}, 2), got {xy.shape}; give two coordinates a vertex")
    count = min(first, q.shape[1])
    spectrum = None if values is None else as_array("values", values, "eigenvalues")
    chosen = np.arange(len(q))
    note = ""
    if len(q) > _POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(len(q), _POINTS, replace=False))
        note = f"Of {len(q):,} vertices {_POINTS:,} are drawn."
    rows = []
    panels = []
    for k in range(count):
        panel = f"q{k + 1}" + (f", λ = {number(float(spectrum[k]), 3)}" if spectrum is not None else "")
        panels.append(panel)
        top = max(float(np.abs(q[:, k]).max()), 1e-12)
        shades = (q[chosen, k] / top).tolist()
        rows += [
            {"x": x, "y": y, "value": shade, "panel": panel}
            for (x, y), shade in zip(xy[chosen].tolist(), shades, strict=True)
        ]
    size = 40 if len(chosen) <= 100 else 18 if len(chosen) <= 600 else 7
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_point(
            filled=True, size=size, opacity=1, stroke="#57606A", strokeWidth=0.3 if size > 10 else 0, aria=False
        )
        .encode(
            x=alt.X("x:Q", axis=None, scale=alt.Scale(zero=False, padding=8)),
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(zero=False, padding=8)),
            color=alt.Color("value:Q", title="beside the largest", scale=alt.Scale(domain=[-1, 1], range=list(SIGNED))),
            tooltip=[alt.Tooltip("panel:N"), alt.Tooltip("value:Q", format=".3~g")],
        )
        .properties(width=190, height=190)
        .facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=3)
    )
    words = f"The first {count} eigenvectors of a graph of {len(q):,} vertices, as colours of the vertices."
    caption = (
        "Each panel is a wave over the graph, blue below zero and red above; later ones change faster along edges."
    )
    return Picture(chart, title, words, note, rows, caption=caption)


__all__ = ["eigenvector_picture", "spectrum_picture"]
