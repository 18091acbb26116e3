"""T5's buckets and ALiBi against Hugging Face's T5 and BLOOM, by hand, and by their laws."""

import pytest
import torch
from transformers import T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

import cutaway as cut
from cutaway.blocks import RelativeBias, alibi_bias, alibi_slopes, relative_buckets


def test_buckets_by_hand():
    """8 buckets each way: 4 exact, then 4 + ⌊4 log(n/4) / log(16/4)⌋, which is 5 from 4√2 ≈ 5.66 on, 6 from 8 on."""
    row = relative_buckets(1, 23, buckets=16, distance=16, offset=11)[0].tolist()
    before = [6, 6, 6, 6, 5, 5, 4, 4, 3, 2, 1]  # distances 11 … 1; 7 would begin at 8√2 ≈ 11.3
    assert row == [*before, 0, *(8 + b for b in reversed(before))]


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 11), (33, 100), (64, 1000), (4, 3), (6, 128)])
def test_buckets_are_those_of_t5(buckets: int, distance: int, bidirectional: bool):
    delta = torch.arange(301) - torch.arange(290).unsqueeze(-1)
    peer = T5Attention._relative_position_bucket(delta, bidirectional, buckets, distance)
    ours = relative_buckets(290, 301, buckets, distance, bidirectional)
    assert torch.equal(ours, peer)
    assert torch.equal(relative_buckets(7, 301, buckets, distance, bidirectional, offset=200), peer[200:207])


def test_all_distances_beyond_the_last_share_a_bucket():
    near, far = relative_buckets(1, 1000, offset=500)[0, [0, 372]], relative_buckets(1, 9, offset=10**6)
    assert near.tolist() == [15, 15]
    assert far.unique().tolist() == [15]


@pytest.mark.parametrize("decoder", [False, True])
def test_bias_is_that_of_t5(decoder: bool, float64):
    config = T5Config(d_model=16, d_kv=8, num_heads=5, relative_attention_num_buckets=32, is_decoder=decoder)
    peer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    ours = RelativeBias(5, 32, 128, bidirectional=not decoder)
    ours.load_state_dict(peer.relative_attention_bias.state_dict())
    assert torch.equal(ours(7, 11), peer.compute_bias(7, 11)[0])
    assert torch.equal(ours(3, 200, offset=197), peer.compute_bias(3, 200, past_seen_tokens=197)[0])


def test_bias_is_the_weight_of_the_bucket_with_gradient(float64):
    layer = RelativeBias(3, buckets=8, distance=11)
    by_bucket = layer.weight[relative_buckets(5, 7, 8, 11, offset=4)].permute(2, 0, 1)
    upstream = torch.randn(3, 5, 7)
    assert torch.equal(layer(5, 7, offset=4), by_bucket)
    ours = torch.autograd.grad(layer(5, 7, offset=4), layer.weight, upstream)[0]
    torch.testing.assert_close(ours, torch.autograd.grad(by_bucket, layer.weight, upstream)[0])


def test_bias_depends_on_the_distance_alone():
    B = RelativeBias(2)(40, 40)
    for distance in range(-39, 40):
        assert (B.diagonal(distance, 1, 2) == B.diagonal(distance, 1, 2)[:, :1]).all()


def test_one_query_at_a_time_is_all_at_once():
    layer = RelativeBias(3, bidirectional=False)
    assert torch.equal(torch.cat([layer(1, 9, offset=i) for i in range(9)], 1), layer(9, 9))


def test_bias_is_contiguous():
    """As fused attention wants its masks."""
    assert RelativeBias(3)(5, 7).is_contiguous()


def test_tap_holds_the_bias():
    layer = RelativeBias(3)
    with cut.trace(layer, "bias") as seen:
        B = layer(5, 7)
    assert torch.equal(seen["bias"], B)
    with cut.patch(layer, {"bias": 0.0}):
        assert not layer(5, 7).any()


def test_slopes_by_hand():
    """The paper's: ½ … ½⁸ for 8 heads; for 12 then ½^0.5, ½^1.5 …, every other slope of 16 heads."""
    eight = [2.0**-h for h in range(1, 9)]
    torch.testing.assert_close(alibi_slopes(8), torch.tensor(eight))
    torch.testing.assert_close(alibi_slopes(12), torch.tensor([*eight, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]))


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 31, 32, 33])
def test_alibi_is_that_of_bloom(heads: int):
    """BLOOM adds m·j, not −m (i − j): the same to a softmax, which a constant in each row leaves alone."""
    peer = build_alibi_tensor(torch.ones(1, 9, dtype=torch.long), heads, torch.float32)  # (heads, 1, keys)
    torch.testing.assert_close(alibi_slopes(heads), peer[:, 0, 1])
    later = torch.ones(9, 9).triu(1).bool()
    scores = torch.randn(heads, 9, 9)
    weights = [(scores + bias).masked_fill(later, -torch.inf).softmax(-1) for bias in (alibi_bias(heads, 9, 9), peer)]
    torch.testing.assert_close(weights[0], weights[1])


def test_alibi_by_hand_and_with_a_cache():
    B = alibi_bias(2, 4, 4)
    m = alibi_slopes(2)  # 2⁻⁴ and 2⁻⁸
    assert m.tolist() == [2**-4, 2**-8]
    assert B[0, 3].tolist() == [-3 / 16, -2 / 16, -1 / 16, 0]
    assert B[1, 0].tolist() == [0, -1 / 256, -2 / 256, -3 / 256]
    assert torch.equal(alibi_bias(2, 1, 4, offset=3), B[:, 3:])
    assert torch.equal(B, B.mT)


def test_dtypes():
    assert alibi_bias(3, 2, 2, dtype=torch.float64).dtype == torch.float64
    assert alibi_bias(3, 2, 2).dtype == torch.float32
    assert RelativeBias(3).bfloat16()(2, 2).dtype == torch.bfloat16


def test_on_the_meta_device():
    with torch.device("meta"):
        layer = RelativeBias(3)
        assert layer(5, 7).shape == (3, 5, 7)
    layer.load_state_dict(RelativeBias(3).state_dict(), assign=True)
    assert layer(5, 7).device.type == "cpu"


def test_bad_sizes():
    with pytest.raises(ValueError, match="buckets must be at least 4 if bidirectional=True, got 2; try buckets=32"):
        relative_buckets(3, 3, buckets=2)
    with pytest.raises(ValueError, match="buckets must be at least 2 if bidirectional=False, got 1; try buckets=32"):
        RelativeBias(3, buckets=1, bidirectional=False)
    with pytest.raises(
        ValueError,
        match="distance must be above 8, the distances with a bucket of their own for buckets=32, got 8; "
        "try distance=128",
    ):
        RelativeBias(3, distance=8)
    with pytest.raises(ValueError, match="heads must be above 0, got 0"):
        RelativeBias(0)
    with pytest.raises(ValueError, match="heads must be above 0, got -1"):
        alibi_slopes(-1)


@pytest.mark.slow
@pytest.mark.untyped
def test_compiles_for_every_length():
    layer = RelativeBias(3)
    fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for queries, keys, offset in ((5, 5, 0), (1, 6, 5), (1, 7, 6)):
        assert torch.equal(fast(queries, keys, offset), layer(queries, keys, offset))


def test_an_empty_sequence_has_an_empty_bias():
    bias = RelativeBias(3)
    for queries, keys in ((0, 0), (0, 5), (5, 0)):
        assert bias(queries, keys, offset=2).shape == (3, queries, keys)
