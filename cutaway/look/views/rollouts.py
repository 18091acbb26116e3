r"""Attention rolled out through the layers: which tokens have gone into each position; defined in ../rollouts.py."""

from collections.abc import Mapping, Sequence

from cutaway.look.arrays import Values
from cutaway.look.picture import Picture
from cutaway.look.rollouts import attention_rollout
from cutaway.look.views.attention import attention_map


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
    picture = attention_map(rolled[-1], tokens, title=title)
    through = "1 layer" if len(rolled) == 1 else f"{len(rolled)} layers"
    how = {"mean": "mean", "max": "largest", "min": "smallest"}[heads]
    picture.note = (
        f"Through {through}, each the {how} of its heads, with {100 * residual:.3g}\u00a0% kept by the residual "
        f"stream. {picture.note}"
    )
    return picture
