r"""Hierarchical softmax: the probability of a class is the product of the decisions on the path to its leaf.

    p(c | z) = Π_{v on the path to c} p(branch of v | z)
    p(right | z) = σ(θ_v·z + b_v),   p(left | z) = 1 − p(right | z)           a vertex with two branches
    p(branch j | z) = softmax(0, s_1, …, s_{k−1})_j,   s_i = θ_{v,i}·z + b_{v,i}     a vertex with k branches

The probabilities of all leaves sum to 1 whatever θ is, so nothing need be normalised: a step of training touches the
vertices of one path, log₂ C of them in a balanced tree, where the softmax touches all C classes. Prediction gains
nothing: the likeliest class may hide behind an unlikely vertex. Any tree over C classes has C − 1 vectors θ.

Morin and Bengio 2005; Mikolov et al. 2013 (Huffman trees). Notes: N3 §4.4, where a tree of 16 classes touches 4 of its
15 vertices.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Integer, Shaped
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, flat_targets
from cutaway.blocks.embeddings.output_layers import (
    OutputLayer,
    Top,
    expect_count,
    expect_vectors,
    in_float32,
    row_scores,
)
from cutaway.blocks.embeddings.tree_search import search_tree
from cutaway.blocks.embeddings.trees import Tree
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class HierarchicalSoftmax(OutputLayer):
    r"""The output layer of a tree over the classes: exact probabilities, at the cost of one path for training.

        L = −log p(y | z) = −Σ_{v on the path to y} log p(branch of v | z)

    ``tree`` is "balanced", "huffman" (which needs ``counts``, how often each class occurs) or a `Tree`. With ``sparse``
    the gradient holds the touched rows alone, so that a step of torch.optim.SGD or SparseAdam costs one path too. The
    tree is part of the state dict. Taps: ``scores`` (θ·z + b of every row) and ``output`` (log-probabilities).
    """

    lookup_tables = ("weight",)  # for optimizers and initialisers

    parents: Tensor
    branches: Tensor
    arities: Tensor  # of each vertex: its number of branches
    first_rows: Tensor  # of each vertex: its first row of ``weight``
    owners: Tensor  # of each row: its vertex
    decisions: Tensor  # of each node: its place among the log-probabilities of all decisions

    def __init__(
        self,
        width: int,
        classes: int,
        tree: str | Tree = "balanced",
        counts: Sequence[float] | Shaped[Tensor, "c"] | None = None,
        *,
        bias: bool = True,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        expect_positive(width=width, classes=classes)
        self.width, self.classes, self.sparse = width, classes, sparse
        for name in ("parents", "branches"):
            self.register_buffer(name, torch.empty(0, dtype=torch.long))
        for name in ("arities", "first_rows", "owners", "decisions"):
            self.register_buffer(name, torch.empty(0, dtype=torch.long), persistent=False)
        self._plant(_as_tree(tree, classes, counts))
        self.weight = nn.Parameter(torch.empty(classes - 1, width))
        self.bias = nn.Parameter(torch.empty(classes - 1)) if bias else None
        self.scores, self.output = Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.width)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def _plant(self, tree: Tree) -> None:
        """Takes a tree, and derives from it what the passes look up."""
        rows = tree.arities - 1
        first_rows = rows.cumsum(0) - rows
        above, place = tree.parents, tree.branches
        decisions = torch.where(place == 0, above, tree.vertices + first_rows[above] + place - 1)
        self.tree, self._arity = tree, int(tree.arities.max())
        device = self.parents.device
        self.parents, self.branches, self.arities = above.to(device), place.to(device), tree.arities.to(device)
        self.first_rows, self.decisions = first_rows.to(device), decisions.to(device)
        self.owners = torch.repeat_interleave(torch.arange(tree.vertices, device="cpu"), rows).to(device)
        self._levels = tree.levels()

    @override
    def losses(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*b"]:
        expect_vectors(z, self.width)
        y = flat_targets(z, targets, self.classes)
        flat = self.tree.depth * (self._arity - 1) >= self.classes - 1  # a path may touch all rows: one product
        edited, read = self.scores.edited or self.output.edited, self.scores.live or self.output.live
        if edited or (flat and not self.sparse):
            log_p = self.log_probabilities(z).reshape(-1, self.classes)
            return -log_p.gather(1, y[:, None])[:, 0].view(targets.shape)
        if read:
            self.log_probabilities(z)  # beside: looking does not change the losses by a bit
        nodes = self._ancestors(y)
        vertices, branches, passed = self.parents[nodes], self.branches[nodes], nodes > 0
        s = self._path_scores(z.reshape(-1, self.width), vertices)
        return -(_decision(s, branches) * passed).sum(1).to(z.dtype).view(targets.shape)

    def _ancestors(self, y: Tensor) -> Tensor:
        """The nodes on the path from each class up, (b, depth); the root, 0, fills up shorter paths."""
        nodes = [y + self.tree.vertices]
        for _ in range(self.tree.depth - 1):
            nodes.append(self.parents[nodes[-1]])
        return torch.stack(nodes, 1)

    def _path_scores(self, z: Tensor, vertices: Tensor) -> Tensor:
        """s of every branch but the first of the ``vertices`` (b, depth): (b, depth, k − 1); −∞ where there is none."""
        step = torch.arange(self._arity - 1, device=z.device)
        rows = (self.first_rows[vertices][..., None] + step).clamp(max=self.classes - 2)
        s = in_float32(row_scores(z, self.weight, self.bias, rows.flatten(1), self.sparse)).view(rows.shape)
        return s if self._arity == 2 else s.masked_fill(step >= self.arities[vertices][..., None] - 1, -math.inf)

    @override
    def log_probabilities(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b c"]:
        expect_vectors(z, self.width)
        s = nn.functional.linear(z.reshape(-1, self.width), self.weight, self.bias)
        if self.scores.live:
            s = self.scores(s)
        log_p = self._down_the_tree(in_float32(s)).to(z.dtype).view(*z.shape[:-1], self.classes)
        if self.output.live:
            log_p = self.output(log_p)
        return log_p

    def _down_the_tree(self, s: Tensor) -> Tensor:
        """log p of every class, (b, classes), from the scores of all rows (b, rows), level after level."""
        vertices = self.tree.vertices
        decided = _decisions(s, None if self._arity == 2 and vertices == s.shape[1] else self.owners, vertices)
        level = s.new_zeros(len(s), 1)  # the root is reached for sure
        reached = [level]
        for (above, start), (_, end) in pairwise(self._levels):
            chosen = decided[:, self.decisions[start:end]]
            level = level[:, self.parents[start:end] - above] + chosen
            reached.append(level)
        leaves = slice(vertices, None)
        return torch.cat(reached, 1)[:, self.parents[leaves]] + decided[:, self.decisions[leaves]]

    @override
    def top(self, z: Float[Tensor, "*b w"], k: int) -> Top:
        """The ``k`` likeliest classes, exactly; where few vertices can hold them, the others are not looked at."""
        expect_count(k, self.classes)
        expect_vectors(z, self.width)
        found = None
        if not (self.scores.edited or self.output.edited or torch.compiler.is_compiling()):
            found = search_tree(self, z.reshape(-1, self.width), k)
        if found is None:
            return super().top(z, k)
        if self.scores.live or self.output.live:
            self.log_probabilities(z)  # beside, as in `losses`
        return Top(*(part.view(*z.shape[:-1], k) for part in found))

    def branch_log_probabilities(self, z: Float[Tensor, "n w"], vertices: Integer[Tensor, "n"]) -> Float[Tensor, "n k"]:
        """log p(branch j | z) at one vertex for each vector; −∞ where it has no branch j."""
        return _with_first(self._path_scores(z, vertices[:, None])[:, 0]).log_softmax(-1)

    @override
    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """The weights belong to the tree that they were trained with, so it comes with them."""
        stored = [state_dict[key] for key in (f"{prefix}parents", f"{prefix}branches") if key in state_dict]
        known = len(stored) == 2 and stored[0].device.type != "meta"
        if known:
            device = self.parents.device
            self.parents, self.branches = (torch.empty_like(new, device=device) for new in stored)
        super()._load_from_state_dict(state_dict, prefix, *rest)
        if known and self.parents.device.type != "meta":
            tree = Tree(self.parents.cpu(), self.branches.cpu())
            if tree.classes == self.classes:  # else the sizes of the weights misfit too, and are named
                self._plant(tree)

    @override
    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.tree!r}"


def _decision(s: Float[Tensor, "b d r"], branches: Integer[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    """log p of the branch that was taken, from the scores of all branches but the first."""
    if s.shape[-1] == 1:
        return nn.functional.logsigmoid(s[..., 0] * (2 * branches - 1))
    return _with_first(s).log_softmax(-1).gather(-1, branches[..., None])[..., 0]


def _with_first(s: Tensor) -> Tensor:
    """The scores of all branches: that of the first is 0."""
    return nn.functional.pad(s, (1, 0))


def _decisions(s: Float[Tensor, "b r"], owners: Tensor | None, vertices: int) -> Float[Tensor, "b n"]:
    """log p of the first branch of every vertex, then of each other branch; ``owners`` None: two branches each."""
    if owners is None:
        return torch.cat([nn.functional.logsigmoid(-s), nn.functional.logsigmoid(s)], 1)
    with torch.no_grad():  # the largest score of each vertex: subtracted, so that exp cannot overflow
        m = s.new_zeros(len(s), vertices).scatter_reduce_(1, owners.expand_as(s), s, "amax")
    e = s - m[:, owners]
    log_sum = (-m).exp().index_add(1, owners, e.exp()).log()
    return torch.cat([-m - log_sum, e - log_sum[:, owners]], 1)


def _as_tree(tree: str | Tree, classes: int, counts: Sequence[float] | Tensor | None) -> Tree:
    if counts is not None and len(counts) != classes:
        raise ValueError(f"counts must be one for each of the {classes} classes, got {len(counts)}; count all classes")
    if isinstance(tree, Tree):
        if tree.classes != classes:
            raise ValueError(f"the tree must have {classes} classes, got {tree.classes}; build both for the same")
        return tree
    if not isinstance(tree, str):
        raise ValueError(
            f"tree must be balanced, huffman or a Tree, got {type(tree).__name__}; build one with Tree.from_nested(…)"
        )
    expect_choice("tree", tree, ("balanced", "huffman"))
    if tree == "balanced":
        return Tree.balanced(classes)
    if counts is None:
        raise ValueError("a huffman tree needs counts, got none; pass counts=, how often each class occurs")
    return Tree.huffman(counts)


__all__ = ["HierarchicalSoftmax"]
