"""Hierarchical softmax: exact for its own family, one path for training, sums to 1, and its tree travels with it."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import NCE, HierarchicalSoftmax, NegativeSampling, SampledSoftmax, Tree

TREES = {
    "balanced": Tree.balanced(13),
    "huffman": Tree.huffman([2.0**-c for c in range(13)]),
    "five branches": Tree.balanced(13, 5),
    "flat": Tree.from_nested(list(range(13))),
    "mixed": Tree.from_nested([[0, 1], 5, [2, [3, 4], [6]], [[[7, 8, 9, 10]], 11], 12]),
}


def layer_on(tree, **options) -> HierarchicalSoftmax:
    layer = HierarchicalSoftmax(6, tree.classes, tree, **options)
    nn.init.normal_(layer.bias)
    return layer


def test_by_hand():
    """Classes 0 | (1 | 2): p = ¼, ¾·⅔, ¾·⅓ for z = log 3, log 2 at the two vertices."""
    layer = HierarchicalSoftmax(2, 3, Tree.from_nested([0, [1, 2]]), bias=False)
    layer.weight.data = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    z = torch.tensor([3.0, 2.0]).log()
    assert torch.allclose(layer.log_probabilities(z).exp(), torch.tensor([1 / 4, 1 / 2, 1 / 4]))
    assert layer.loss(z, torch.tensor(1)).exp().item() == pytest.approx(2)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_probabilities_are_products_along_the_path(tree, float64):
    layer, z = layer_on(tree), torch.randn(4, 6)
    rows = (tree.arities - 1).cumsum(0) - (tree.arities - 1)
    expected = torch.ones(4, 13)
    for c in range(13):
        for vertex, branch in tree.path(c):
            own = slice(int(rows[vertex]), int(rows[vertex] + tree.arities[vertex]) - 1)
            s = z @ layer.weight[own].T + layer.bias[own]
            expected[:, c] *= torch.cat([torch.zeros(4, 1), s], 1).softmax(1)[:, branch]
    torch.testing.assert_close(layer.log_probabilities(z).exp(), expected)
    torch.testing.assert_close(expected.sum(1), torch.ones(4), atol=1e-12, rtol=0)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_the_loss_of_a_path_is_that_of_all_classes_with_its_gradients(tree, float64):
    layer, z, y = layer_on(tree), torch.randn(3, 5, 6, requires_grad=True), torch.randint(13, (3, 5))
    inputs = (z, layer.weight, layer.bias)
    full = nn.functional.nll_loss(layer.log_probabilities(z).flatten(0, 1), y.flatten())
    path = layer.loss(z, y)
    torch.testing.assert_close(path, full)
    gradients = torch.autograd.grad(full, inputs)
    for one, other in zip(torch.autograd.grad(path, inputs), gradients):
        torch.testing.assert_close(one, other)
    sparse = HierarchicalSoftmax(6, 13, tree, sparse=True)  # always by the path
    sparse.load_state_dict(layer.state_dict())
    for one, other in zip(torch.autograd.grad(sparse.loss(z, y), (z, sparse.weight, sparse.bias)), gradients):
        torch.testing.assert_close(one.to_dense() if one.is_sparse else one, other)
    assert torch.autograd.gradcheck(lambda z: layer.losses(z, y), (z,))


def test_a_flat_tree_is_the_softmax(float64):
    """One decision among all classes; the score of the first is 0."""
    layer, z = layer_on(TREES["flat"]), torch.randn(3, 6)
    s = torch.cat([torch.zeros(3, 1), z @ layer.weight.T + layer.bias], 1)
    torch.testing.assert_close(layer.log_probabilities(z), s.log_softmax(1))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_many_classes_sum_to_one(dtype, tolerance):
    layer = HierarchicalSoftmax(16, 100_000).to(dtype)
    z = 5 * torch.randn(3, 16, dtype=dtype)
    with torch.no_grad():
        assert (layer.log_probabilities(z).exp().sum(-1) - 1).abs().max() < tolerance


def test_one_step_touches_one_path():
    """The notes' tree of 16 classes: 4 of 15 vertices."""
    layer = HierarchicalSoftmax(6, 16, sparse=True)
    before = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    layer.loss(torch.randn(1, 6), torch.tensor([5])).backward()
    assert layer.weight.grad.coalesce().indices()[0].tolist() == sorted(s.vertex for s in layer.tree.path(5))
    optimizer.step()
    assert (layer.weight != before).any(1).nonzero()[:, 0].tolist() == [s.vertex for s in layer.tree.path(5)]


def test_it_learns_the_frequencies(float64):
    """With z = 1 for all, the best layer gives each class its share of the data, whatever the tree."""
    counts = torch.tensor([5.0, 1.0, 2.0, 1.0, 1.0])
    for tree in (Tree.balanced(5), Tree.from_nested([[3, 4, 0], [1, 2]])):
        layer = HierarchicalSoftmax(1, 5, tree, bias=False)
        optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=50, line_search_fn="strong_wolfe")
        data = torch.repeat_interleave(torch.arange(5), counts.long())

        def again(layer=layer, optimizer=optimizer, data=data):
            optimizer.zero_grad()
            loss = layer.loss(torch.ones(10, 1), data)
            loss.backward()
            return loss

        optimizer.step(again)
        torch.testing.assert_close(layer(torch.ones(1)).exp(), counts / 10, atol=1e-4, rtol=0)


