"""Models in general: other heads on the same trunk."""

import pytest
import torch

from cutaway.models import BERT, GPT, BERTSpec, GPTSpec, HeadSpec, ViT, with_head

SIZES = dict(vocabulary=11, width=12, depth=2, heads=3, context=7)
TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])


def test_a_new_head_shares_the_trunk():
    model = GPT.llama(**SIZES)
    model.tokenizer = "its own"
    new = with_head(model, HeadSpec("classes", classes=5))
    assert new(TOKENS).shape == (2, 5)
    assert torch.equal(new.hidden(TOKENS), model.hidden(TOKENS))
    assert new.embed.weight.data_ptr() == model.embed.weight.data_ptr(), "shared, not copied"
    assert new.tokenizer == "its own"
    assert new.training
    assert new.spec == model.spec.but(head=HeadSpec("classes", classes=5))
    assert not with_head(model.eval(), None).training
    assert torch.equal(with_head(model, None)(TOKENS), model.hidden(TOKENS))


def test_a_new_head_starts_fresh():
    model = BERT(BERTSpec.bert(**SIZES, head=HeadSpec("classes", classes=5)))
    new = with_head(model, HeadSpec("classes", classes=5))
    assert not torch.equal(new.head.classify.weight, model.head.classify.weight)
    assert torch.equal(new.encode(TOKENS), model.encode(TOKENS))


def test_a_pooler_becomes_the_hidden_layer():
    model = BERT(BERTSpec.bert(**SIZES).but(pooler=True))
    new = with_head(model, HeadSpec("classes", classes=5))
    assert new.spec.head.hidden
    assert not new.spec.pooler
    assert torch.equal(new.head.hidden.linear.weight, model.pooler.linear.weight)
    assert with_head(model, HeadSpec("tags", classes=5)).pooler is not None


def test_dtype_and_gradients_come_along():
    model = ViT(image=8, patch=4, width=12, depth=1, heads=3).double()
    new = with_head(model, HeadSpec("classes", classes=5))
    out = new(torch.randn(2, 3, 8, 8, dtype=torch.float64))
    assert out.dtype == torch.float64
    out.sum().backward()
    assert new.cls.grad is not None


def test_a_head_that_a_model_cannot_have():
    with pytest.raises(ValueError, match="the head of a GPT must be one of language, classes, tags, got 'masked'"):
        with_head(GPT(GPTSpec.gpt2(**SIZES)), HeadSpec("masked"))


def test_device():
    with torch.device("meta"):
        assert GPT(**SIZES).device.type == "meta"
