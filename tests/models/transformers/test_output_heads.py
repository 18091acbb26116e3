"""Heads: masked tokens, classes by every pooling, tags."""

import pytest
import torch

from cutaway.models import BERT, GPT, BERTSpec, GPTSpec, HeadSpec, ViT, ViTSpec
from cutaway.models.transformers.output_heads import ClassHead, MaskedHead, TagHead

SIZES = dict(vocabulary=11, width=12, depth=1, heads=3, context=9)
TOKENS = torch.tensor([[1, 2, 3, 4, 5, 6], [7, 8, 9, 1, 2, 3]])
MASK = torch.tensor([[True] * 6, [False, True, True, True, True, False]])


def bert(**head) -> BERT:
    torch.manual_seed(0)
    model = BERT(BERTSpec.bert(**SIZES, head=HeadSpec(**head)))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return model.double()


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("cls", lambda z: z[1, 1]),  # the first real token
        (None, lambda z: z[1, 1]),
        ("last", lambda z: z[1, 4]),
        ("mean", lambda z: z[1, 1:5].mean(0)),
        ("attention", None),
    ],
)
def test_classes_by_every_pooling(pooling, expected):
    model = bert(kind="classes", classes=5, pooling=pooling)
    z = model.encode(TOKENS, mask=MASK)
    if expected is None:
        a = (z[1, 1:5] @ model.head.pool.map.weight).softmax(0)
        s = (a * z[1, 1:5]).sum(0)
    else:
        s = expected(z)
    logits = s @ model.head.classify.weight + model.head.classify.bias
    torch.testing.assert_close(model(TOKENS, mask=MASK)[1], logits)
    assert model(TOKENS).shape == (2, 5)


def test_hidden_layer_of_a_class_head():
    model = bert(kind="classes", classes=5, hidden=True)
    first = model.encode(TOKENS)[:, 0]
    h = torch.tanh(first @ model.head.hidden.linear.weight + model.head.hidden.linear.bias)
    torch.testing.assert_close(model(TOKENS), h @ model.head.classify.weight + model.head.classify.bias)


def test_tags():
    model = bert(kind="tags", classes=5)
    assert isinstance(model.head, TagHead)
    z = model.encode(TOKENS, mask=MASK)
    expected = z @ model.head.classify.weight + model.head.classify.bias
    torch.testing.assert_close(model(TOKENS, mask=MASK), expected)


@pytest.mark.parametrize("tied", [True, False])
def test_masked_tokens(tied: bool):
    model = bert(kind="masked", tied=tied)
    assert isinstance(model.head, MaskedHead)
    h = torch.nn.functional.gelu(
        model.encode(TOKENS) @ model.head.transform.linear.weight + model.head.transform.linear.bias
    )
    h = torch.nn.functional.layer_norm(h, (12,), model.head.norm.weight, model.head.norm.bias, 1e-12)
    matrix = model.embed.weight.T if tied else model.head.unembed.weight
    torch.testing.assert_close(model(TOKENS), h @ matrix + model.head.bias)


def test_a_gpt_pools_its_last_real_token():
    spec = GPTSpec.gpt2(**SIZES).but(head=HeadSpec("classes", classes=5))
    model = GPT(spec).double()
    z = model.hidden(TOKENS, MASK)
    torch.testing.assert_close(model(TOKENS, MASK)[1], z[1, 4] @ model.head.classify.weight + model.head.classify.bias)
    assert GPT(spec.but(head=HeadSpec("tags", classes=5)))(TOKENS).shape == (2, 6, 5)


def test_a_vit_pools_patches_alone():
    spec = ViTSpec.vit(image=8, patch=4, width=12, depth=1, heads=3, classes=5).but(head__pooling="mean")
    model = ViT(spec).double()
    images = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    s = model.encode(images)[:, 1:].mean(1)
    torch.testing.assert_close(model(images), s @ model.head.classify.weight + model.head.classify.bias)


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_dropout_before_the_last_layer_in_training_only(kind: str):
    head = HeadSpec(kind, classes=5)
    block = ClassHead(12, head, "cls", dropout=0.5) if kind == "classes" else TagHead(12, head, dropout=0.5)
    z = torch.randn(2, 6, 12)
    assert not torch.equal(block(z), block(z))
    block.eval()
    assert torch.equal(block(z), block(z))


def test_a_head_without_bias():
    assert ClassHead(12, HeadSpec("classes", classes=5, bias=False), "cls").classify.bias is None
