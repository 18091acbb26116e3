"""The best leaves by branch and bound are those of a pass over all classes."""

import pytest
import torch
from torch import nn

from cutaway.blocks import HierarchicalSoftmax, Tree
from cutaway.blocks.embeddings.tree_search import search_tree


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(
    "tree",
    [Tree.balanced(3000), Tree.huffman(1 / torch.arange(1, 3001)), Tree.balanced(3000, 7)],
    ids=["balanced", "huffman", "seven branches"],
)
def test_same_as_all_classes(tree, k, float64):
    layer = HierarchicalSoftmax(8, 3000, tree)
    nn.init.normal_(layer.weight)  # decided enough for bounds to bite
    z = torch.randn(6, 8)
    found = search_tree(layer, z, k)
    assert found is not None
    best = layer.log_probabilities(z).topk(k)
    torch.testing.assert_close(found[0], best.values)
    assert torch.equal(found[1], best.indices)


def test_the_best_leaf_may_hide_behind_an_unlikely_vertex(float64):
    """Half of the likelier side, .6, is .3; the other side holds a leaf of .4: greedy decisions would miss it."""
    nested = [[[0, 1], [2, 3]], [4, list(range(5, 1000))]]
    layer = HierarchicalSoftmax(1, 1000, Tree.from_nested(nested), bias=False)
    layer.weight.data.zero_()
    logit = lambda p: torch.tensor(p).logit()
    layer.weight.data[0] = logit(0.4)  # right
    layer.weight.data[2] = -20  # within it, class 4 nearly for sure: the vertex after the left one
    found = layer.top(torch.ones(2, 1), 2)
    assert found.indices[:, 0].tolist() == [4, 4]
    torch.testing.assert_close(found.values[:, 0].exp(), torch.full((2,), 0.4), atol=1e-6, rtol=0)
    assert found.values[0, 1].exp().item() == pytest.approx(0.15)


def test_equals_come_in_the_order_of_their_numbers():
    layer = HierarchicalSoftmax(4, 1024, Tree.balanced(1024))
    layer.weight.data.zero_()
    layer.weight.data[0, 0] = -30  # all of the left half alike
    z = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert layer.top(z, 3).indices.tolist() == [[0, 1, 2]]


def test_gives_up_where_nothing_can_be_left_out():
    layer = HierarchicalSoftmax(4, 4096)
    layer.weight.data.zero_()
    layer.bias.data.zero_()
    assert search_tree(layer, torch.randn(3, 4), 2) is None
    assert layer.top(torch.randn(3, 4), 2).indices.shape == (3, 2)
    assert search_tree(layer, torch.randn(3, 4), 4096) is None
    assert layer.top(torch.full((3, 4), torch.nan), 2).indices.shape == (3, 2)  # no numbers, and no crash
    assert layer.top(torch.empty(0, 4), 2).indices.shape == (0, 2)
