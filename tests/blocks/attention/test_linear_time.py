"""Linear attention: the fast forms against the one written out, and its laws."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from cutaway.blocks import (
    LinearState,
    elu_plus_one,
    linear_attention,
    linear_attention_weights,
    linear_state,
    linear_step,
)

FEATURES = [elu_plus_one, torch.relu, torch.exp]


def written_out(q: Tensor, k: Tensor, v: Tensor, feature, causal: bool, mask: Tensor | None = None) -> Tensor:
    """Katharopoulos et al. 2020, eq. 5 and 8, query by query and key by key."""
    rows = []
    for i in range(q.shape[-2]):
        keys = [j for j in range(k.shape[-2]) if (not causal or j <= i) and (mask is None or mask[j])]
        shares = [(feature(q[..., i, :]) * feature(k[..., j, :])).sum(-1, keepdim=True) for j in keys]
        zero = torch.zeros_like(v[..., 0, :])
        total = sum(shares, zero)
        y = sum((share * v[..., j, :] for share, j in zip(shares, keys)), zero)
        rows.append(torch.where(total > 0, y / total.where(total > 0, 1), 0))
    return torch.stack(rows, -2)


def test_by_hand():
    """φ is 2 at 1, 1 at 0 and e⁻¹ at −1. Shares of the only query: 2·1, 2·2, so weights 1/3 and 2/3."""
    q, k, v = torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([[3.0, 0.0], [0.0, 6.0]])
    torch.testing.assert_close(linear_attention(q, k, v), torch.tensor([[1.0, 4.0]]))
    torch.testing.assert_close(linear_attention_weights(q, k), torch.tensor([[1 / 3, 2 / 3]]))


def test_feature_map_is_elu_plus_one(float64):
    x = torch.linspace(-5, 5, 101, requires_grad=True)
    torch.testing.assert_close(elu_plus_one(x), nn.functional.elu(x) + 1)
    slope, peer = (torch.autograd.grad(y.sum(), x)[0] for y in (elu_plus_one(x), nn.functional.elu(x)))
    torch.testing.assert_close(slope, peer)


def test_feature_map_keeps_small_numbers():
    x = torch.tensor([-40.0])
    assert (nn.functional.elu(x) + 1).item() == 0
    assert elu_plus_one(x).item() == pytest.approx(torch.exp(x).item())


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 11, 64])
def test_same_as_written_out_with_gradients(feature, causal: bool, masked: bool, chunk: int, float64):
    q, k, v = (torch.randn(2, 11, width, requires_grad=True) for width in (3, 3, 5))
    mask = torch.arange(11) % 4 != 0 if masked else None  # the first key is masked too
    ours = linear_attention(q, k, v, feature, causal, mask, chunk)
    peer = written_out(q, k, v, feature, causal, mask)
    torch.testing.assert_close(ours, peer)
    torch.testing.assert_close(linear_attention_weights(q, k, feature, causal, mask) @ v, peer)
    upstream = torch.randn_like(peer)
    for mine, other in zip(*(torch.autograd.grad(y, (q, k, v), upstream) for y in (ours, peer))):
        torch.testing.assert_close(mine, other)


def test_cross_attention_and_masks_per_example(float64):
    q, k, v = torch.randn(2, 1, 5, 3), torch.randn(2, 1, 7, 3), torch.randn(2, 1, 7, 2)
    mask = torch.arange(7) < torch.tensor([[[4]], [[7]]])  # batch, heads, keys
    y = linear_attention(q, k, v, mask=mask)
    torch.testing.assert_close(y[0], linear_attention(q[0], k[0, :, :4], v[0, :, :4]))
    torch.testing.assert_close(y[1], linear_attention(q[1], k[1], v[1]))


@given(length=st.integers(1, 20), seed=st.integers(0, 100))
@settings(max_examples=20)
def test_weights_are_shares(length: int, seed: int):
    draw = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, length, 3, generator=draw, dtype=torch.float64)
    A = linear_attention_weights(q, k, causal=True)
    assert (A >= 0).all()
    torch.testing.assert_close(A.sum(-1), torch.ones_like(A.sum(-1)))
    assert not A.triu(1).any()


def test_causal_outputs_do_not_see_the_future(float64):
    q, k, v = torch.randn(3, 2, 20, 4)
    before = linear_attention(q, k, v, causal=True, chunk=6)
    k[:, 13:], v[:, 13:] = torch.randn(2, 2, 7, 4)
    after = linear_attention(q, k, v, causal=True, chunk=6)
    assert torch.equal(after[:, :13], before[:, :13])
    assert not torch.isclose(after[:, 13:], before[:, 13:]).any()


def test_order_of_keys_does_not_matter_without_the_mask(float64):
    q, k, v = torch.randn(3, 9, 4)
    order = torch.randperm(9)
    torch.testing.assert_close(linear_attention(q, k[order], v[order]), linear_attention(q, k, v))


@pytest.mark.parametrize("prompt", [0, 5])
def test_one_token_at_a_time_is_all_at_once(prompt: int, float64):
    q, k, v = (torch.randn(2, 3, 11, width) for width in (4, 4, 5))
    parallel = linear_attention(q, k, v, causal=True)
    state = linear_state(k[..., :prompt, :], v[..., :prompt, :])
    for t in range(prompt, 11):
        y, state = linear_step(state, q[..., t, :], k[..., t, :], v[..., t, :])
        torch.testing.assert_close(y, parallel[..., t, :])
    assert state.S.shape == (2, 3, 4, 5)  # whatever the length
    whole = linear_state(k, v)
    torch.testing.assert_close(state.S, whole.S)
    torch.testing.assert_close(state.z, whole.z)


def test_state_leaves_masked_keys_out(float64):
    k, v = torch.randn(7, 3), torch.randn(7, 2)
    mask = torch.arange(7) != 2
    some, others = linear_state(k, v, mask=mask), linear_state(k[mask], v[mask])
    torch.testing.assert_close(some.S, others.S)
    torch.testing.assert_close(some.z, others.z)


def test_nothing_to_look_at_gives_zeros():
    q, k, v = (torch.randn(1, 5, 3, requires_grad=True) for _ in range(3))
    nobody = torch.zeros(5, dtype=torch.bool)
    for causal in (False, True):
        y = linear_attention(q, k, v, causal=causal, mask=nobody)
        assert torch.equal(y, torch.zeros(1, 5, 3))
        assert all(not slope.isnan().any() for slope in torch.autograd.grad(y.sum(), (q, k, v)))
    assert torch.equal(linear_attention_weights(q, k, mask=nobody), torch.zeros(1, 5, 5))
    closed = linear_attention(q, -k.abs(), v, feature=torch.relu)
    assert torch.equal(closed, torch.zeros(1, 5, 3))
    start = LinearState(torch.zeros(3, 3), torch.zeros(3))
    assert torch.equal(linear_step(start, -torch.ones(3), -torch.ones(3), torch.ones(3), torch.relu)[0], torch.zeros(3))


def test_half_precision_is_summed_in_float32():
    """2,000 terms of size 40 pass float16's largest number, 65,504."""
    q, k, v = (torch.full((2000, 4), size, dtype=torch.float16) for size in (3.0, 3.0, 7.0))
    y = linear_attention(q, k, v, causal=True)
    assert y.dtype == torch.float16
    torch.testing.assert_close(y, v, rtol=1e-3, atol=0)
    step, state = linear_step(linear_state(k, v), q[0], k[0], v[0])
    assert step.dtype == torch.float16
    assert state.S.dtype == torch.float32


