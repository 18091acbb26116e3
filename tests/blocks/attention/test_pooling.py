"""Pooling by hand, by its laws, and under masks."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import cutaway as cut
from cutaway.blocks import AttentionPool, pool_first, pool_last, pool_max, pool_mean, pool_mean_sqrt, pool_weighted

Z = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]]])
MASK = torch.tensor([[True, True, False]])


def test_by_hand():
    assert torch.equal(pool_first(Z), torch.tensor([[1.0, 10.0]]))
    assert torch.equal(pool_last(Z), torch.tensor([[6.0, 60.0]]))
    assert torch.equal(pool_last(Z, MASK), torch.tensor([[2.0, 20.0]]))
    assert torch.equal(pool_mean(Z), torch.tensor([[3.0, 30.0]]))
    assert torch.equal(pool_mean(Z, MASK), torch.tensor([[1.5, 15.0]]))
    assert torch.equal(pool_max(Z), torch.tensor([[6.0, 60.0]]))
    assert torch.equal(pool_max(-Z, MASK), torch.tensor([[-1.0, -10.0]]))
    torch.testing.assert_close(pool_mean_sqrt(Z, MASK), torch.tensor([[3.0, 30.0]]) / 2**0.5)
    torch.testing.assert_close(pool_weighted(Z), torch.tensor([[23.0, 230.0]]) / 6)  # 1·1 + 2·2 + 3·6
    torch.testing.assert_close(pool_weighted(Z, MASK), torch.tensor([[5.0, 50.0]]) / 3)
    pool = AttentionPool(2)
    with torch.no_grad():
        pool.map.weight.zero_()  # no preference: the mean
    torch.testing.assert_close(pool(Z, MASK), pool_mean(Z, MASK))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 99))
def test_padding_counts_for_nothing(lengths, seed):
    """A batch of sequences padded on the right pools as each of them alone; an empty one gives zeros."""
    torch.manual_seed(seed)
    z = torch.randn(len(lengths), 5, 3, dtype=torch.float64)
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    attention = AttentionPool(3).double()
    for pool in (pool_last, pool_mean, pool_mean_sqrt, pool_weighted, pool_max, attention):
        together = pool(z, mask)
        for i, n in enumerate(lengths):
            if n:
                torch.testing.assert_close(together[i], pool(z[i, :n]))
            elif pool is not pool_last:
                assert torch.equal(together[i], torch.zeros(3, dtype=torch.float64))


def test_padding_on_the_left(float64):
    z, mask = torch.randn(2, 5, 3), torch.arange(5) >= torch.tensor([0, 3])[:, None]
    assert torch.equal(pool_last(z, mask), z[:, -1])
    torch.testing.assert_close(pool_mean(z, mask)[1], z[1, 3:].mean(0))
    torch.testing.assert_close(pool_weighted(z, mask)[1], (z[1, 3] + 2 * z[1, 4]) / 3)


def test_order_does_not_matter_to_mean_and_attention(float64):
    z, p = torch.randn(2, 5, 3), torch.tensor([3, 1, 4, 0, 2])
    for pool in (pool_mean, pool_max, AttentionPool(3)):
        torch.testing.assert_close(pool(z[:, p]), pool(z))
    for pool in (pool_first, pool_last):
        assert not torch.allclose(pool(z[:, p]), pool(z))


def test_attention_equation_and_taps(float64):
    pool, z = AttentionPool(3), torch.randn(2, 4, 5, 3)
    mask = torch.rand(2, 1, 5) < 0.6
    mask[..., 0] = True
    with cut.trace(pool, "weights", "output") as seen:
        s = pool(z, mask)
    alpha = torch.softmax((z @ pool.map.weight).squeeze(-1).masked_fill(~mask, -torch.inf), -1)
    torch.testing.assert_close(seen["weights"], alpha)
    torch.testing.assert_close(s, torch.einsum("abt,abtw->abw", alpha, z))
    assert torch.equal(seen["output"], s)


@pytest.mark.parametrize("pool", [pool_first, pool_last, pool_mean, AttentionPool(3)])
def test_any_leading_axes(pool):
    z, mask = torch.randn(2, 4, 5, 3), torch.arange(5) < 3
    whole = pool(z, mask.expand(2, 4, 5))
    torch.testing.assert_close(pool(z, mask), whole)
    torch.testing.assert_close(pool(z, mask[None]), whole)
    torch.testing.assert_close(pool(z[1, 2], mask), whole[1, 2])


def test_a_mean_of_half_precision_is_summed_in_full():
    z = torch.full((1, 3000, 1), 60.0, dtype=torch.float16)  # the sum, 180,000, is beyond float16
    mask = torch.ones(1, 3000, dtype=torch.bool)
    assert torch.equal(pool_mean(z, mask), torch.full((1, 1), 60.0, dtype=torch.float16))


def test_gradients_reach_real_tokens_only(float64):
    for pool in (pool_last, pool_mean, AttentionPool(2)):
        z = Z.double().clone().requires_grad_()
        (slope,) = torch.autograd.grad(pool(z, MASK).sum(), z)
        assert torch.equal(slope[0, 2], torch.zeros(2))
        assert slope[0, 1].abs().min() > 0


@pytest.mark.untyped
@pytest.mark.parametrize("pool", [pool_first, pool_last, pool_mean, AttentionPool(3)])
def test_bad_input(pool):
    z = torch.randn(2, 5, 3)
    with pytest.raises(
        ValueError, match=r"a mask must be boolean, True at real tokens, got torch.float32; use mask.bool"
    ):
        pool(z, torch.ones(2, 5))
    for shape in ((2, 4), (3, 5), (2, 2, 5), (2, 5, 1)):
        mask = torch.ones(shape, dtype=torch.bool)
        with pytest.raises(ValueError, match=rf"got shape \({', '.join(map(str, shape))}\) for z of shape \(2, 5, 3\)"):
            pool(z, mask)
    with pytest.raises(
        ValueError, match=r"z must have shape \(..., tokens, width\) with a token, got \(2, 0, 3\); skip"
    ):
        pool(z[:, :0])
    with pytest.raises(ValueError, match=r"z must be a float tensor, got torch.int64"):
        pool(z.long())
