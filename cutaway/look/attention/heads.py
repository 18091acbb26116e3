r"""Four scores that describe an attention head: a_ij is the weight that query i gives to key j, x_i its token.

    entropy        mean over i of −Σ_j a_ij log a_ij       0: one key only; log n: all n alike
    distance       mean over i of Σ_j a_ij |i − j|         how far it looks, in tokens
    previous       mean over i of a_i,i−1                  1: always the token before
    induction      mean over i of Σ_j a_ij [x_j−1 = x_i]   1: always what followed the same token earlier

Queries that may look nowhere (a row of zeros) are left out of every mean, and those without an earlier copy of their
token out of the last. Induction: the prefix matching score of Olsson et al. 2022. Notes: N3 §5.5–5.6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array, by_layer
from cutaway.look.charts.heatmaps import legend_of
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import MAGNITUDE, ink_on
from cutaway.look.style.wording import number


@dataclass(frozen=True)
class Score:
    """A score with one number for each head, its unit, and the end of its scale (None: the largest number)."""

    values: np.ndarray
    unit: str
    most: float | None


def head_scores(weights: Values, tokens: Sequence[str] | Sequence[int] | None = None) -> dict[str, Score]:
    """The scores of each head of one layer: ``weights`` (heads, tokens, tokens). Induction needs the ``tokens``.

    >>> scores = head_scores(np.full((1, 4, 4), 0.25))
    >>> round(float(scores["entropy"].values[0]), 4)  # log 4
    1.3863
    """
    a = as_array("weights", weights, "heads", "queries", "keys").astype(np.float64)
    n = a.shape[-1]
    if a.shape[1] != n:
        raise ValueError(
            f"a head's scores need the same queries as keys, got shape {a.shape}; use self-attention without a cache"
        )
    if tokens is not None and len(tokens) != n:
        raise ValueError(
            f"tokens must name each of the {n} keys, got {len(tokens)}; pass those that the model was given"
        )
    looks = a.sum(-1) > 0
    at = np.arange(n)
    logs = np.log(a, out=np.zeros_like(a), where=a > 0)
    before = np.concatenate([np.zeros_like(a[:, :1, 0]), np.diagonal(a, offset=-1, axis1=1, axis2=2)], axis=1)
    scores = {
        "entropy": Score(_mean(-(a * logs).sum(-1), looks), "nats", None),
        "distance": Score(_mean((a * np.abs(at[:, None] - at)).sum(-1), looks), "tokens", None),
        "previous": Score(_mean(before, looks & (at > 0)), "", 1.0),
    }
    if tokens is not None:
        follows = after_a_copy(tokens)
        scores["induction"] = Score(_mean((a * follows).sum(-1), looks & follows.any(-1)), "", 1.0)
    return scores


def after_a_copy(tokens: Sequence[str] | Sequence[int]) -> np.ndarray:
    """True at (i, j) where j comes right after an earlier token that is the same as token i.

    >>> after_a_copy("aba").astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    """
    names = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    x = np.array([names[token] for token in tokens])
    n = len(x)
    follows = np.zeros((n, n), dtype=bool)
    follows[:, 1:] = x[:, None] == x[None, :-1]
    return follows & (np.arange(n)[None, :] <= np.arange(n)[:, None])


def _mean(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Mean over the queries that count; NaN where there are none."""
    counts = counted.sum(-1)
    sums = np.where(counted, values, 0).sum(-1)
    return np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)


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
    caption = "Look for single bright cells: a head that always looks one token back, or at what came next earlier."
    words = f"Scores of {heads} heads in {len(layers)} layers. Largest {strongest}."
    return Picture(chart, title, words, note, data, caption=caption)


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