def test_memory_grows_with_the_length_not_its_square():
    """The largest tensor that autograd keeps, for 4 times the length, is 4 times as large."""

    def largest(n: int) -> int:
        sizes = []
        q, k, v = (torch.randn(n, 4, requires_grad=True) for _ in range(3))
        with torch.autograd.graph.saved_tensors_hooks(lambda x: (sizes.append(x.numel()), x)[1], lambda x: x):
            linear_attention(q, k, v, causal=True, chunk=16)
        return max(sizes)

    assert largest(1024) == 4 * largest(256)


def test_bad_lengths():
    x = torch.zeros(5, 3)
    with pytest.raises(
        ValueError,
        match="causal linear attention needs one query for each key, got 5 queries and 7 keys; "
        "to go on from earlier keys use linear_step",
    ):
        linear_attention(x, torch.zeros(7, 3), torch.zeros(7, 3), causal=True)
    with pytest.raises(ValueError, match="chunk must be above 0, got 0; try chunk=1"):
        linear_attention(x, x, x, chunk=0)


@pytest.mark.untyped
def test_bad_input():
    x = torch.zeros(5, 3)
    with pytest.raises(ValueError, match="q and k must have one width, got 3 and 4; project them to the same width"):
        linear_attention(x, torch.zeros(5, 4), x)
    with pytest.raises(
        ValueError,
        match="there must be one value for each key, got 5 keys and 6 values; take both from the same sequence",
    ):
        linear_attention(x, x, torch.zeros(6, 3))
    with pytest.raises(ValueError, match=r"v must be a float tensor, got torch.int64"):
        linear_attention(x, x, x.long())
