"""The full softmax beside torch's own, tied, sparse lookups, and the way in which all output layers are used."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import (
    NCE,
    Embedding,
    FullSoftmax,
    HierarchicalSoftmax,
    NegativeSampling,
    OutputLayer,
    SampledSoftmax,
)
from cutaway.blocks.embeddings.output_layers import look_up, row_scores

LAYERS = [FullSoftmax, HierarchicalSoftmax, SampledSoftmax, NCE, NegativeSampling]


def test_by_hand():
    layer = FullSoftmax(2, 3, bias=False)
    layer.weight.data = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    z = torch.tensor([[torch.tensor(3.0).log(), 0.0]])  # scores 0, log 3, 0
    assert torch.allclose(layer.log_probabilities(z).exp(), torch.tensor([[0.2, 0.6, 0.2]]))
    assert layer.loss(z, torch.tensor([1])).item() == pytest.approx(-torch.tensor(0.6).log().item())
    assert layer.top(z, 1).indices.tolist() == [[1]]


def test_same_as_torch_with_its_gradients(float64):
    layer, z, y = FullSoftmax(5, 11), torch.randn(2, 3, 5, requires_grad=True), torch.randint(11, (2, 3))
    nn.init.normal_(layer.bias)
    peer = nn.functional.cross_entropy(nn.functional.linear(z, layer.weight, layer.bias).flatten(0, 1), y.flatten())
    torch.testing.assert_close(layer.loss(z, y), peer)
    inputs = (z, layer.weight, layer.bias)
    for ours, theirs in zip(torch.autograd.grad(layer.loss(z, y), inputs), torch.autograd.grad(peer, inputs)):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kind", [FullSoftmax, HierarchicalSoftmax])
def test_reading_leaves_every_bit_of_losses_and_top_classes(kind):
    for dtype in (torch.float32, torch.float64):
        layer = kind(16, 300).to(dtype)
        z, y = torch.randn(8, 16, dtype=dtype), torch.randint(300, (8,))
        losses, top = layer.losses(z, y), layer.top(z, 5)
        with cut.trace(layer, "scores") as seen:
            read, read_top = layer.losses(z, y), layer.top(z, 5)
        assert torch.equal(losses, read)
        assert all(torch.equal(a, b) for a, b in zip(top, read_top, strict=True))
        assert len(seen.calls["scores"]) == 2


@pytest.mark.parametrize("kind", LAYERS)
def test_all_are_used_alike(kind):
    layer, z, y = kind(5, 11), torch.randn(2, 3, 5), torch.randint(11, (2, 3))
    assert isinstance(layer, OutputLayer)
    assert layer.losses(z, y).shape == (2, 3)
    same = [layer.loss(z, y, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(*same)
    same[0].backward()
    log_p = layer.log_probabilities(z)
    assert torch.equal(layer(z), log_p)
    assert torch.allclose(log_p.exp().sum(-1), torch.ones(2, 3), atol=1e-6)
    best, classes = layer.top(z, 4)
    assert torch.allclose(best, log_p.topk(4).values, atol=1e-6)
    assert torch.equal(classes, log_p.topk(4).indices)
    assert layer.loss(z[0, 0], y[0, 0]).isfinite()  # one vector


@pytest.mark.parametrize("kind", LAYERS)
def test_half_precision_keeps_its_dtype(kind):
    layer, z, y = kind(5, 11).bfloat16(), torch.randn(3, 5).bfloat16(), torch.randint(11, (3,))
    assert layer.loss(z, y).dtype == torch.bfloat16
    assert layer.log_probabilities(z).dtype == torch.bfloat16


@pytest.mark.parametrize("kind", [HierarchicalSoftmax, SampledSoftmax, NCE, NegativeSampling])
def test_sparse_gradients_are_the_dense_ones(kind, float64):
    dense, sparse = kind(5, 97, bias=True), kind(5, 97, bias=True, sparse=True)
    sparse.load_state_dict(dense.state_dict())
    z, y = torch.randn(4, 5, requires_grad=True), torch.randint(97, (4,))
    grads = []
    for layer in (dense, sparse):
        loss = layer.loss(z, y, torch.Generator().manual_seed(3))
        grads.append(torch.autograd.grad(loss, (z, layer.weight, layer.bias)))
    assert grads[1][1].is_sparse
    assert grads[1][2].is_sparse
    for one, other in zip(*grads):
        torch.testing.assert_close(one, other.to_dense() if other.is_sparse else other)
    torch.optim.SGD(sparse.parameters(), lr=0.1)
    before = sparse.weight.detach().clone()
    optimizer = torch.optim.SGD(sparse.parameters(), lr=0.1)
    sparse.loss(z, y).backward()
    touched = sparse.weight.grad.coalesce().indices()[0].tolist()
    optimizer.step()
    moved = (sparse.weight != before).any(1).nonzero()[:, 0].tolist()
    assert set(moved) <= set(touched)
    assert len(moved) < 97


def test_scores_of_rows_by_gradcheck(float64):
    z, table, bias = torch.randn(2, 3, requires_grad=True), torch.randn(7, 3), torch.randn(7)
    table.requires_grad_(), bias.requires_grad_()
    rows = torch.tensor([[0, 3, 3, 1], [6, 0, 2, 6]])
    full = z @ table.T + bias
    for sparse in (False, True):
        torch.testing.assert_close(row_scores(z, table, bias, rows, sparse), full.gather(1, rows))
    assert torch.autograd.gradcheck(lambda *x: row_scores(*x, rows), (z, table, bias))
    assert torch.equal(look_up(table, rows, sparse=True), table[rows])


def test_tied_with_an_embedding_both_gradients_add_up(float64):
    embedding, output = Embedding(7, 3), FullSoftmax(3, 7, bias=False)
    output.weight = embedding.weight
    assert [*nn.ModuleList([embedding, output]).parameters()] == [embedding.weight]
    tokens, y = torch.tensor([4, 2]), torch.tensor([1, 6])
    output.loss(embedding(tokens), y).backward()
    inside, outside = (embedding.weight.detach().clone().requires_grad_() for _ in range(2))
    nn.functional.cross_entropy(inside[tokens] @ outside.T, y).backward()
    torch.testing.assert_close(embedding.weight.grad, inside.grad + outside.grad)


def test_scores_are_similarities():
    """Of vectors of equal length, the likeliest class is the one at the smallest angle (notes N3 §4.4)."""
    layer = FullSoftmax(5, 11, bias=False)
    layer.weight.data = nn.functional.normalize(layer.weight.data, dim=1)
    z = torch.randn(20, 5)
    angles = nn.functional.cosine_similarity(z[:, None], layer.weight[None], dim=2)
    assert torch.equal(layer.top(z, 1).indices[:, 0], angles.argmax(1))


def test_tap():
    layer, z = FullSoftmax(5, 11), torch.randn(3, 5)
    with cut.trace(layer, "scores") as seen:
        layer(z)
    assert torch.equal(seen["scores"], layer.logits(z))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("target", [-1, 11, -100])
def test_targets_outside_are_named(kind, target):
    with pytest.raises(ValueError, match=f"targets must lie from 0 to 10, got {target}; leave padding out"):
        kind(5, 11).loss(torch.randn(2, 5), torch.tensor([3, target]))


@pytest.mark.parametrize("kind", LAYERS)
def test_bad_counts_and_sizes(kind):
    layer = kind(5, 11)
    with pytest.raises(ValueError, match="k must be from 1 to the number of classes, 11, got 12; ask for fewer"):
        layer.top(torch.randn(5), 12)
    with pytest.raises(ValueError, match="targets must hold at least one element, got shape"):
        layer.loss(torch.randn(0, 5), torch.empty(0, dtype=torch.long))
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        kind(0, 11)


@pytest.mark.untyped
@pytest.mark.parametrize("kind", LAYERS)
def test_bad_shapes_and_dtypes(kind):
    layer = kind(5, 11)
    with pytest.raises(ValueError, match=r"the last axis of z must have width 5, got shape \(2, 4\)"):
        layer.loss(torch.randn(2, 4), torch.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"one class number for each vector of z, got shapes \(3,\) and \(2, 5\)"):
        layer.loss(torch.randn(2, 5), torch.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match=r"targets must be class numbers, got torch.float32; convert them with"):
        layer.loss(torch.randn(2, 5), torch.tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"z must be a float tensor, got torch.int64"):
        layer.log_probabilities(torch.ones(2, 5).long())
