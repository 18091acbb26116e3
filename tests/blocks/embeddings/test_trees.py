"""Trees over classes: by hand, Huffman against a heap and the entropy, trees by vectors, and what is no tree."""

import heapq
import math

import pytest
import torch

from cutaway.blocks import Tree


def test_the_tree_of_the_notes():
    """16 classes: 15 vertices, of which the path to a class touches 4."""
    tree = Tree.balanced(16)
    assert (tree.vertices, tree.depth, tree.classes) == (15, 4, 16)
    assert all(len(tree.path(c)) == 4 for c in range(16))
    assert [step.vertex for step in tree.path(0)] == [0, 1, 3, 7]
    assert [step.branch for step in tree.path(5)] == [0, 1, 0, 1]  # 5 in binary
    assert len({tuple(step.branch for step in tree.path(c)) for c in range(16)}) == 16


@pytest.mark.parametrize("branches", [2, 3, 5])
@pytest.mark.parametrize("classes", [2, 3, 7, 16, 29, 125])
def test_balanced_depths(classes, branches):
    tree = Tree.balanced(classes, branches)
    most = next(d for d in range(99) if branches**d >= classes)
    assert tree.depth == most
    assert set(tree.depths.tolist()) <= {most, most - 1}
    assert int((tree.arities - 1).sum()) == classes - 1  # as many vectors, whatever the branches
    assert tree.arities.max() <= branches


@pytest.mark.parametrize("branches", [2, 3, 4])
def test_huffman_is_the_shortest_in_expectation(branches):
    counts = torch.rand(40, dtype=torch.float64) ** 4
    counts[3] = counts[7]  # equal ones
    tree = Tree.huffman(counts, branches)
    heap = [(count, [c]) for c, count in enumerate(counts.tolist())]  # an independent one, by a heap
    heap += [(0.0, [])] * (-(len(counts) - 1) % (branches - 1))
    heapq.heapify(heap)
    depth = [0] * len(counts)
    while len(heap) > 1:
        joined = [heapq.heappop(heap) for _ in range(branches)]
        members = [c for _, below in joined for c in below]
        for c in members:
            depth[c] += 1
        heapq.heappush(heap, (sum(count for count, _ in joined), members))
    p = counts / counts.sum()
    shortest = sum(a * b for a, b in zip(p.tolist(), depth))
    assert tree.mean_depth(counts) == pytest.approx(shortest)
    entropy = -(p * p.log()).sum().item() / math.log(branches)
    assert entropy <= tree.mean_depth(counts) < entropy + 1  # Shannon's bounds
    assert tree.mean_depth(counts) <= Tree.balanced(40, branches).mean_depth(counts)


def test_a_flat_tree_decides_once():
    tree = Tree.from_nested(list(range(9)))
    assert (tree.vertices, tree.depth, tree.arities.tolist()) == (1, 1, [9])


NESTED = [[0, 1], 5, [2, [3, 4], [6]]]


def test_nested_lists_and_back():
    tree = Tree.from_nested(NESTED)
    assert tree.to_nested() == NESTED
    assert tree.depths.tolist() == [2, 2, 2, 3, 3, 1, 3]
    assert [(s.vertex, s.branch) for s in tree.path(4)] == [(0, 2), (2, 1), (3, 1)]
    assert tree == Tree.from_nested(tree.to_nested())
    assert tree != Tree.balanced(7)
    assert tree.mean_depth() == pytest.approx(16 / 7)
    assert tree.levels() == [(0, 1), (1, 3), (3, 5)]


@pytest.mark.parametrize("root", [-1, 6])
def test_parents(root):
    """Leaves first, as scipy's linkage numbers them: class c is node c."""
    tree = Tree.from_parents([4, 4, 5, 6, 5, 6, root])
    assert tree.to_nested() == [3, [2, [0, 1]]]
    assert Tree.from_parents(torch.tensor([4, 4, 5, 6, 5, 6, root])) == tree
    assert Tree.from_parents([-1, 0, 0, 1, 1]).to_nested() == [[1, 2], 0]  # the root first: leaves in their order


