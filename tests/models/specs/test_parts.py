"""The parts of specs: plain data that checks itself."""

import json

import pytest

from cutaway.models import AttentionSpec, HeadSpec, MLPSpec, NormSpec, PositionSpec, ScalingSpec

PARTS = [
    NormSpec("rms", 1e-6),
    AttentionSpec(heads=6, kv_heads=2, bias="qkv", window=4),
    MLPSpec(hidden=20, activation="LeakyReLU(slope=0.2)", gated=True),
    PositionSpec("rotary", scaling=ScalingSpec("yarn", 4.0, 16, attention=1.2)),
    HeadSpec("tags", labels=("noun", "verb")),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_round_trip_through_json(part):
    assert type(part).from_dict(json.loads(json.dumps(part.to_dict()))) == part


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_parts_are_values(part):
    assert hash(part) == hash(type(part).from_dict(part.to_dict()))
    with pytest.raises(AttributeError):
        part.kind = "other"


def test_a_norm_of_squares_has_no_bias():
    assert NormSpec("rms") == NormSpec("rms", bias=False)


def test_labels_are_counted():
    assert HeadSpec("classes", labels=("red", "green")).classes == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NormSpec("batch"), "norm must be one of layer, rms, got 'batch'"),
        (lambda: AttentionSpec(heads=0), "heads must be above 0, got 0"),
        (lambda: AttentionSpec(kv_heads=-1), "kv_heads must be above 0, got -1"),
        (lambda: AttentionSpec(window=0), "window must be above 0, got 0"),
        (lambda: AttentionSpec(dropout=1.5), "dropout must be a probability from 0 to 1, got 1.5"),
        (lambda: MLPSpec(activation="mish"), "activation must be one of .*, got 'mish'"),
        (lambda: MLPSpec(hidden=0), "hidden must be above 0, got 0"),
        (lambda: PositionSpec("rotten"), "position must be one of none, learned, .*, got 'rotten'"),
        (lambda: PositionSpec(layout="third"), "layout must be one of half, interleaved, got 'third'"),
        (lambda: PositionSpec(share=1.5), "share must be a probability from 0 to 1, got 1.5"),
        (lambda: ScalingSpec("longrope", 2.0), "scaling must be one of linear, .*, got 'longrope'"),
        (
            lambda: ScalingSpec("llama3", 2.0),
            "llama3 scaling needs the context of training, got None; set context=8192",
        ),
        (lambda: HeadSpec("music"), "head must be one of language, masked, classes, tags, got 'music'"),
        (lambda: HeadSpec("classes"), "a head for classes needs their number, got classes=None; try classes=2"),
        (lambda: HeadSpec("tags", classes=0), "classes must be above 0, got 0"),
        (lambda: HeadSpec("classes", classes=2, pooling="max"), "pooling must be one of cls, .*, got 'max'"),
        (
            lambda: HeadSpec("classes", classes=3, labels=("a", "b")),
            "every class needs its label, got 3 classes and 2 labels; leave classes out",
        ),
    ],
)
def test_messages(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()
