"""Specs of whole models: versioned, JSON-able, and strict about what each model can be."""

import json

import pytest
import torch

from cutaway import models
from cutaway.models import (
    BERTSpec,
    GPTSpec,
    HeadSpec,
    PositionSpec,
    ScalingSpec,
    T5Spec,
    TransformerSpec,
    ViTSpec,
    from_spec,
    spec_from_dict,
)

SIZES = dict(vocabulary=11, width=12, depth=2, heads=3, context=7)
GPT2, BERT = GPTSpec.gpt2(**SIZES), BERTSpec.bert(**SIZES)
VIT = ViTSpec.vit(image=8, patch=4, width=12, depth=1, heads=3, classes=5)
SPECS = [
    GPT2,
    GPTSpec.llama(**SIZES, kv_heads=1, hidden=20, tied=True).but(
        position__scaling=ScalingSpec("llama3", 8.0, 16), end=(3, 4)
    ),
    GPTSpec.quick(**SIZES),
    BERT.but(head=HeadSpec("classes", labels=("a", "b"), pooling="mean")),
    T5Spec.t5(vocabulary=11, width=12, depth=1, heads=3, gated=True),
    TransformerSpec.base(vocabulary=11, width=12, depth=1, heads=3),
    VIT,
    ViTSpec.vit(image=(8, 12), patch=4, width=12, depth=1, heads=3),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.model)
def test_round_trip_through_json(spec):
    told = json.loads(json.dumps(spec.to_dict()))
    assert told["version"] == 1
    assert told["model"] == spec.model
    assert spec_from_dict(told) == spec
    assert type(spec).from_dict(told) == spec
    assert hash(spec) == hash(spec_from_dict(told))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.model)
def test_a_model_comes_back_from_its_spec_also_on_the_meta_device(spec):
    model = from_spec(spec)
    assert type(model).__name__ == spec.model
    assert model.spec is spec
    with torch.device("meta"):
        shadow = type(model).from_spec(spec)
    assert all(p.is_meta for p in shadow.parameters())
    assert {n: p.shape for n, p in shadow.state_dict().items()} == {n: p.shape for n, p in model.state_dict().items()}
    shadow.load_state_dict(model.state_dict(), assign=True)
    assert not any(p.is_meta for p in [*shadow.parameters(), *shadow.buffers()])


def test_sizes_written_out():
    spec = GPT2.but(mlp__hidden=None).resolved()
    assert (spec.attention.kv_heads, spec.attention.head_width, spec.mlp.hidden) == (3, 4, 48)
    assert GPT2.but(mlp__hidden=None, mlp__gated=True).resolved().mlp.hidden == 32
    assert from_spec(spec.but(attention__kv_heads=1)).blocks[0].attention.kv_heads == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GPT2.but(width=0), "width must be above 0, got 0"),
        (lambda: GPT2.but(vocabulary=-3), "vocabulary must be above 0, got -3"),
        (lambda: GPT2.but(dropout=2.0), "dropout must be a probability from 0 to 1, got 2.0"),
        (lambda: GPT2.but(order="both"), "order must be one of pre, post, parallel, got 'both'"),
        (lambda: SPECS[4].but(order="parallel"), "order must be one of pre, post, got 'parallel'"),
        (
            lambda: GPT2.but(position=PositionSpec("relative")),
            "the position of a GPT must be one of none, learned, sinusoidal, rotary, alibi, got 'relative'",
        ),
        (lambda: VIT.but(position__kind="rotary"), "the position of a ViT must be one of learned, got 'rotary'"),
        (
            lambda: GPT2.but(head=HeadSpec("masked")),
            "the head of a GPT must be one of language, classes, tags, got 'masked'",
        ),
        (
            lambda: GPT2.but(head=HeadSpec("classes", classes=2, pooling="cls")),
            "the first token of a causal model has seen no other, got pooling='cls'; try pooling='last'",
        ),
        (
            lambda: BERT.but(pooler=True, head=HeadSpec("classes", classes=2)),
            "a head for classes has a pooler of its own, got pooler=True; set its hidden=True",
        ),
        (
            lambda: BERT.but(position_start=2, position=PositionSpec("rotary")),
            "position_start is for learned positions, got 2 with rotary ones; set it to 0",
        ),
        (
            lambda: VIT.but(image=(9, 12)),
            r"image sides must be multiples of patch, got image=\(9, 12\), patch=4; try image=\(8, 12\)",
        ),
        (lambda: VIT.but(patch=0), "patch must be above 0, got 0"),
        (lambda: VIT.but(image=(0, 4)), "image must be above 0, got 0"),
        (lambda: GPT2.but(attention__head=3), "AttentionSpec has no head; it has heads"),
        (lambda: GPTSpec.from_dict(BERT.to_dict()), "a GPTSpec describes a GPT, got 'BERT'; use spec_from_dict"),
        (
            lambda: spec_from_dict({"model": "RNN"}),
            "must name its model, one of .*BERT, .*GPT, .*T5, TableNet, .*Transformer, .*ViT, .*got 'RNN'",
        ),
        (
            lambda: spec_from_dict(GPT2.to_dict() | {"version": 99}),
            "reads specs up to version 1, got version 99; upgrade cutaway",
        ),
        (lambda: spec_from_dict(GPT2.to_dict() | {"version": "x"}), "got version 'x'"),
        (lambda: spec_from_dict({"model": "GPT", "width": 3}), "GPTSpec needs depth, attention, .*, got only width"),
        (lambda: spec_from_dict(GPT2.to_dict() | {"hight": 3}), "GPTSpec has no hight; it has attention"),
        (lambda: from_spec(3), "a model is built from a spec, got int; spec_from_dict reads one"),
        (lambda: models.GPT(BERT), "a GPT is built from a GPTSpec, got BERTSpec; pass the spec first"),
        (lambda: models.GPT.from_spec(BERT), "a GPT is built from a GPTSpec, got BERTSpec"),
        (lambda: models.GPT(GPT2, width=3), "takes a spec or sizes, got both a spec and width; change the spec with"),
    ],
)
@pytest.mark.untyped
def test_messages(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


def test_presets_take_what_they_say():
    with pytest.raises(TypeError, match=r"missing .*required"):
        models.GPT(vocabulary=5)
    assert models.GPT.gpt2(**SIZES).spec == GPT2
    assert models.GPT(**SIZES).spec == GPT2
    assert models.GPT.llama(**SIZES).spec == GPTSpec.llama(**SIZES)
