"""BERT: both directions, padding, segments, positions of every kind."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.models import BERT, BERTSpec, HeadSpec, PositionSpec

SIZES = dict(vocabulary=13, width=12, depth=2, heads=3, context=16)
PLAIN = BERTSpec.bert(**SIZES)
DESIGNS = {
    "bert": PLAIN,
    "roberta": PLAIN.but(position_start=2, segments=1),
    "pre": PLAIN.but(order="pre"),
    "rotary": PLAIN.but(position=PositionSpec("rotary"), segments=0),
    "alibi": PLAIN.but(position=PositionSpec("alibi")),
    "sinusoidal": PLAIN.but(position=PositionSpec("sinusoidal")),
    "none": PLAIN.but(position=PositionSpec("none")),
    "window": PLAIN.but(attention__window=2),
    "masked": PLAIN.but(head=HeadSpec("masked")),
    "tags": PLAIN.but(head=HeadSpec("tags", classes=5)),
}
every_design = pytest.mark.parametrize("name", DESIGNS)


def build(name: str) -> BERT:
    torch.manual_seed(0)
    model = BERT(DESIGNS[name]).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model


def draw(*shape: int) -> torch.Tensor:
    return torch.randint(0, 13, shape)


@every_design
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(name: str, side: str):
    model, tokens = build(name), draw(2, 6)
    alone = model(tokens)
    parts = [draw(2, 3), tokens] if side == "left" else [tokens, draw(2, 3)]
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[:, slice(0, 3) if side == "left" else slice(6, 9)] = False
    torch.testing.assert_close(model(torch.cat(parts, 1), mask=mask)[mask], alone.flatten(0, 1))


@every_design
def test_every_token_sees_every_other(name: str):
    """But with a window: 2 layers that see their next neighbours reach 2 to either side."""
    model, tokens = build(name), draw(1, 9)
    changed = tokens.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 13
    moved = (model(tokens) - model(changed)).abs().amax((0, 2)) > 1e-12
    expected = [2 <= i <= 6 for i in range(9)] if name == "window" else [True] * 9
    assert moved.tolist() == expected


@pytest.mark.parametrize("name", ["bert", "roberta", "sinusoidal", "alibi", "rotary"])
def test_order_matters_with_positions(name: str):
    model, tokens, shuffled = build(name), torch.tensor([[1, 2, 3, 4]]), [2, 0, 3, 1]
    assert not torch.allclose(model(tokens)[:, shuffled], model(tokens[:, shuffled]))


def test_without_positions_outputs_move_with_their_tokens():
    model, tokens, shuffled = build("none"), torch.tensor([[1, 2, 3, 4]]), [2, 0, 3, 1]
    torch.testing.assert_close(model(tokens)[:, shuffled], model(tokens[:, shuffled]))


def test_alibi_knows_distance_and_not_direction():
    model, tokens = build("alibi"), torch.tensor([[1, 2, 3, 4]])
    torch.testing.assert_close(model(tokens).flip(1), model(tokens.flip(1)))


def test_segments_are_added_to_the_input():
    model, tokens = build("bert"), draw(1, 5)
    plain = model(tokens)
    assert torch.equal(plain, model(tokens, torch.zeros_like(tokens)))
    segments = torch.tensor([[0, 0, 1, 1, 1]])
    with cut.trace(model, "blocks.0.before") as seen:
        assert not torch.allclose(plain, model(tokens, segments))
    x = model.embed.weight[tokens] + model.segment.weight[segments] + model.position.weight[:5]
    expected = nn.functional.layer_norm(x, (12,), model.norm.weight, model.norm.bias, 1e-12)
    torch.testing.assert_close(seen["blocks.0.before"], expected)


def test_roberta_counts_behind_its_padding():
    model, tokens = build("roberta"), draw(2, 4)
    mask = torch.tensor([[True, True, True, True], [True, True, False, False]])
    with cut.trace(model, "position.rows") as seen:
        model(tokens, mask=mask)
    rows = model.position.weight
    assert torch.equal(seen["position.rows"][0], rows[2:6])
    assert torch.equal(seen["position.rows"][1], rows[[2, 3, 1, 1]])
    with cut.trace(model, "position.rows") as seen:
        model(tokens)
    assert torch.equal(seen["position.rows"], rows[2:6])


def test_encode_is_the_model_without_its_head():
    model, tokens = build("masked"), draw(2, 5)
    bare = BERT(model.spec.but(head=None)).double()
    bare.load_state_dict(model.state_dict(), strict=False)
    assert torch.equal(model.encode(tokens), bare(tokens))


def test_a_pre_norm_stream_ends_in_a_norm():
    model = build("pre")
    with cut.trace(model, "blocks.1.after", "last_norm") as seen:
        out = model(draw(1, 4))
    assert torch.equal(out, seen["last_norm"])
    torch.testing.assert_close(out, model.last_norm(seen["blocks.1.after"]))
    assert build("bert").last_norm is None


def test_pooler():
    model = BERT(PLAIN.but(pooler=True)).double()
    z = model(draw(2, 4))
    linear = model.pooler.linear
    torch.testing.assert_close(model.pool(z), torch.tanh(z[:, 0] @ linear.weight + linear.bias))
    with pytest.raises(ValueError, match=r"this model has no pooler; use cutaway.blocks.pool_mean or pool_first"):
        build("bert").pool(z)


@every_design
def test_checkpointing_gives_the_same_gradients(name: str):
    model, tokens = build(name), draw(2, 6)
    again = BERT(model.spec.but(checkpointing=True)).double()
    again.load_state_dict(model.state_dict())
    for one in (model, again):
        one(tokens).square().mean().backward()
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match="this model has no segments, got some; leave segments out"):
        build("rotary")(draw(1, 3), draw(1, 3))
    with pytest.raises(ValueError, match="the model's context is 16 tokens, got 17"):
        build("roberta")(draw(1, 17))
    with pytest.raises(ValueError, match=r"a mask must be boolean, True at real tokens, got torch.int64"):
        build("bert")(draw(1, 3), mask=draw(1, 3))


def test_the_logits_of_some_tokens_are_those_of_all():
    model, tokens = build("masked"), draw(3, 6)
    chosen = torch.rand(3, 6) < 0.4
    torch.testing.assert_close(model(tokens, at=chosen), model(tokens)[chosen])
    with pytest.raises(ValueError, match="only a head for masked tokens takes some of them, got at with another"):
        build("tags")(tokens, at=chosen)


@pytest.mark.parametrize("roberta", [False, True], ids=["bert", "roberta"])
def test_padding_on_the_left_changes_nothing(roberta, tmp_path):
    """Positions count real tokens. transformers' RoBERTa does the same; its BERT counts padding, unless it is told."""
    transformers = pytest.importorskip("transformers")
    sizes = dict(vocab_size=31, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20)
    kind = transformers.RobertaModel if roberta else transformers.BertModel
    torch.manual_seed(0)
    theirs = kind(kind.config_class(**sizes, max_position_embeddings=20, pad_token_id=1)).double().eval()
    theirs.save_pretrained(tmp_path)
    model = cut.from_pretrained(tmp_path)
    tokens, left = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 1, 5, 6, 7, 8]])
    mask = left != 1
    ours = model.encode(left, mask=mask)[:, 2:]
    torch.testing.assert_close(ours, model.encode(tokens), rtol=0, atol=1e-10)
    with torch.no_grad():
        counted = (mask.long().cumsum(-1) - 1).clamp(min=0)
        options = {} if roberta else {"position_ids": counted}
        told = theirs(left, attention_mask=mask.long(), **options).last_hidden_state[:, 2:]
        untold = theirs(left, attention_mask=mask.long()).last_hidden_state[:, 2:]
    torch.testing.assert_close(ours, told, rtol=0, atol=1e-10)
    assert torch.allclose(ours, untold, rtol=0, atol=1e-6) == roberta
