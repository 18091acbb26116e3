r"""Trees over classes: every class is a leaf, and the path from the root to it is a row of decisions.

    balanced     ⌈log_k C⌉ decisions for each of C classes
    Huffman      the fewest in expectation: frequent classes lie near the root
    by vectors   ⌈log_2 C⌉ decisions, with classes of similar vectors close to each other

The *vertices* of a tree are its inner nodes, each with two or more branches; a binary tree over C classes has C − 1 of
them. Nodes are numbered: the vertices first, breadth-first from the root, which is 0, then the classes.

Huffman 1952; Morin and Bengio 2005 (trees over words); Mnih and Hinton 2009 (trees by vectors). Notes: N3 §4.4.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from cutaway.blocks.checks import expect_float
from cutaway.overriding import override


class Step(NamedTuple):
    """One decision on the path to a class: at which vertex, and which of its branches is taken."""

    vertex: int
    branch: int


class Tree:
    """A tree whose leaves are the classes 0 … C − 1.

    Made by ``Tree.balanced``, ``Tree.huffman``, ``Tree.from_nested``, ``Tree.from_parents`` or ``Tree.from_vectors``.

    >>> tree = Tree.balanced(16)
    >>> tree, tree.path(5)
    (Tree(classes=16, vertices=15, depth=4), [Step(vertex=0, branch=0), Step(vertex=1, branch=1), \
Step(vertex=4, branch=0), Step(vertex=9, branch=1)])
    """

    def __init__(self, parents: Int[Tensor, "n"], branches: Int[Tensor, "n"]) -> None:
        """From the parent of each node, numbered as above (the root is its own), and its place among its siblings."""
        inner = _count_vertices(parents, branches)
        self.parents, self.branches = parents, branches
        self.vertices, self.classes = inner, len(parents) - inner
        self.arities = torch.bincount(parents[1:], minlength=inner)
        node, steps = torch.arange(len(parents), device="cpu"), 0
        depths = torch.zeros_like(node)
        while node.any():
            depths += node > 0
            node, steps = parents[node], steps + 1
        self.depths = depths[inner:]
        self.depth = steps

    @classmethod
    def balanced(cls, classes: int, branches: int = 2) -> "Tree":
        """The tree whose levels are all full but the last; every class takes ⌈log_k C⌉ decisions, or one less."""
        _expect_sizes(classes, branches)
        # as a heap numbers them; on the CPU, also while a model is built without weights
        nodes = torch.arange(-(-(classes - 1) // (branches - 1)) + classes, device="cpu")
        parents, places = (nodes - 1) // branches, (nodes - 1) % branches
        parents[0] = places[0] = 0
        return cls(parents, places)

    @classmethod
    def huffman(cls, counts: Sequence[float] | Shaped[Tensor, "c"], branches: int = 2) -> "Tree":
        """The tree of least expected depth Σ_c p_c · depth(c), where p_c ∝ ``counts``: the rarest are joined first.

        >>> Tree.huffman([8, 4, 2, 1, 1]).depths
        tensor([1, 2, 3, 4, 4])
        """
        weights = torch.as_tensor(counts, dtype=torch.float64, device="cpu")
        if weights.ndim != 1 or not weights.isfinite().all() or (weights < 0).any():
            raise ValueError(
                f"counts must be one number of 0 or above for each class, got shape {tuple(weights.shape)} with values "
                f"from {weights.min() if weights.numel() else 'none'}; count the classes of the training data"
            )
        _expect_sizes(len(weights), branches)
        # Sums come out in ascending order, so two queues replace a heap; a leaf before a sum keeps the tree shallow.
        order = weights.sort(stable=True)
        leaves, sums = deque(zip(order.values.tolist(), order.indices.tolist())), deque[tuple[float, int]]()
        parents = [-1] * len(weights)
        joined = (len(weights) - 2) % (branches - 1) + 2  # at the bottom, so that every other vertex is full
        while len(leaves) + len(sums) > 1:
            total = 0.0
            for _ in range(joined):
                queue = leaves if leaves and (not sums or leaves[0][0] <= sums[0][0]) else sums
                weight, node = queue.popleft()
                total += weight
                parents[node] = len(parents)
            sums.append((total, len(parents)))
            parents.append(-1)
            joined = branches
        return cls.from_parents(parents)

    @classmethod
    def from_nested(cls, nested: Sequence[Any]) -> "Tree":
        """The tree that lists of lists spell: numbers are classes, lists are vertices.

        >>> Tree.from_nested([[0, 1], [2, [3, 4]]]).depths
        tensor([2, 2, 2, 3, 3])
        """
        if isinstance(nested, str) or not isinstance(nested, Sequence):
            raise ValueError(f"a nested tree must be a list of lists and class numbers, got {nested!r:.60}")
        parents, classes, waiting = [-1], dict[int, int](), deque([(nested, 0)])
        while waiting:
            listed, vertex = waiting.popleft()
            if not len(listed):
                raise ValueError("a vertex of a nested tree must have branches, got an empty list; leave it out")
            for child in listed:
                if isinstance(child, Sequence) and not isinstance(child, str):
                    waiting.append((child, len(parents)))
                elif isinstance(child, bool) or not isinstance(child, int):
                    raise ValueError(
                        f"the leaves of a nested tree must be class numbers, got {child!r:.60}; "
                        "number the classes from 0"
                    )
                elif child in classes:
                    raise ValueError(f"a class must be in a tree once, got class {child} twice; strike one out")
                else:
                    classes[child] = len(parents)
                parents.append(vertex)
        if sorted(classes) != list(range(len(classes))):
            missing = next(c for c in range(len(classes)) if c not in classes)
            raise ValueError(
                f"the leaves of a nested tree must be the classes 0 to {len(classes) - 1}, got {max(classes)} and no "
                f"{missing}; number the classes without gaps"
            )
        return cls._numbered(parents, [classes[c] for c in range(len(classes))])

    @classmethod
    def from_parents(cls, parents: Sequence[int] | Int[Tensor, "n"]) -> "Tree":
        """The tree in which node i hangs below node ``parents[i]``; the root's parent is −1, or the root itself.

        Nodes without children are the classes, in the order of their numbers: with the leaves listed first, as scipy's
        linkage does, class c is node c.
        """
        listed = parents.tolist() if isinstance(parents, Tensor) else [int(parent) for parent in parents]
        for node, parent in enumerate(listed):
            if not -1 <= parent < len(listed):
                raise ValueError(
                    f"a parent must be a node from 0 to {len(listed) - 1}, or −1 for the root, got {parent} for node "
                    f"{node}; number the nodes from 0"
                )
        roots = [node for node, parent in enumerate(listed) if parent in (-1, node)]
        if len(roots) != 1:
            raise ValueError(f"a tree must have one root, got {len(roots)}; give exactly one node the parent −1")
        listed[roots[0]] = -1
        inner = set(listed)
        return cls._numbered(listed, [node for node in range(len(listed)) if node not in inner])

    @classmethod
    def _numbered(cls, parents: list[int], leaves: list[int]) -> "Tree":
        """The tree with its nodes numbered anew: vertices breadth-first, then the leaves, the classes in order."""
        _expect_sizes(len(leaves), 2)
        children: dict[int, list[int]] = {}
        for node, parent in enumerate(parents):
            children.setdefault(parent, []).append(node)
        order = children[-1]
        for node in order:  # grows while it is walked
            order += [child for child in children.get(node, ()) if child in children]
        number = {node: i for i, node in enumerate([*order, *leaves])}
        if len(number) != len(parents):
            raise ValueError(
                f"every node of a tree must hang below the root, got {len(parents) - len(number)} of {len(parents)} "
                "that do not, in a circle; follow their parents"
            )
        above, places = [0] * len(parents), [0] * len(parents)
        for parent, below in children.items():
            for place, child in enumerate(below if parent >= 0 else ()):
                above[number[child]], places[number[child]] = number[parent], place
        return cls(torch.tensor(above, device="cpu"), torch.tensor(places, device="cpu"))

    @classmethod
    def from_vectors(cls, vectors: Float[Tensor, "c w"]) -> "Tree":
        r"""A balanced binary tree in which classes of similar vectors are close: halves of halves.

        left half: (x − x̄)·d below the median,   d the direction along which the vectors vary most
        """
        expect_float("vectors", vectors)
        if not vectors.isfinite().all():
            raise ValueError("vectors must be finite, got infinite numbers or NaN; leave these classes out")
        _expect_sizes(len(vectors), 2)
        x = vectors.detach().cpu().double()
        parents = [-1] * len(x)
        waiting = deque([(torch.arange(len(x), device="cpu"), -1)])
        while waiting:
            members, parent = waiting.popleft()
            if len(members) == 1:
                parents[int(members)] = parent
                continue
            parents.append(parent)
            ordered = members[(x[members] @ _main_direction(x[members])).argsort(stable=True)]
            middle = (len(members) + 1) // 2
            waiting += [(half, len(parents) - 1) for half in (ordered[:middle], ordered[middle:])]
        return cls.from_parents(parents)

    def path(self, target: int) -> list[Step]:
        """The decisions that lead to a class, from the root on."""
        if not 0 <= target < self.classes:
            raise ValueError(f"a class must be from 0 to {self.classes - 1}, got {target}; the tree has no other")
        node, steps = self.vertices + target, list[Step]()
        while node:
            steps.append(Step(int(self.parents[node]), int(self.branches[node])))
            node = steps[-1].vertex
        return steps[::-1]

    def levels(self) -> list[tuple[int, int]]:
        """The vertices of each level as (first, last + 1), from the root down."""
        bounds, ends = [(0, 1)], self.parents[: self.vertices].tolist()
        while bounds[-1][1] < self.vertices:
            start = end = bounds[-1][1]
            while end < self.vertices and ends[end] < start:
                end += 1
            bounds.append((start, end))
        return bounds

    def mean_depth(self, weights: Sequence[float] | Shaped[Tensor, "c"] | None = None) -> float:
        """The expected number of decisions, Σ_c p_c · depth(c), where p_c ∝ ``weights``, or is the same for each."""
        if weights is None:
            return self.depths.double().mean().item()
        p = torch.as_tensor(weights, dtype=torch.float64, device="cpu")
        return ((p * self.depths).sum() / p.sum()).item()

    def to_nested(self) -> list[Any]:
        """The tree as lists of lists, for `from_nested`: numbers are classes, lists are vertices."""
        lists: list[list[Any]] = [[None] * arity for arity in self.arities.tolist()]
        above, places = self.parents.tolist(), self.branches.tolist()
        for node in range(1, len(above)):
            lists[above[node]][places[node]] = lists[node] if node < self.vertices else node - self.vertices
        return lists[0]

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tree)
            and torch.equal(self.parents, other.parents)
            and torch.equal(self.branches, other.branches)
        )

    __hash__ = None  # type: ignore[assignment]

    @override
    def __repr__(self) -> str:
        return f"Tree(classes={self.classes}, vertices={self.vertices}, depth={self.depth})"


def _count_vertices(parents: Tensor, branches: Tensor) -> int:
    """How many nodes are vertices, if the numbers are those of a tree; a damaged file may hold any."""
    nodes, inner = len(parents), int(parents.max()) + 1 if len(parents) else 0
    order = (parents * nodes + branches)[1:].sort().values
    firsts = torch.cat([torch.ones(1, dtype=torch.bool, device="cpu"), order[1:] // nodes != order[:-1] // nodes])
    expected = torch.where(firsts, 0, torch.cat([order[:1], order[:-1] % nodes + 1])) if len(order) else order
    above = torch.arange(1, max(1, inner), device="cpu") > parents[1:inner]
    if (
        not 0 < inner < nodes - 1
        or int(parents.min()) < 0
        or int(parents[0]) != 0
        or not above.all()
        or not torch.equal(order % nodes, expected)
        or len(parents[1:].unique()) != inner
    ):
        raise ValueError(
            f"parents and branches must be those of a tree, got {nodes} nodes that are none; "
            "build it with Tree.from_parents, or take the file from a copy"
        )
    return inner


def _main_direction(x: Tensor) -> Tensor:
    """The direction along which rows vary most, by power iteration from the row that is farthest from the mean."""
    centred = x - x.mean(0)
    d = centred[centred.square().sum(1).argmax()]
    for _ in range(10 if len(x) > 2 else 0):
        longer = centred.T @ (centred @ d)
        d = longer / longer.norm().clamp(min=1e-300)
    return d


def _expect_sizes(classes: int, branches: int) -> None:
    if classes < 2:
        raise ValueError(f"a tree must have at least 2 classes, got {classes}; one class needs no decision")
    if branches < 2:
        raise ValueError(f"branches must be 2 or more, got {branches}; try branches=2")


__all__ = ["Step", "Tree"]
