r"""Attention rollout joins the attention of all heads and layers into one map.

    Ã_l = (1 − r) A_l + r I                 A_l the mean (or largest) over heads, r what the residual stream keeps
    R_l = Ã_l R_{l−1},   R_0 = I            how much of token j is in position i after layer l

Rows of Ã add up to 1, and so do those of R: paths through the layers are counted by the product of their weights.
Abnar and Zuidema 2020, §3, with r = ½. Values are taken to mix as the weights do, and MLPs to leave tokens in their
place: rollout shows where information can have come from, not what the model made of it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from cutaway.look.attention.maps import attention_map
from cutaway.look.charts.arrays import Values, by_layer
from cutaway.look.pages.picture import Picture

_MERGES = {"mean": np.mean, "max": np.max, "min": np.min}

_CAPTION = "Each row shows which tokens have flowed into that position once all layers have passed."


def merged_attention(weights: Mapping[str, Values] | Values, heads: str = "mean") -> np.ndarray:
    """One map of all heads in all layers given: their "mean", "max" or "min", (queries, keys).

    ``weights`` are by layer, as a trace holds them, as in `attention_grid`.

    >>> merged_attention(np.array([[[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]]]), "max").tolist()
    [[1.0, 0.0], [0.5, 0.9]]
    """
    layers = by_layer(weights)
    _expect_one_shape(layers)
    return _merge(np.concatenate(list(layers.values())), heads)


def attention_rollout(weights: Mapping[str, Values] | Values, residual: float = 0.5, heads: str = "mean") -> np.ndarray:
    """R after every layer, (layers, tokens, tokens); the last is that of the whole model.

    ``residual`` is r, ``heads`` says how the heads of a layer are merged: "mean", "max" or "min".

    >>> attention_rollout(np.array([[[[1.0, 0.0], [0.5, 0.5]]]]))[-1].tolist()  # ½ A + ½ I
    [[1.0, 0.0], [0.25, 0.75]]
    """
    if not 0 <= residual <= 1:
        raise ValueError(f"residual must be a share from 0 to 1, got {residual}; try residual=0.5")
    layers = by_layer(weights)
    shape = _expect_one_shape(layers)
    if shape[0] != shape[1]:
        raise ValueError(f"a rollout needs the same queries as keys, got shape {shape}; use self-attention")
    rolled = [np.eye(shape[0])]
    for w in layers.values():
        mixed = (1 - residual) * _merge(w.astype(np.float64), heads) + residual * rolled[0]
        sums = mixed.sum(-1, keepdims=True)
        # the largest over heads adds up to more than 1, and a query that may look nowhere to less
        mixed = np.divide(mixed, sums, out=np.eye(shape[0]), where=sums > 0)
        rolled.append(mixed @ rolled[-1])
    return np.stack(rolled[1:])


def _merge(maps: np.ndarray, heads: str) -> np.ndarray:
    if heads not in _MERGES:
        raise ValueError(f"heads are merged by {', '.join(_MERGES)}, got {heads!r}; pick one of these")
    merged: np.ndarray = _MERGES[heads](maps, axis=0)  # type: ignore[operator]  # of numpy's overloads
    return merged


def _expect_one_shape(layers: dict[str, np.ndarray]) -> tuple[int, int]:
    shapes = {w.shape[1:] for w in layers.values()}
    if len(shapes) > 1:
        raise ValueError(
            f"layers that are merged must have as many queries and keys, got {', '.join(map(str, sorted(shapes)))}; "
            "pass the layers of one kind of attention"
        )
    return shapes.pop()


def rollout_map(
    weights: Mapping[str, Values] | Values,
    tokens: Sequence[str] | None = None,
    *,
    residual: float = 0.5,
    heads: str = "mean",
    title: str = "Attention rollout",
) -> Picture:
    """The rollout of all layers given, as one map; `attention_rollout` says what the arguments are.

    Rows are the positions that read, columns the tokens that went into them.
    """
    rolled = attention_rollout(weights, residual, heads)
    picture = attention_map(rolled[-1], tokens, title=title).captioned(_CAPTION)
    through = "1 layer" if len(rolled) == 1 else f"{len(rolled)} layers"
    merged = {"mean": "mean", "max": "largest", "min": "smallest"}[heads]
    picture.note = (
        f"Through {through}, each the {merged} of its heads, with {100 * residual:.3g}\u00a0% kept by the residual "
        f"stream. {picture.note}"
    )
    return picture
