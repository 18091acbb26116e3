"""Transformer layers against torch's, in each order of the norms, and by hand."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import MLP, Cache, DecoderLayer, EncoderLayer, LayerNorm, MultiHeadAttention, RMSNorm, gelu, relu


def encoder(order="pre", heads=3, dropout=0.0, **attention):
    return EncoderLayer(
        MultiHeadAttention(6, heads, **attention), MLP(6, 7, relu), lambda: LayerNorm(6), order, dropout
    )


def decoder(order="pre", dropout=0.0):
    return DecoderLayer(
        MultiHeadAttention(6, 3), MultiHeadAttention(6, 2), MLP(6, 7, relu), lambda: LayerNorm(6), order, dropout
    )


def shake(layer):
    """Norms start as ones and zeros, which would hide mistakes."""
    with torch.no_grad():
        for p in layer.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return layer


def copy_attention(theirs, ours):
    theirs.in_proj_weight.copy_(ours.qkv.weight.T)
    theirs.in_proj_bias.copy_(ours.qkv.bias)
    theirs.out_proj.weight.copy_(ours.out.weight.T)
    theirs.out_proj.bias.copy_(ours.out.bias)


@torch.no_grad()
def as_torchs(ours):
    """torch's layer with our weights. Of its norms the last belongs to the MLP."""
    cross = isinstance(ours, DecoderLayer)
    kind = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    theirs = kind(6, 3, 7, 0.0, batch_first=True, norm_first=ours.order == "pre")
    copy_attention(theirs.self_attn, ours.attention)
    norms = [(theirs.norm1, ours.norm_attention)]
    if cross:
        theirs.multihead_attn = nn.MultiheadAttention(6, 2, batch_first=True)
        copy_attention(theirs.multihead_attn, ours.cross)
        norms += [(theirs.norm2, ours.norm_cross), (theirs.norm3, ours.norm_mlp)]
    else:
        norms += [(theirs.norm2, ours.norm_mlp)]
    for theirs_part, ours_part in norms:
        theirs_part.load_state_dict(ours_part.state_dict())
    for theirs_part, ours_part in ((theirs.linear1, ours.mlp.up), (theirs.linear2, ours.mlp.down)):
        theirs_part.weight.copy_(ours_part.weight.T)
        theirs_part.bias.copy_(ours_part.bias)
    return theirs


def assert_same_with_gradients(y, z, *inputs):
    torch.testing.assert_close(y, z)
    back = torch.randn_like(y)
    for one, other in zip(
        torch.autograd.grad((y * back).sum(), inputs), torch.autograd.grad((z * back).sum(), inputs), strict=True
    ):
        torch.testing.assert_close(one, other)


HIDDEN = torch.ones(5, 5).triu(1).bool()
REAL = torch.arange(5) < torch.tensor([5, 3])[:, None]


@pytest.mark.parametrize("order", ["pre", "post"])
def test_torchs_encoder_layer(order, float64):
    ours = shake(encoder(order))
    theirs = as_torchs(ours)
    x = torch.randn(2, 5, 6, requires_grad=True)
    assert_same_with_gradients(ours(x), theirs(x), x)
    assert_same_with_gradients(ours(x, causal=True), theirs(x, src_mask=HIDDEN), x)
    padded = ours(x, mask=REAL[:, None, None]), theirs(x, src_key_padding_mask=~REAL)
    assert_same_with_gradients(*padded, x)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_torchs_decoder_layer(order, float64):
    ours = shake(decoder(order))
    theirs = as_torchs(ours)
    x, memory = torch.randn(2, 4, 6, requires_grad=True), torch.randn(2, 5, 6, requires_grad=True)
    hidden = HIDDEN[:4, :4]
    assert_same_with_gradients(ours(x, memory), theirs(x, memory, tgt_mask=hidden), x, memory)
    masked = theirs(x, memory, tgt_mask=hidden, memory_key_padding_mask=~REAL)
    assert_same_with_gradients(ours(x, memory, REAL[:, None, None]), masked, x, memory)


def test_parallel_by_hand(float64):
    layer, x = shake(encoder("parallel")), torch.randn(2, 5, 6)
    normed = layer.norm_attention(x)
    expected = x + layer.attention(normed, causal=True) + layer.mlp(normed)
    torch.testing.assert_close(layer(x, causal=True), expected)
    assert layer.norm_mlp is None
    assert layer.between is None


