r"""Attention maps: pictures of the weights, which show where each query looks.

    A = softmax(Q Kᵀ / √d),   A[i, j] = the share of key j in what query i takes

Rows are queries and add up to 1. Notes: N0 §2.2, N3 §5.5.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cutaway.look.attention.heads import head_scores
from cutaway.look.charts.arrays import Values, as_array, by_layer
from cutaway.look.charts.heatmaps import Shades, heatmap
from cutaway.look.charts.rasters import image_url, levels_of, strongest
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import MAGNITUDE

_PANEL = 128  # pixels of one head in a grid, at most
_PANELS = 24 * 24  # heads in one grid, at most
_ROOT = "Colours follow the square root of the weight, so that small ones show."

_CAPTION = (
    "Bright cells are keys that a query looks at: a line beside the diagonal is the token before, a column one token "
    "that all look at."
)


def attention_map(
    weights: Values,
    tokens: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    *,
    title: str = "Attention",
) -> Picture:
    """One head: ``weights`` (queries, keys), ``tokens`` of the keys, and of the ``queries`` where they are others."""
    entries = as_array("weights", weights, "queries", "keys")
    _expect_tokens("tokens", tokens, entries.shape[1], "keys")
    if queries is None and tokens is not None:
        if entries.shape[0] != entries.shape[1]:
            raise ValueError(
                f"queries must be given where they are not the keys, got weights of shape {entries.shape} with tokens "
                f"for the {entries.shape[1]} keys only; pass queries="
            )
        queries = tokens
    _expect_tokens("queries", queries, entries.shape[0], "queries")
    picture = heatmap(entries, queries, tokens, title=title, value="weight", axes=("query", "key"), root=True)
    return picture.captioned(_CAPTION)


def attention_grid(
    weights: Mapping[str, Values] | Values,
    tokens: Sequence[str] | None = None,
    *,
    title: str = "Attention of every head",
) -> Picture:
    """All heads of all layers, each a small map: queries from the top down, keys from left to right.

    ``weights`` are by layer, as a trace holds them: address → (heads, queries, keys). With ``tokens`` the scores under
    the pointer include induction.
    """
    import altair as alt

    layers = by_layer(weights)
    heads = max(len(w) for w in layers.values())
    if len(layers) * heads > _PANELS:
        raise ValueError(
            f"a grid shows at most {_PANELS} heads, got {len(layers)} layers of up to {heads}; pass fewer layers"
        )
    most = max(Shades.of(w).high for w in layers.values())
    data: list[dict[str, Any]] = []
    units: dict[str, str] = {}
    for layer, w in layers.items():
        _expect_tokens("tokens", tokens, w.shape[2], "keys")
        scores = head_scores(w, tokens) if w.shape[1] == w.shape[2] else {}
        units |= {name: score.unit for name, score in scores.items()}
        blocks = [-(-n // _PANEL) for n in w.shape[1:]]
        for head, entries in enumerate(w):
            url = image_url(levels_of(strongest(entries, *blocks), 0, most, root=True))
            row = {"layer": layer, "head": head, "url": url, "most": most}
            data.append(row | {name: score.values[head] for name, score in scores.items()})
    side = max(28, min(96, 600 // heads))
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)),
        y=alt.Y("layer:N", title="layer", sort=None, axis=alt.Axis(ticks=False, domain=False)),
    )
    tips = [
        alt.Tooltip("layer:N"),
        alt.Tooltip("head:O"),
        *(alt.Tooltip(f"{name}:Q", title=f"{name} {unit}".strip(), format=".3~g") for name, unit in units.items()),
    ]
    images = base.mark_image(width=side - 4, height=side - 4, smooth=False, aspect=False).encode(url="url:N")
    # an invisible layer carries the legend and the tooltips
    shades = Shades(MAGNITUDE, 0.0, most, root=True)
    unseen = base.mark_rect(opacity=0).encode(color=shades.channel("most", "weight", side * len(layers)), tooltip=tips)
    chart = alt.layer(images, unseen).properties(width=alt.Step(side), height=alt.Step(side))
    sizes = ", ".join(f"{q} × {k}" for q, k in sorted({w.shape[1:] for w in layers.values()}))
    note = f"Each square is one head, {sizes} tokens: queries from the top down, keys from left to right. {_ROOT}"
    if max(max(w.shape[1:]) for w in layers.values()) > _PANEL:
        note += " Each pixel is the strongest of a block of weights."
    words = f"Attention maps of {len(data)} heads in {len(layers)} layers, {sizes} tokens each."
    return Picture(chart, title, words, note, data, caption=_CAPTION)


def _expect_tokens(name: str, tokens: Sequence[str] | None, count: int, of: str) -> None:
    if tokens is not None and len(tokens) != count:
        raise ValueError(
            f"{name} must name each of the {count} {of}, got {len(tokens)}; decode the tokens that the model was "
            "given, one by one"
        )
