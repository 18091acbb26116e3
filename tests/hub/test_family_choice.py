"""A model is saved only in a layout from which the same model comes back."""

import pytest
import torch
from torch import nn

from cutaway.hub import save_pretrained
from cutaway.hub.family_choice import find_family, layout_of
from cutaway.models import (
    BERTSpec,
    GPTSpec,
    HeadSpec,
    MLPSpec,
    NormSpec,
    PositionSpec,
    T5Spec,
    TransformerSpec,
    ViTSpec,
    from_spec,
)

SIZES = dict(vocabulary=11, width=12, depth=1, heads=3, context=7)
GPT2, LLAMA = GPTSpec.gpt2(**SIZES), GPTSpec.llama(**SIZES)
BERT = BERTSpec.bert(**SIZES)
T5 = T5Spec.t5(vocabulary=11, width=12, depth=1, heads=3)
VIT = ViTSpec.vit(image=8, patch=4, width=12, depth=1, heads=3, classes=2)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (GPT2, "gpt2"),
        (GPT2.but(dropout=0.1, attention__dropout=0.2, checkpointing=True, end=(3,)), "gpt2"),
        (GPT2.but(head=HeadSpec("classes", classes=3, bias=False, pooling="last")), "gpt2"),
        (GPT2.but(mlp__hidden=None), "gpt2"),
        (LLAMA, "llama"),
        (LLAMA.but(attention__bias="qkv"), "qwen2"),
        (LLAMA.but(attention__norm=True), "qwen3"),
        (LLAMA.but(end=(3, 4)), "llama"),
        (BERT, "bert"),
        (BERT.but(pooler=True, head=HeadSpec("masked", tied=False)), "bert"),
        (BERT.but(position_start=2, segments=1), "roberta"),
        (T5, "t5"),
        (T5.but(mlp__gated=True, mlp__activation="silu", scale_output=False), "t5"),
        (VIT.but(head__labels=("cat", "dog")), "vit"),
    ],
)
def test_designs_that_a_family_holds(spec, kind: str):
    assert layout_of(spec).config["model_type"] == kind


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (GPT2.but(attention__window=4), r"gpt2 \(no room for attention.window=4\)"),
        (GPT2.but(order="post"), r"order='post'"),
        (GPT2.but(norm__bias=False), r"norm.bias=False"),
        (GPT2.but(attention__scale=1.0), r"attention.scale=1.0"),
        (GPT2.but(mlp__activation="elu"), r"the activation must be one of .*, got 'elu'"),
        (GPT2.but(position=PositionSpec("alibi")), r"position.kind='alibi'"),
        (GPT2.but(head=HeadSpec("classes", classes=3)), r"head.bias=True"),
        (LLAMA.but(position__layout="interleaved"), r"llama \(no room for position.layout='interleaved'\)"),
        (LLAMA.but(position__share=0.5), r"all of a head must turn in these families, got partial_rotary_factor=0.5"),
        (LLAMA.but(mlp=MLPSpec(20, "silu", gated=True, bias=True)), r"mlp.bias=True"),
        (LLAMA.but(attention__norm=True, attention__bias="qkv"), r"attention.bias='qkv'"),
        (GPTSpec.quick(**SIZES), r"llama \(no room for mlp.gated=False, norm.kind='layer'\)"),
        (BERT.but(order="pre"), r"bert \(no room for order='pre'\), roberta \(that is a bert\)"),
        (BERT.but(head=HeadSpec("classes", classes=3, pooling="mean", hidden=True)), r"head.pooling='mean'"),
        (BERT.but(head=HeadSpec("classes", classes=3)), r"head.hidden=False"),
        (BERT.but(attention__norm=True), r"attention.norm=True"),
        (T5.but(attention__scale=None), r"t5 \(no room for attention.scale=None\)"),
        (T5.but(norm=NormSpec("layer", 1e-6)), r"norm.kind='layer'"),
        (VIT.but(head__bias=False), r"vit \(no room for head.bias=False\)"),
    ],
)
def test_designs_that_no_family_holds(spec, why: str):
    with pytest.raises(ValueError, match=f"must fit a family of checkpoints to be saved, got .*{why}.*; save its spec"):
        layout_of(spec)


def test_models_that_cannot_be_saved(tmp_path):
    spec = TransformerSpec.base(vocabulary=5, width=8, depth=1, heads=2)
    with pytest.raises(ValueError, match="save_pretrained writes BERT, GPT, T5, ViT, got a Transformer; save its spec"):
        layout_of(spec)
    with pytest.raises(ValueError, match="writes models of Cutaway, got one without a spec; save its state dict"):
        save_pretrained(nn.Linear(2, 2), tmp_path)


def test_an_unknown_family():
    known = "gpt2, llama, qwen2, qwen3, bert, roberta, xlm-roberta, t5, vit"
    with pytest.raises(ValueError, match=f"model_type must be one of {known}, got 'mamba'; other"):
        find_family({"model_type": "mamba"})
    with pytest.raises(ValueError, match="got None"):
        find_family({})


@pytest.mark.parametrize("spec", [GPT2, LLAMA, BERT, BERT.but(position_start=2), T5, VIT], ids=lambda spec: spec.model)
def test_every_tensor_has_its_rule(spec):
    """No tensor of theirs is read twice, none of ours is forgotten."""
    layout = layout_of(spec)
    names = [name for rule in layout.rules.values() for name in rule.theirs]
    assert len(names) == len(set(names))
    with torch.device("meta"):
        assert set(from_spec(spec).state_dict()) == set(layout.rules)