def test_the_tree_comes_with_the_weights():
    first = HierarchicalSoftmax(6, 13, "huffman", counts=[2.0**-c for c in range(13)])
    second = HierarchicalSoftmax(6, 13)
    second.load_state_dict(first.state_dict())
    z = torch.randn(3, 6)
    assert second.tree == first.tree
    assert torch.equal(second(z), first(z))
    other = HierarchicalSoftmax(6, 13, TREES["mixed"])  # fewer vertices
    other.load_state_dict(first.state_dict())
    assert torch.equal(other(z), first(z))
    first.load_state_dict(HierarchicalSoftmax(6, 13, TREES["mixed"]).state_dict())
    assert first.tree == TREES["mixed"]
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        second.load_state_dict(HierarchicalSoftmax(6, 14).state_dict())


@pytest.mark.parametrize("kind", [HierarchicalSoftmax, SampledSoftmax, NCE, NegativeSampling])
def test_built_without_weights_and_filled(kind):
    """As run folders are opened: on the meta device first."""
    first = kind(6, 13, counts=range(1, 14), **({"tree": "huffman"} if kind is HierarchicalSoftmax else {}))
    with torch.device("meta"):
        empty = kind(6, 13)
    assert empty.weight.is_meta
    empty.load_state_dict(first.state_dict(), assign=True)
    z, y = torch.randn(3, 6), torch.tensor([0, 5, 12])
    assert torch.equal(empty(z), first(z))
    assert torch.equal(*(layer.loss(z, y, torch.Generator().manual_seed(0)) for layer in (empty, first)))


def test_a_damaged_tree_is_refused():
    layer = HierarchicalSoftmax(6, 13)
    state = {name: value.clone() for name, value in layer.state_dict().items()}
    state["parents"][3], state["parents"][7] = 7, 3  # a circle
    with pytest.raises(ValueError, match="parents and branches must be those of a tree, got 25 nodes that are none"):
        layer.load_state_dict(state)


def test_taps_reach_the_loss():
    layer, z, y = layer_on(TREES["mixed"]), torch.randn(4, 6), torch.randint(13, (4,))
    plain = layer.loss(z, y)
    with cut.trace(layer, "scores") as seen:
        assert torch.allclose(layer.loss(z, y), plain)
    assert seen["scores"].shape == (4, 12)
    with cut.patch(layer, {"scores": torch.zeros(4, 12)}):
        assert not torch.allclose(layer.loss(z, y), plain)


def test_bad_trees():
    with pytest.raises(ValueError, match="a huffman tree needs counts, got none; pass counts="):
        HierarchicalSoftmax(6, 13, "huffman")
    with pytest.raises(ValueError, match="counts must be one for each of the 13 classes, got 3"):
        HierarchicalSoftmax(6, 13, "huffman", counts=[1, 2, 3])
    with pytest.raises(ValueError, match="the tree must have 13 classes, got 16"):
        HierarchicalSoftmax(6, 13, Tree.balanced(16))
    with pytest.raises(ValueError, match="tree must be one of balanced, huffman, got 'oak'"):
        HierarchicalSoftmax(6, 13, "oak")


@pytest.mark.untyped
def test_lists_are_no_tree_yet():
    with pytest.raises(ValueError, match="tree must be balanced, huffman or a Tree, got list; build one with Tree"):
        HierarchicalSoftmax(6, 4, [[0, 1], [2, 3]])


@pytest.mark.untyped
def test_the_loss_compiles():
    for tree in (TREES["balanced"], TREES["mixed"]):
        layer, z, y = layer_on(tree), torch.randn(4, 6), torch.randint(13, (4,))
        compiled = torch.compile(layer.loss, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(z, y), layer.loss(z, y))


def test_similar_classes_close_in_the_tree_help():
    """64 classes in 8 groups, told apart by noisy vectors: after the same steps, a tree by vectors is ahead."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(8, 8, generator=generator).repeat_interleave(8, 0)
    vectors = (centres + 0.3 * torch.randn(64, 8, generator=generator))[torch.randperm(64, generator=generator)]
    y = torch.randint(64, (4000,), generator=generator)
    z = vectors[y] + 0.3 * torch.randn(4000, 8, generator=generator)
    losses = {}
    for name, tree in (("by vectors", Tree.from_vectors(vectors)), ("by number", Tree.balanced(64))):
        layer = HierarchicalSoftmax(8, 64, tree)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
        for i in range(150):
            batch = slice(i * 20 % 3000, i * 20 % 3000 + 200)
            optimizer.zero_grad()
            layer.loss(z[batch], y[batch]).backward()
            optimizer.step()
        losses[name] = layer.loss(z[3200:], y[3200:]).item()
    assert losses["by vectors"] < losses["by number"] - 0.3