def test_a_deep_chain_needs_no_recursion():
    nested = [0, 1]
    for c in range(2, 3000):
        nested = [c, nested]
    tree = Tree.from_nested(nested)
    assert tree.depth == 2999
    assert len(tree.path(1)) == 2999


def test_similar_classes_are_close_by_vectors():
    """Eight groups of eight vectors: each is a subtree of its own."""
    centres = torch.eye(8) * torch.arange(8, 16)
    vectors = (centres[:, None] + 0.01 * torch.randn(8, 8, 8)).flatten(0, 1)[torch.randperm(64)]
    tree = Tree.from_vectors(vectors)
    assert tree.depth == 6
    groups = vectors.argmax(1)
    third = [tree.path(c)[3].vertex for c in range(64)]
    for vertex in set(third):
        assert len({int(groups[c]) for c in range(64) if third[c] == vertex}) == 1
    assert sorted(tree.depths.tolist()) == [6] * 64
    assert Tree.from_vectors(torch.ones(5, 3)).depth == 3  # all the same: still a balanced tree


@pytest.mark.parametrize(
    ("parents", "branches"),
    [
        ([0, 1, 0, 1, 1], [0, 0, 1, 0, 1]),  # a circle
        ([0, 0, 0], [0, 0, 0]),  # two first branches
        ([0, 0, 0], [0, 1, 2]),  # no first branch
        ([0, -1, 0], [0, 0, 1]),
        ([1, 0, 0, 0], [0, 0, 1, 2]),
        ([0], [0]),
        ([0, 0, 0, 2, 2], [0, 0, 1, 0, 1]),  # vertex 1 has no branches
    ],
)
def test_numbers_that_are_no_tree(parents, branches):
    with pytest.raises(ValueError, match=f"must be those of a tree, got {len(parents)} nodes that are none"):
        Tree(torch.tensor(parents), torch.tensor(branches))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tree.balanced(1), "a tree must have at least 2 classes, got 1; one class needs no decision"),
        (lambda: Tree.balanced(4, 1), "branches must be 2 or more, got 1"),
        (lambda: Tree.from_nested([0, 1, 1]), "a class must be in a tree once, got class 1 twice"),
        (lambda: Tree.from_nested([0, [2, 3]]), "must be the classes 0 to 2, got 3 and no 1"),
        (lambda: Tree.from_nested([0, []]), "must have branches, got an empty list"),
        (lambda: Tree.from_nested([0, "cat"]), "must be class numbers, got 'cat'; number the classes from 0"),
        (lambda: Tree.from_nested([0, True]), "must be class numbers, got True"),
        (lambda: Tree.from_nested("ab"), "must be a list of lists and class numbers, got 'ab'"),
        (lambda: Tree.from_parents([-1, -1, 0, 0]), "a tree must have one root, got 2"),
        (lambda: Tree.from_parents([1, 0, 0]), "a tree must have one root, got 0"),
        (lambda: Tree.from_parents([-1, 0, 0, 7]), "a parent must be a node from 0 to 3, or −1 for the root, got 7 "),
        (
            lambda: Tree.from_parents([-1, 0, 0, 4, 3, 4]),
            "must hang below the root, got 2 of 6 that do not, in a circle",
        ),
        (lambda: Tree.huffman([1, -2, 3]), "counts must be one number of 0 or above for each class, got shape"),
        (lambda: Tree.huffman([1, math.nan]), "counts must be one number of 0 or above for each class, got shape"),
        (lambda: Tree.from_vectors(torch.tensor([[1.0], [math.inf]])), "vectors must be finite"),
        (lambda: Tree.balanced(4).path(4), "a class must be from 0 to 3, got 4; the tree has no other"),
    ],
)
def test_what_is_no_tree(make, message):
    with pytest.raises(ValueError, match=message):
        make()
