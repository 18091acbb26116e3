r"""t-SNE maps points of many dimensions to a plane, so that near ones stay near.

    p_j|i = exp(−‖x_i − x_j‖² / 2σ_i²) / Σ_k≠i exp(−‖x_i − x_k‖² / 2σ_i²)         p_ij = (p_j|i + p_i|j) / 2n
    q_ij = (1 + ‖y_i − y_j‖²)⁻¹ / Σ_k≠l (1 + ‖y_k − y_l‖²)⁻¹                      minimise KL(P ‖ Q) over y

σ_i is chosen so that each point has about ``perplexity`` neighbours: few show small groups, many the larger order; look
at several before you believe a map. Large distances, and the sizes of clusters, mean nothing (Wattenberg, Viégas and
Johnson 2016). van der Maaten and Hinton 2008; started from the first two principal components, which keeps more of the
whole (Kobak and Berens 2019). scikit-learn's up to a few thousand points, where it is the faster, openTSNE's above.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from torch import Tensor

from cutaway.extras import need
from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.scatters import scatter
from cutaway.look.embeddings.vector_index import unit
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short, visible

FEW = 3000  # rows up to which scikit-learn's t-SNE is the faster
_LEAST = 4  # rows


def tsne(
    matrix: Values,
    *,
    perplexity: float | None = None,
    by: Literal["cosine", "euclidean"] = "cosine",
    seed: int = 0,
) -> np.ndarray:
    """Places (rows, 2) of the rows of a matrix, the same for the same ``seed``.

    ``by`` cosine puts every row on the unit sphere first, where ‖x − y‖² = 2 − 2 cos(x, y). ``perplexity`` is 30, or a
    third of the other rows where these are few.
    """
    x = as_array("matrix", matrix, "rows", "dimensions").astype(np.float64)
    if by not in ("cosine", "euclidean"):
        raise ValueError(f"by must be cosine or euclidean, got {by!r}; pick one of these")
    if len(x) < _LEAST:
        raise ValueError(f"a t-SNE map needs at least {_LEAST} rows, got {len(x)}; draw so few with scatter or heatmap")
    if not np.isfinite(x).all():
        bad = int((~np.isfinite(x)).any(1).sum())
        raise ValueError(f"rows must be finite, got {bad} of {len(x)} with infinite numbers or NaN; leave these out")
    if by == "cosine":
        x = unit(x)
    if np.ptp(x, axis=0).max() == 0:
        raise ValueError(f"rows must differ, got {len(x)} that are all the same; there is nothing to map")
    perplexity = max(1.0, min(30.0, (len(x) - 1) / 3)) if perplexity is None else float(perplexity)
    if not 1 <= perplexity < len(x):
        raise ValueError(
            f"perplexity must be from 1 to below the number of rows, {len(x)}, got {perplexity:g}; "
            "leave it out for one that fits"
        )
    return _few(x, perplexity, seed) if len(x) <= FEW else _many(x, perplexity, seed)


def _few(x: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    manifold = need("sklearn.manifold", "words", "a t-SNE map")
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    start = "pca" if x.shape[1] > 1 else "random"
    # one thread: the sums of several come in any order, and rounding alone would make another map
    with threadpool_limits(1, user_api="openmp"):
        return manifold.TSNE(perplexity=perplexity, init=start, random_state=seed).fit_transform(x)


def _many(x: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    library = need("openTSNE", "words", f"a t-SNE map of more than {FEW:,} rows")
    start = "pca" if x.shape[1] > 1 else "random"
    model = library.TSNE(perplexity=perplexity, initialization=start, random_state=seed, n_jobs=1)
    return np.asarray(model.fit(x))


__all__ = ["FEW", "tsne"]

_WARNING = "Large distances, and the sizes of clusters, mean nothing."
_MAPS = 6  # side by side, at most
_WRITTEN = 200  # labels that are written on the map; more of them stand under the pointer


def embedding_map(
    matrix: Values,
    labels: Sequence[str] | None = None,
    groups: Values | None = None,
    *,
    perplexity: float | Sequence[float] | None = None,
    by: Literal["cosine", "euclidean"] = "cosine",
    seed: int = 0,
    title: str = "Map of the embeddings",
) -> Picture:
    """The rows of any matrix on a plane by t-SNE, with ``labels``, and coloured by ``groups``.

    Several numbers as ``perplexity`` make a map each, side by side: what all of them show is in the vectors.
    """
    x = as_array("matrix", matrix, "rows", "dimensions")
    for name, given in (("labels", labels), ("groups", groups)):
        if given is not None and len(given) != len(x):  # before minutes are spent on the map
            raise ValueError(f"{name} must be one for each of the {len(x)} rows, got {len(given)}; pass the same rows")
    plain = groups.tolist() if isinstance(groups, (Tensor, np.ndarray)) else groups
    angle = "angle" if by == "cosine" else "distance"
    if isinstance(perplexity, Sequence) and len(perplexity) > 1:
        maps = {float(one): tsne(x, perplexity=one, by=by, seed=seed) for one in perplexity}
        note = f"t-SNE of {len(x):,} rows of {x.shape[1]} numbers, by {angle}. {_WARNING}"
        return _side_by_side(maps, labels, plain, title, note)
    if isinstance(perplexity, Sequence):
        perplexity = perplexity[0] if perplexity else None
    places = tsne(x, perplexity=perplexity, by=by, seed=seed)
    written = labels is not None and len(x) <= _WRITTEN and len(set(plain or ())) <= len(CATEGORIES)
    picture = scatter(places, plain, labels=labels, written=written, title=title, axes=("t-SNE 1", "t-SNE 2"))
    about = "" if perplexity is None else f" at perplexity {perplexity:g}"
    picture.note = (
        f"{picture.note} t-SNE of {len(x):,} rows of {x.shape[1]} numbers, by {angle}{about}: near points are alike. "
        f"{_WARNING}"
    ).strip()
    return picture.captioned(
        "Points that lie together are alike to the model: look for groups that mean something to you."
    )


def _side_by_side(
    maps: Mapping[float, np.ndarray], labels: Sequence[str] | None, groups: Sequence[Any] | None, title: str, note: str
) -> Picture:
    """The maps of several perplexities as panels, each stretched to the same square."""
    import altair as alt

    if len(maps) > _MAPS:
        raise ValueError(f"one picture shows at most {_MAPS} perplexities, got {len(maps)}; make several pictures")
    names = sorted({str(group) for group in groups or ()})
    if len(names) > len(CATEGORIES):
        groups, names = None, []
        note += " There are more groups than colours, so all points have one."
    data: list[dict[str, Any]] = []
    for perplexity, places in maps.items():
        middle = (places.max(0) + places.min(0)) / 2
        square = (places - middle) / (np.ptp(places, axis=0).max() / 2)
        for i, (x, y) in enumerate(square.tolist()):
            row: dict[str, Any] = {"x": x, "y": y, "map": f"perplexity {perplexity:g}"}
            if labels is not None:
                row["label"] = visible(str(labels[i]), 60)
            if groups is not None:
                row["group"] = short(str(groups[i]), 24)
            data.append(row)
    panels = list(dict.fromkeys(row["map"] for row in data))
    columns = min(3, len(panels))
    blank = alt.Axis(labels=False, ticks=False, title=None, grid=False, domain=False)
    tips = [alt.Tooltip(f"{key}:N") for key in ("label", "group") if key in data[0]]
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_circle(size=26 if len(data) <= 500 * len(panels) else 10, opacity=0.8, aria=False)
        .encode(
            x=alt.X("x:Q", axis=blank, scale=alt.Scale(domain=[-1.06, 1.06], nice=False)),
            y=alt.Y("y:Q", axis=blank, scale=alt.Scale(domain=[-1.06, 1.06], nice=False)),
            **({"tooltip": tips} if tips else {}),
        )
        .properties(width=600 // columns - 14, height=600 // columns - 14)
    )
    if names:
        scale = alt.Scale(domain=[short(name, 24) for name in names], range=list(CATEGORIES[: len(names)]))
        chart = chart.encode(color=alt.Color("group:N", scale=scale, legend=alt.Legend(title="group", orient="bottom")))
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight=600, labelAnchor="start")
    faceted = chart.facet(facet=alt.Facet("map:N", sort=panels, header=header), columns=columns, spacing=12)
    words = f"Maps of the same {len(data) // len(panels):,} points by t-SNE at {', '.join(panels)}."
    caption = "What every map shows is in the vectors; what only one of them shows comes from its perplexity."
    return Picture(faceted, title, words, note, data, caption=caption)
