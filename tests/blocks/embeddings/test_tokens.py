"""Embeddings: one-hot times a matrix, torch's own, and tying."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import Embedding, embed, one_hot


def test_by_hand():
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert torch.equal(embed(torch.tensor([[2, 0]]), table), torch.tensor([[[5.0, 6.0], [1.0, 2.0]]]))


def test_one_hot_times_the_matrix_with_its_gradient(float64):
    block, tokens = Embedding(7, 3), torch.randint(7, (2, 5))
    product = lambda: one_hot(tokens, 7).double() @ block.weight
    assert torch.equal(block(tokens), product())
    back = torch.randn(2, 5, 3)
    (lookup,) = torch.autograd.grad((block(tokens) * back).sum(), block.weight)
    (written_out,) = torch.autograd.grad((product() * back).sum(), block.weight)
    torch.testing.assert_close(lookup, written_out)


def test_one_table_shared_by_two_inputs_adds_up_their_gradients(float64):
    block, first, second = Embedding(7, 3), torch.tensor([1, 4]), torch.tensor([4, 6, 0])
    left, right = torch.randn(2, 3), torch.randn(3, 3)
    ((block(first) * left).sum() + (block(second) * right).sum()).backward()
    expected = one_hot(first, 7).double().T @ left + one_hot(second, 7).double().T @ right
    torch.testing.assert_close(block.weight.grad, expected)


def test_one_hot_is_that_of_torch():
    tokens = torch.randint(7, (2, 5))
    assert torch.equal(one_hot(tokens, 7), nn.functional.one_hot(tokens, 7))


@pytest.mark.parametrize("token", [-1, 7])
def test_one_hot_of_what_is_outside(token):
    with pytest.raises(ValueError, match=f"tokens must lie from 0 to 6, got {token}; count all classes"):
        one_hot(torch.tensor([0, token]), 7)


def test_same_as_torch():
    ours, peer = Embedding(7, 3), nn.Embedding(7, 3)
    ours.load_state_dict(peer.state_dict())
    tokens = torch.randint(7, (2, 5))
    assert torch.equal(ours(tokens), peer(tokens))


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16], ids=str
)
def test_any_whole_numbers(dtype):
    table = torch.randn(7, 3)
    assert torch.equal(embed(torch.tensor([4, 0]).to(dtype), table), table[[4, 0]])


def test_initial_weights_are_standard_normal():
    weight = Embedding(1000, 100).weight
    # the standard error of a mean of 10⁵ numbers is 0.0032, of their deviation 0.0022
    assert abs(weight.mean().item()) < 0.016
    assert weight.std().item() == pytest.approx(1, abs=0.011)


def test_equal_categories_share_a_vector_and_its_gradient():
    block = Embedding(7, 3)
    block(torch.tensor([4, 4, 1])).sum().backward()
    assert torch.equal(block.weight.grad.sum(1), torch.tensor([0.0, 3.0, 0.0, 0.0, 6.0, 0.0, 0.0]))


def test_tap():
    block, tokens = Embedding(7, 3), torch.randint(7, (2, 5))
    with cut.trace(block, "output") as seen:
        y = block(tokens)
    assert torch.equal(seen["output"], y)


def test_bad_sizes():
    with pytest.raises(ValueError, match="vocabulary must be above 0, got 0; try vocabulary=1"):
        Embedding(0, 3)


@pytest.mark.untyped
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64], ids=str)
def test_bad_input(dtype):
    with pytest.raises(ValueError, match=rf"tokens must be integers, got {dtype}; convert them with tokens.long\(\)"):
        Embedding(7, 3)(torch.ones(2, 5, dtype=dtype))


@pytest.mark.parametrize("token", [5, -1, 2**40])
def test_tokens_outside_the_vocabulary_are_named(token: int):
    with pytest.raises(
        ValueError, match=rf"tokens must lie from 0 to 4, got {token}; encode the text with the model's"
    ):
        Embedding(5, 3)(torch.tensor([[0, token]]))
