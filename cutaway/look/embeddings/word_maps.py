r"""Pictures of words by their vectors: how alike any two are, and a map with groups of words that point alike.

    S_ab = v_a·v_b / (‖v_a‖ ‖v_b‖)
    groups: c_k ← Σ_{w in group k} v_w / ‖…‖,  w joins the k with the largest v_w·c_k        (of unit vectors)

Groups: spherical k-means, Dhillon and Modha 2001; the first centres are far apart: each is the word that is least like
the ones before it.
"""

from collections.abc import Sequence

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.embeddings.positions import cosines
from cutaway.look.embeddings.tsne import embedding_map
from cutaway.look.embeddings.vector_index import unit
from cutaway.look.pages.picture import Picture

_GROUPS = 6  # colours of a map
_ROUNDS = 50


def word_similarity(matrix: Values, words: Sequence[str], *, title: str = "How alike words are") -> Picture:
    """The cosine of every pair of words, whose vectors are the rows of ``matrix``, as a heat map."""
    similarity = cosines(matrix)
    np.fill_diagonal(similarity, np.nan)  # a word is like itself: that would take the strongest colour for nothing
    picture = heatmap(similarity, list(words), list(words), title=title, value="cosine", axes=("word", "word"))
    picture.note = "The diagonal, where a word meets itself, is left empty."
    return picture.captioned("Blocks of strong colour are words that the text uses alike.")


def word_map(
    matrix: Values,
    words: Sequence[str],
    *,
    perplexity: float | Sequence[float] | None = None,
    title: str = "Map of the words",
) -> Picture:
    """Words on a plane by t-SNE, coloured by groups that are found in all their numbers; each named by its centre."""
    x = as_array("matrix", matrix, "words", "dimensions")
    groups, centres = word_groups(x, min(_GROUPS, max(1, len(x) // 8)))
    names = [f"around {words[centres[group]]}" for group in groups]
    picture = embedding_map(x, words, names, perplexity=perplexity, title=title)
    return picture.captioned(
        "Words that lie together are used alike; colours are groups found without the map: where both agree, trust it."
    )


def word_groups(matrix: np.ndarray, count: int) -> tuple[list[int], list[int]]:
    """The group of every row, and for each group the row nearest to its centre.

    >>> word_groups(np.array([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0], [0.1, 1.0], [1.0, -0.1], [-0.1, 1.0]]), 2)
    ([0, 0, 1, 1, 0, 1], [1, 2])
    """
    x = unit(matrix.astype(np.float64))
    chosen = [0]
    for _ in range(count - 1):
        chosen.append(int((x @ x[chosen].T).max(1).argmin()))
    centres, groups = x[chosen], np.zeros(len(x), int)
    for _ in range(_ROUNDS):
        before, groups = groups, (x @ centres.T).argmax(1)
        sums = np.stack([x[groups == k].sum(0) for k in range(count)])
        empty = ~(groups == np.arange(count)[:, None]).any(1)
        centres = np.where(empty[:, None], centres, unit(sums))
        if (groups == before).all():
            break
    nearness = np.where(groups == np.arange(count)[:, None], centres @ x.T, -np.inf)
    return groups.tolist(), nearness.argmax(1).tolist()


__all__ = ["word_groups", "word_map", "word_similarity"]
