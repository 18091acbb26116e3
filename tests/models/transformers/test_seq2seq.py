"""Encoder–decoders: the one of 2017 against PyTorch's own, and the laws that both obey."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.models import T5, T5Spec, Transformer, TransformerSpec, from_spec

SIZES = dict(vocabulary=13, width=12, depth=2, heads=3)
T5_SPEC = T5Spec.t5(**SIZES, head_width=5)
SPECS = {
    "transformer": TransformerSpec.base(**SIZES, context=16, dropout=0.0),
    "pre": TransformerSpec.base(**SIZES, context=16, dropout=0.0, order="pre"),
    "t5": T5_SPEC,
    "t5_gated": T5Spec.t5(**SIZES, gated=True),
    "t5_window": T5_SPEC.but(attention__window=3),
    "bare": T5_SPEC.but(head=None, decoder_depth=1),
}
every_model = pytest.mark.parametrize("name", SPECS)


def build(name: str) -> Transformer | T5:
    torch.manual_seed(0)
    model = from_spec(SPECS[name]).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model


def draw(*shape: int) -> torch.Tensor:
    return torch.randint(0, 13, shape)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("order", ["post", "pre"])
def test_the_transformer_equals_torch(order: str):
    """nn.Transformer with our weights, embeddings and positions: Vaswani et al. 2017."""
    model = build("transformer" if order == "post" else "pre")
    peer = nn.Transformer(12, 3, 2, 2, 48, 0.0, batch_first=True, norm_first=order == "pre").double().eval()
    if order == "post":  # torch adds norms at the ends, also where layers end in one
        peer.encoder.norm = peer.decoder.norm = None
    else:
        peer.encoder.norm.load_state_dict(model.encoder_norm.state_dict())
        peer.decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    for side, ours in ((peer.encoder, model.encoder), (peer.decoder, model.decoder)):
        for theirs, mine in zip(side.layers, ours, strict=True):
            pairs = [(theirs.self_attn, mine.attention)]
            norms = [(theirs.norm1, mine.norm_attention)]
            if side is peer.decoder:
                pairs.append((theirs.multihead_attn, mine.cross))
                norms += [(theirs.norm2, mine.norm_cross), (theirs.norm3, mine.norm_mlp)]
            else:
                norms.append((theirs.norm2, mine.norm_mlp))
            for other, own in pairs:
                other.in_proj_weight.data, other.in_proj_bias.data = own.qkv.weight.data.T, own.qkv.bias.data
                other.out_proj.weight.data, other.out_proj.bias.data = own.out.weight.data.T, own.out.bias.data
            for other, own in norms:
                other.load_state_dict(own.state_dict())
            for other, own in ((theirs.linear1, mine.mlp.up), (theirs.linear2, mine.mlp.down)):
                other.weight.data, other.bias.data = own.weight.data.T, own.bias.data
    tokens, answer = draw(2, 7), draw(2, 5)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[1, 5:] = False
    place = lambda t: model.embed.weight[t] * 12**0.5 + cut.blocks.sinusoids(torch.arange(t.shape[1]).double(), 12)
    with torch.no_grad():
        y = peer(
            place(tokens),
            place(answer),
            tgt_mask=torch.ones(5, 5).triu(1).bool(),
            src_key_padding_mask=~mask,
            memory_key_padding_mask=~mask,
        )
        torch.testing.assert_close(model(tokens, answer, mask), y @ model.embed.weight.T)


@every_model
def test_decoding_in_two_steps_equals_the_whole(name: str):
    model, tokens, answer = build(name), draw(2, 7), draw(2, 5)
    memory = model.encode(tokens)
    assert memory.shape == (2, 7, 12)
    assert torch.equal(model(tokens, answer), model.decode(answer, memory))
    assert model(tokens, answer).shape == (2, 5, 12 if name == "bare" else 13)


@every_model
def test_the_decoder_is_causal_and_the_encoder_is_not(name: str):
    model, tokens, answer = build(name), draw(1, 4), draw(1, 6)
    changed = answer.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 13
    before, after = model(tokens, answer), model(tokens, changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % 13
    assert not torch.allclose(model.encode(tokens)[:, 1], model.encode(other)[:, 1])
    assert not torch.allclose(before[:, 0], model(other, answer)[:, 0])


@every_model
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_of_the_source_changes_nothing(name: str, side: str):
    model, tokens, answer = build(name), draw(2, 5), draw(2, 4)
    parts = [draw(2, 2), tokens] if side == "left" else [tokens, draw(2, 2)]
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[:, slice(0, 2) if side == "left" else slice(5, 7)] = False
    padded = torch.cat(parts, 1)
    torch.testing.assert_close(model.encode(padded, mask)[mask], model.encode(tokens).flatten(0, 1))
    torch.testing.assert_close(model(padded, answer, mask), model(tokens, answer))


@every_model
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_of_the_answer_changes_nothing(name: str, side: str):
    model, tokens, answer = build(name), draw(2, 5), draw(2, 4)
    parts = [draw(2, 2), answer] if side == "left" else [answer, draw(2, 2)]
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[:, slice(0, 2) if side == "left" else slice(4, 6)] = False
    got = model(tokens, torch.cat(parts, 1), decoder_mask=mask)
    torch.testing.assert_close(got[mask], model(tokens, answer).flatten(0, 1))


@every_model
@pytest.mark.parametrize("steps", [[1] * 6, [3, 1, 2]], ids=["one by one", "in parts"])
def test_a_cache_changes_nothing(name: str, steps: list[int]):
    model, tokens, answer = build(name), draw(2, 7), draw(2, 6)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[0, :3] = False
    with torch.no_grad():
        memory, cache = model.encode(tokens, mask), model.new_cache(2, 6)
        parts = [model.decode(part, memory, cache, mask) for part in answer.split(steps, 1)]
        torch.testing.assert_close(torch.cat(parts, 1), model(tokens, answer, mask))


@every_model
def test_checkpointing_gives_the_same_gradients(name: str):
    model, tokens, answer = build(name), draw(2, 6), draw(2, 4)
    again = from_spec(model.spec.but(checkpointing=True)).double()
    again.load_state_dict(model.state_dict())
    for one in (model, again):
        one(tokens, answer).square().mean().backward()
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        if p.grad is not None:
            torch.testing.assert_close(p.grad, q.grad)


def test_t5_scales_its_output_and_not_its_scores():
    model = build("t5")
    x = torch.randn(3, 12, dtype=torch.float64)
    torch.testing.assert_close(model.read_out(x), x @ model.embed.weight.T / 12**0.5)
    untied = from_spec(SPECS["t5"].but(head__tied=False)).double()
    torch.testing.assert_close(untied.read_out(x), x @ untied.unembed.weight / 12**0.5)
    assert model.encoder[0].attention.scale == 1.0
    assert not build("t5_gated").spec.scale_output


def test_the_memory_can_be_edited():
    model, tokens, answer = build("t5"), draw(1, 4), draw(1, 3)
    with cut.patch(model, {"memory": 0.0}):
        nothing = model(tokens, answer)
    assert torch.equal(nothing, model.decode(answer, torch.zeros(1, 4, 12, dtype=torch.float64)))


@pytest.mark.untyped
def test_messages():
    model = build("transformer")
    with pytest.raises(ValueError, match="the model's context is 16 tokens, got 17"):
        model.encode(draw(1, 17))
    with pytest.raises(ValueError, match="the model's context is 16 tokens, got 17"):
        model(draw(1, 3), draw(1, 17))
    with pytest.raises(ValueError, match=r"a mask must have the tokens' shape \(1, 3\), got \(1, 2\)"):
        model(draw(1, 3), draw(1, 3), decoder_mask=torch.ones(1, 2) > 0)
    assert build("t5")(draw(1, 40), draw(1, 30)).shape == (1, 30, 13), "relative positions have no end"
    with pytest.raises(ValueError, match="a Transformer is built from a TransformerSpec, got T5Spec"):
        Transformer(SPECS["t5"])
