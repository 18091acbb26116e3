r"""Where a transformer looks in an image: the attention weights of one token over the patches, drawn on the image.

a_p = weight that the class token gives to patch p,   drawn as a_p / max a over the patch's pixels
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.overlays import tinted
from cutaway.look.pages.picture import Picture

_HEADS, _LAYERS = 8, 8


def patch_attention(
    image: Any, weights: Mapping[str, Values], grid: tuple[int, int], *, query: int = 0, title: str = ""
) -> Picture:
    """``weights`` (heads, tokens, tokens) by layer, of an image cut into ``grid`` rows and columns of patches.

    The patches are the last tokens; ``query`` is the token whose attention is drawn, by default the first: CLS.
    """
    images: list[Any] = []
    rows = []
    heads = 0
    chosen = list(weights.items())
    chosen = [chosen[i] for i in np.unique(np.linspace(0, len(chosen) - 1, min(_LAYERS, len(chosen))).astype(int))]
    for layer, values in chosen:
        w = as_array(layer, values, "head", "query", "key")
        patches = grid[0] * grid[1]
        if w.shape[-1] < patches or not 0 <= query < w.shape[1]:
            raise ValueError(
                f"there must be a token for each of {patches} patches, and one with number {query}, got weights of "
                f"shape {w.shape} at {layer!r}; give the grid of the patches"
            )
        heads = min(_HEADS, len(w))
        looked = w[:heads, query, -patches:].reshape(heads, *grid)
        images += [image, *(tinted(image, one / max(float(one.max()), 1e-300)) for one in looked)]
        rows.append(f"layer {list(weights).index(layer)}")
    return image_grid(
        images,
        title=title or "Where each head looks in the image",
        columns=heads + 1,
        rows=rows,
        heads=["image", *(f"head {i}" for i in range(heads))],
        cell=84,
        alt=f"Attention of {len(rows)} layers and {heads} heads over {grid[0]} × {grid[1]} patches of an image.",
        caption="The more orange a patch, the more weight the token that the class is read from gives it: heads that "
        "light up different parts gather different things.",
    )


__all__ = ["patch_attention"]