@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_stream_before_between_and_after(order, float64):
    layer, x = shake(encoder(order)), torch.randn(2, 5, 6)
    taps = ["before", "between", "after", "attention.output", "mlp.output"]
    with cut.trace(layer, taps) as seen:
        y = layer(x)
    assert torch.equal(seen["before"], x)
    assert torch.equal(seen["after"], y)
    between, after = x + seen["attention.output"], seen["between"] + seen["mlp.output"]
    if order == "post":
        between, after = layer.norm_attention(between), layer.norm_mlp(after)
    torch.testing.assert_close(seen["between"], between)
    torch.testing.assert_close(seen["after"], after)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_stream_of_a_decoder(order, float64):
    layer, x, memory = shake(decoder(order)), torch.randn(2, 5, 6), torch.randn(2, 7, 6)
    with cut.trace(layer, "before", "between", "beyond", "after", "cross.output", "cross.weights") as seen:
        y = layer(x, memory)
    beyond = seen["between"] + seen["cross.output"]
    torch.testing.assert_close(seen["beyond"], beyond if order == "pre" else layer.norm_cross(beyond))
    assert torch.equal(seen["after"], y)
    assert seen["cross.weights"].shape == (2, 2, 5, 7)
    with cut.patch(layer, {"beyond": 0.0}):  # all that came before is lost
        torch.testing.assert_close(layer(x, memory), layer(0 * x, 0 * memory))


def test_a_silent_layer_passes_the_stream_on():
    """Pre-norm with both maps back into the stream at zero is the identity."""
    for order in ("pre", "parallel"):
        layer, x = encoder(order), torch.randn(2, 5, 6)
        for end in (layer.attention.out, layer.mlp.down):
            nn.init.zeros_(end.weight)
            nn.init.zeros_(end.bias)
        assert torch.equal(layer(x), x)


@pytest.mark.parametrize("order", ["pre", "post", "parallel"])
def test_tokens_permute_with_the_input(order, float64):
    layer, x, p = shake(encoder(order)), torch.randn(2, 5, 6), torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(layer(x[:, p]), layer(x)[:, p])
    assert not torch.allclose(layer(x[:, p], causal=True), layer(x, causal=True)[:, p], atol=1e-3)


@pytest.mark.parametrize("order", ["pre", "post", "parallel"])
def test_token_by_token_is_one_pass(order, float64):
    layer, x = shake(encoder(order)), torch.randn(2, 5, 6)
    cache = Cache(1, 2, 3, 5, 2, x).layers[0]
    parts = [layer(part, cache, causal=True) for part in x.split(1, 1)]
    torch.testing.assert_close(torch.cat(parts, 1), layer(x, causal=True), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_decoder_token_by_token_is_one_pass(order, float64):
    layer, x, memory = shake(decoder(order)), torch.randn(2, 5, 6), torch.randn(2, 7, 6)
    cache = Cache(1, 2, 3, 5, 2, x)
    step = lambda part: layer(part, memory, cache=cache.layers[0], memory_cache=cache.memories[0])
    together = torch.cat([step(part) for part in x.split(1, 1)], 1)
    torch.testing.assert_close(together, layer(x, memory), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", ["pre", "post", "parallel"])
def test_dropout_in_training_only(order, float64):
    layer, x = shake(encoder(order, dropout=0.9)), torch.randn(2, 5, 6)
    assert not torch.allclose(layer(x), layer(x))
    with cut.trace(layer, "attention.output", "mlp.output") as seen:
        torch.manual_seed(1)
        y = layer(x)
    drop = lambda z: nn.functional.dropout(z, 0.9)
    torch.manual_seed(1)
    attended, worked = seen["attention.output"], seen["mlp.output"]
    if order == "parallel":
        expected = x + drop(attended + worked)
    elif order == "pre":
        expected = x + drop(attended) + drop(worked)
    else:
        expected = layer.norm_mlp(layer.norm_attention(x + drop(attended)) + drop(worked))
    torch.testing.assert_close(y, expected)
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_other_norms_and_networks():
    layer = EncoderLayer(MultiHeadAttention(6, 3), MLP(6, 7, gelu), lambda: RMSNorm(6))
    assert layer(torch.randn(2, 5, 6)).shape == (2, 5, 6)
    assert layer.norm_attention is not layer.norm_mlp
    assert "order=pre" in repr(layer)
    assert "order=post, dropout=0.1" in repr(decoder("post", 0.1))


def test_bad_sizes():
    with pytest.raises(ValueError, match="order must be one of pre, post, parallel, got 'before'; pick one of these"):
        encoder("before")
    with pytest.raises(ValueError, match="order must be one of pre, post, got 'parallel'; pick one of these"):
        decoder("parallel")
    with pytest.raises(ValueError, match="dropout must be a probability from 0 to 1, got -1"):
        encoder(dropout=-1)


@pytest.mark.untyped
def test_bad_input():
    x = torch.randn(2, 5, 7)
    with pytest.raises(ValueError, match=r"the last axis of x must have width 6, got shape \(2, 5, 7\)"):
        encoder("post")(x)
    with pytest.raises(ValueError, match=r"queries, keys\) = \(2, 3, 5, 5\), got shape \(2, 5\)"):
        encoder()(x[..., :6], mask=REAL)
    with pytest.raises(ValueError, match=r"the last axis of memory must have width 6, got shape \(2, 5, 7\)"):
        decoder()(x[..., :6], x)


@pytest.mark.untyped
@pytest.mark.slow
@pytest.mark.parametrize("order", ["pre", "post", "parallel"])
def test_compiles(order):
    layer, x = encoder(order), torch.randn(2, 5, 6)
    torch._dynamo.reset()
    fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(fast(x, causal=True), layer(x, causal=True))
