r"""Vertex features that are mostly zero, kept sparse: bags of words, one-hot codes.

    y = X W,   δW = Xᵀ δy          X in compressed rows, its transpose worked out once

A row of words in a vocabulary of thousands costs what its few words cost. Saad 2003, §3.4. Notes: N3 §4.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from cutaway.blocks.checks import expect_probability, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.depth.dropouts import fast_dropout
from cutaway.blocks.graphs.arc_sums import sum_arcs
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows, list_neighbours, rows_of, sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.neighbours import ArcWeights, sum_weighted
from cutaway.blocks.graphs.wiring import compact
from cutaway.inside.taps import Tap

Way = tuple[Tensor, ...]
_ways: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # how X and its transpose are read, while X is alive


def multiply_sparse(x: Tensor, weight: Tensor) -> Tensor:
    """X W, for X in CSR layout.

    >>> multiply_sparse(torch.eye(3).to_sparse_csr(), torch.tensor([[1.0], [2.0], [3.0]])).flatten()
    tensor([1., 2., 3.])
    """
    expect_width("x", x, weight.shape[0])
    return sum_arcs(weight[None], x.values()[None].to(weight.dtype), None, *_way(x))[0]


def _way(x: Tensor) -> Way:
    if x not in _ways:
        with torch.inference_mode(False):  # it may be needed in training later
            _ways[x] = _work_out(x)
    return _ways[x]


def _work_out(x: Tensor) -> Way:
    starts, columns = x.crow_indices().long(), x.col_indices().long()
    rows = rows_of(starts, len(columns))
    back = list_neighbours(columns, rows, max(x.shape))
    by_column = compact(back.starts[: x.shape[1] + 1], back.ends, back.arcs)
    return (*compact(starts, columns, rows), *by_column)


def map_features(layer: nn.Module, x: Tensor) -> Tensor:
    """x W + b, for x dense or in CSR layout."""
    if not is_sparse_rows(x):
        return layer(x)
    if type(layer) is Linear:
        y = multiply_sparse(x, layer.weight)
        return y if layer.bias is None else y + layer.bias
    # something stands in its place: LoRA, another adapter, a hooked copy
    found = layer.from_products(partial(multiply_sparse, x)) if hasattr(layer, "from_products") else None  # type: ignore[operator]
    return layer(x.to_dense()) if found is None else found


def dropout_features(x: Tensor, rate: float) -> Tensor:
    """Drops entries of x, dense or in CSR layout, and scales up the others: what a layer does in training."""
    expect_probability(rate=rate)
    if not is_sparse_rows(x):
        return fast_dropout(x, rate)
    dropped = sparse_rows(x.crow_indices(), x.col_indices(), fast_dropout(x.values(), rate), x.shape[1])
    _ways[dropped] = _way(x)
    return dropped


def map_and_sum(
    layer: Any, x: Tensor, graph: Graph, weights: ArcWeights, tap: Tap, bias: Tensor | None = None
) -> Tensor:
    """y_j = Σ w_a x_i W + b. The narrower of x and x W is summed: (A x) W = A (x W).

    The ``tap`` sees, and may change, the messages w_a x_i W (arcs, outputs). ``layer``: W, without a bias of its
    own, or what stands in for such a Linear.
    """
    if is_sparse_rows(x) or tap.edited or layer.outputs <= layer.inputs:
        return sum_weighted(map_features(layer, x), graph, weights, tap, bias)
    if tap.live:
        tap(weights.arcs[:, None] * layer(x)[graph.arcs[0]])
    y = layer(sum_weighted(x, graph, weights))
    return y if bias is None else y + bias
