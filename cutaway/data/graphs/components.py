r"""Connected components: the pieces of a graph between which no edge runs.

Their number is how often 0 is an eigenvalue of the Laplacian, and their indicator vectors span its null space. A
directed graph is taken as if its edges ran both ways (weakly connected). An edge of weight 0 is no edge, here as in the
Laplacian, and connects nothing. Notes: N3 §7.4.2.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from cutaway.blocks.graphs.graph import Graph
from cutaway.extras import need


class Components(NamedTuple):
    """The component of each vertex, the largest first, and how many vertices each has."""

    of: Int[np.ndarray, "n"]
    sizes: tuple[int, ...]


def connected_components(graph: Graph) -> Components:
    """The connected components of a graph.

    >>> import torch
    >>> connected_components(Graph(torch.tensor([[0, 2], [1, 3]]), vertices=5))
    Components(of=array([0, 0, 1, 1, 2]), sizes=(2, 2, 1))
    """
    sparse = need("scipy.sparse", "graphs", "components of a graph")
    csgraph = need("scipy.sparse.csgraph", "graphs", "components of a graph")
    i, j = graph.edges[:, graph.present].cpu().numpy()
    matrix = sparse.coo_array((np.ones(len(i), np.int8), (i, j)), shape=(graph.vertices, graph.vertices))
    _, of = csgraph.connected_components(matrix.tocsr(), directed=False)
    sizes = np.bincount(of)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Components(place[of] if len(of) else of.astype(np.int64), tuple(sizes[order].tolist()))


__all__ = ["Components", "connected_components"]
