"""Tensor products by hand, against numpy, and by their laws."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.blocks import is_pure, matricise, outer, pure_tensor


def test_outer_by_hand():
    S, T = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0, 100.0])
    product = outer(S, T)
    assert product.shape == (2, 2, 3)
    assert product[1, 0].tolist() == [3.0, 30.0, 300.0]  # S₁₀ T


def test_outer_entry_by_entry_as_numpy(float64):
    S, T, v = torch.randn(2, 3), torch.randn(5), torch.randn(7, 2)
    expected = np.multiply.outer(np.multiply.outer(S.numpy(), T.numpy()), v.numpy())
    assert torch.equal(outer(S, T, v), torch.from_numpy(expected))
    assert torch.equal(outer(S, T), torch.einsum("ij,k->ijk", S, T))


def test_a_scalar_scales():
    v = torch.randn(3)
    assert torch.equal(outer(torch.tensor(2.0), v), 2 * v)
    assert torch.equal(outer(v), v)


shapes = st.lists(st.integers(1, 3), min_size=0, max_size=3).map(tuple)


@settings(max_examples=50)
@given(shapes, shapes, shapes)
def test_associative_and_orders_add(first, second, third):
    torch.manual_seed(0)
    R, S, T = (torch.randn(shape, dtype=torch.float64) for shape in (first, second, third))
    torch.testing.assert_close(outer(outer(R, S), T), outer(R, outer(S, T)), rtol=1e-15, atol=0)
    assert outer(R, S, T).shape == first + second + third


def test_not_commutative():
    u, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert not torch.equal(outer(u, v), outer(v, u))
    assert torch.equal(outer(u, v), outer(v, u).T)  # equal after the axes change places


def test_matricise_by_hand():
    T = torch.arange(12.0).view(2, 3, 2)
    assert matricise(T, 1).tolist() == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    assert torch.equal(matricise(T, -2), matricise(T, 1))
    assert matricise(torch.ones(3), 0).shape == (3, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3,), (2, 5), (2, 3, 5), (2, 2, 2, 2, 2), (50, 1, 40)])
def test_products_of_vectors_are_pure(shape, dtype):
    T = pure_tensor(*[torch.randn(d, dtype=dtype) for d in shape])
    assert T.shape == shape
    assert is_pure(T)


def test_a_sum_of_two_is_not_pure(float64):
    vectors = torch.randn(2, 3, 5)
    T = pure_tensor(*vectors[0]) + pure_tensor(*vectors[1])
    assert not is_pure(T)
    small = pure_tensor(*vectors[0]) + 1e-6 * pure_tensor(*vectors[1])
    assert not is_pure(small)
    assert is_pure(small, tolerance=1e-4)


def test_all_axes_are_looked_at():
    # e₁⊗(e₁⊗e₁ + e₂⊗e₂): one matricisation has rank one, the others have rank two
    T = outer(torch.tensor([1.0, 0.0]), torch.eye(2))
    assert [int(torch.linalg.matrix_rank(matricise(T, axis))) for axis in range(3)] == [1, 2, 2]
    assert not is_pure(T)
    assert not is_pure(T.movedim(0, 1))
    assert not is_pure(T.movedim(0, 2))


def test_degenerate_tensors_are_pure():
    assert is_pure(torch.zeros(2, 3, 5))
    assert is_pure(torch.tensor(3.0))
    assert is_pure(torch.zeros(2, 0, 3))


def test_the_nearest_matrix_of_rank_one_is_pure(float64):
    U, S, V = torch.linalg.svd(torch.randn(3, 5), full_matrices=False)
    assert is_pure(S[0] * outer(U[:, 0], V[0]))


def test_bad_axes_and_nothing():
    with pytest.raises(ValueError, match=r"outer needs at least one tensor, got none; an empty product is torch.ones"):
        outer()
    with pytest.raises(ValueError, match=r"axis must be one of the tensor's 2, got axis=2 for shape \(3, 5\); count"):
        matricise(torch.zeros(3, 5), 2)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"vectors\[1\] must be of order 1, got shape \(2, 2\); for other orders use"):
        pure_tensor(torch.ones(2), torch.eye(2))
    with pytest.raises(ValueError, match=r"tensors\[1\] must be a float tensor, got torch.int64; convert it with"):
        outer(torch.ones(2), torch.ones(2, dtype=torch.long))
    with pytest.raises(ValueError, match=r"tensor must be a float tensor, got torch.int64"):
        is_pure(torch.ones(2, dtype=torch.long))
