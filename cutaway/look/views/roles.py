r"""What every head of a model does, in four heat maps of layers by heads; the numbers are defined in heads.py."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.arrays import Values, by_layer
from cutaway.look.colours import MAGNITUDE, ink_on
from cutaway.look.heads import Score, head_scores
from cutaway.look.picture import Picture
from cutaway.look.views.matrices import legend_of
from cutaway.look.wording import number

_TITLES = {
    "entropy": "Entropy (nats)",
    "distance": "Mean distance (tokens)",
    "previous": "Weight on the previous token",
    "induction": "Weight after an earlier copy",
}


def head_summary(
    weights: Mapping[str, Values] | Values,
    tokens: Sequence[str] | Sequence[int] | None = None,
    *,
    title: str = "What the heads do",
) -> Picture:
    """Entropy, distance, previous-token and induction scores of all heads; ``weights`` as in `attention_grid`."""
    import altair as alt

    layers = {layer: head_scores(w, tokens) for layer, w in by_layer(weights).items()}
    names = list(next(iter(layers.values())))
    panels, data = [], {}
    for name in names:
        scores = {layer: found[name] for layer, found in layers.items()}
        data[name] = _rows(scores)
        panels.append(_panel(name, max(len(s.values) for s in scores.values()), _most(scores.values()), len(names) > 2))
    chart = alt.concat(*panels, columns=2, spacing={"row": 28, "column": 36}).resolve_scale(color="independent")
    heads = sum(len(s["entropy"].values) for s in layers.values())
    strongest = "; ".join(_strongest(name, data[name]) for name in names[1:])
    note = "" if "induction" in names else "Induction scores need the tokens: pass tokens=."
    if "induction" in names and all(row["score"] is None or row["score"] != row["score"] for row in data["induction"]):
        note = "No token occurs twice, so there is nothing to find after an earlier copy: that panel is empty."
    return Picture(chart, title, f"Scores of {heads} heads in {len(layers)} layers. Largest {strongest}.", note, data)


def _most(scores: Any) -> float:
    scores = list(scores)
    if scores[0].most is not None:
        return scores[0].most
    finite = np.concatenate([s.values[np.isfinite(s.values)] for s in scores])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0


def _rows(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    most = _most(scores.values())
    return [
        {
            "layer": layer,
            "head": head,
            "score": value,
            "dark": ink_on(value / most if value == value else 0.0) == "#FFFFFF",
        }
        for layer, score in scores.items()
        for head, value in enumerate(score.values.tolist())
    ]


def _strongest(name: str, rows: list[dict[str, Any]]) -> str:
    found = [row for row in rows if row["score"] == row["score"]]
    if not found:
        return f"{name}: none"
    best = max(found, key=lambda row: row["score"])
    return f"{name}: {number(best['score'], 2)} at layer {best['layer']}, head {best['head']}"


def _panel(name: str, heads: int, most: float, paired: bool) -> Any:
    import altair as alt

    side = max(14, min(44, (260 if paired else 480) // heads))
    base = alt.Chart(
        alt.NamedData(name), title=alt.TitleParams(_TITLES[name], fontSize=12, fontWeight="normal", offset=6)
    )
    x = alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, ticks=False, domain=False))
    y = alt.Y("layer:N", title="layer", sort=None, axis=alt.Axis(ticks=False, domain=False))
    shade = alt.Scale(domain=[0, most], range=list(MAGNITUDE), interpolate="rgb")
    tips = [alt.Tooltip("layer:N"), alt.Tooltip("head:O"), alt.Tooltip("score:Q", title=_TITLES[name], format=".3~g")]
    cells = (
        base.transform_filter("isValid(datum.score)")
        .mark_rect(aria=False)
        .encode(
            x=x,
            y=y,
            tooltip=tips,
            color=alt.Color("score:Q", title=None, scale=shade, legend=legend_of(110)),
        )
    )
    layers = [cells]
    if side >= 30:  # room for the numbers themselves
        words = cells.mark_text(fontSize=10, aria=False).encode(
            text=alt.Text("score:Q", format=".1f" if name == "distance" else ".2f"),
            color=alt.condition("datum.dark", alt.value("#FFFFFF"), alt.value("#000000")),
        )
        layers.append(words)
    return alt.layer(*layers).properties(width=alt.Step(side), height=alt.Step(max(14, min(side, 30))))
