r"""A map of an embedding matrix: what the model takes for alike lies together. How it is made: projections.py."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from torch import Tensor

from cutaway.look.arrays import Values, as_array
from cutaway.look.colours import CATEGORIES
from cutaway.look.picture import Picture
from cutaway.look.projections import tsne
from cutaway.look.views.maps import scatter

_WRITTEN = 200  # labels that are written on the map; more of them stand under the pointer


def embedding_map(
    matrix: Values,
    labels: Sequence[str] | None = None,
    groups: Values | None = None,
    *,
    perplexity: float | None = None,
    by: Literal["cosine", "euclidean"] = "cosine",
    seed: int = 0,
    title: str = "Map of the embeddings",
) -> Picture:
    """The rows of any matrix on a plane by t-SNE, with ``labels``, and coloured by ``groups``."""
    x = as_array("matrix", matrix, "rows", "dimensions")
    for name, given in (("labels", labels), ("groups", groups)):
        if given is not None and len(given) != len(x):  # before minutes are spent on the map
            raise ValueError(f"{name} must be one for each of the {len(x)} rows, got {len(given)}; pass the same rows")
    places = tsne(x, perplexity=perplexity, by=by, seed=seed)
    plain = groups.tolist() if isinstance(groups, (Tensor, np.ndarray)) else groups
    written = labels is not None and len(x) <= _WRITTEN and len(set(plain or ())) <= len(CATEGORIES)
    picture = scatter(places, plain, labels=labels, written=written, title=title, axes=("t-SNE 1", "t-SNE 2"))
    angle = "angle" if by == "cosine" else "distance"
    picture.note = (
        f"{picture.note} t-SNE of {len(x):,} rows of {x.shape[1]} numbers, by {angle}: near points are alike; "
        "distances between clusters, and their sizes, mean little."
    ).strip()
    return picture
