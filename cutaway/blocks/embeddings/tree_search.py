r"""The likeliest leaves of a tree, exactly, by branch and bound.

    log p(leaf) ≤ log p(vertex above it)        so a vertex less likely than k known leaves holds none of the best k

A beam of width k goes down first: the k leaves that it ends at give the bound. Then all vertices above the bound are
opened, level by level, for all examples at once. Where the bound lets too many through, a product with all rows is
faster, and the search gives up. Land and Doig 1960 (branch and bound). Notes: N3 §4.4 (no gain at prediction).
"""

import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Integer
from torch import Tensor

if TYPE_CHECKING:
    from cutaway.blocks.embeddings.hierarchical import HierarchicalSoftmax

_GATHERED = 8  # a vertex opened alone costs about as much as so many in the product with all rows
_SLACK = 1e-4  # of log p: two ways of computing a score differ by their rounding


def search_tree(
    layer: "HierarchicalSoftmax", z: Float[Tensor, "b w"], k: int
) -> tuple[Float[Tensor, "b k"], Integer[Tensor, "b k"]] | None:
    """log p and class of the ``k`` likeliest leaves of each vector, best first; None where a product is faster."""
    tree, examples = layer.tree, len(z)
    budget = examples * tree.classes // _GATHERED
    if not examples or examples * k * tree.depth > budget:
        return None
    children = _Children(layer)
    with torch.no_grad():
        bound = _beam(layer, children, z, k)[:, -1] - _SLACK
    owner = torch.arange(examples, device=z.device)
    vertex, log_p = torch.zeros_like(owner), z.new_zeros(examples)
    leaves: list[tuple[Tensor, Tensor, Tensor]] = []
    while len(owner):
        budget -= len(owner)
        if budget < 0:
            return None
        below = log_p[:, None] + layer.branch_log_probabilities(z[owner], vertex).to(z.dtype)
        likely = below >= bound[owner, None]
        at, branch = likely.nonzero(as_tuple=True)
        node, owner, log_p = children.of(vertex[at], branch), owner[at], below[likely]
        is_leaf = node >= tree.vertices
        leaves.append((owner[is_leaf], node[is_leaf] - tree.vertices, log_p[is_leaf]))
        owner, vertex, log_p = owner[~is_leaf], node[~is_leaf], log_p[~is_leaf]
    owner, target, log_p = (torch.cat(parts) for parts in zip(*leaves))
    order = target.argsort(stable=True)  # of equals, the smaller class number first
    order = order[log_p[order].argsort(descending=True, stable=True)]
    order = order[owner[order].argsort(stable=True)]
    found = torch.bincount(owner, minlength=examples)
    if (found < k).any():  # scores that are not numbers
        return None
    first = (found.cumsum(0) - found)[:, None] + torch.arange(k, device=z.device)
    return log_p[order][first], target[order][first]


class _Children:
    """The node at the end of each branch."""

    def __init__(self, layer: "HierarchicalSoftmax") -> None:
        above, place = layer.parents[1:], layer.branches[1:]
        self.first = layer.arities.cumsum(0) - layer.arities
        self.nodes = torch.empty_like(above)
        self.nodes[self.first[above] + place] = torch.arange(1, len(above) + 1, device=above.device)

    def of(self, vertex: Tensor, branch: Tensor) -> Tensor:
        return self.nodes[(self.first[vertex] + branch).clamp(max=len(self.nodes) - 1)]


def _beam(layer: "HierarchicalSoftmax", children: _Children, z: Tensor, k: int) -> Tensor:
    """log p (b, k) of the leaves that a beam of width k ends at, largest first."""
    vertices, examples = layer.tree.vertices, len(z)
    node = torch.zeros(examples, k, dtype=torch.long, device=z.device)
    log_p = torch.full((examples, k), -math.inf, dtype=z.dtype, device=z.device)
    log_p[:, 0] = 0
    for _ in range(layer.tree.depth):
        is_leaf = node >= vertices
        vertex = node.masked_fill(is_leaf, 0).flatten()
        decided = layer.branch_log_probabilities(z.repeat_interleave(k, 0), vertex).to(z.dtype)
        branches = torch.arange(decided.shape[1], device=z.device)
        below = log_p[..., None] + decided.view(examples, k, -1)
        stays = torch.where(branches == 0, log_p[..., None], -math.inf)  # a leaf waits for the others
        below = torch.where(is_leaf[..., None], stays, below)
        under = children.of(vertex[:, None], branches).view(examples, k, -1)
        under = torch.where(is_leaf[..., None], node[..., None], under)
        log_p, best = below.flatten(1).topk(k)
        node = under.flatten(1).gather(1, best)
    return log_p


__all__ = ["search_tree"]
