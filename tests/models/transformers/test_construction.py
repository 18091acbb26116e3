"""From specs to blocks."""

import pytest
import torch

from cutaway.blocks import DynamicNTKScaling, LinearScaling, Llama3Scaling, NTKScaling, YaRNScaling
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.blocks.norms.rms import RMSNorm
from cutaway.models import GPT, T5, BERTSpec, GPTSpec, NormSpec, PositionSpec, ScalingSpec, Transformer
from cutaway.models.transformers.construction import build_attention, build_norm, build_scaling

SIZES = dict(vocabulary=11, width=12, depth=2, heads=3, context=7)


@pytest.mark.parametrize(
    ("spec", "scaling"),
    [
        (ScalingSpec("linear", 2.0), LinearScaling(2.0)),
        (ScalingSpec("ntk", 2.0), NTKScaling(2.0)),
        (ScalingSpec("dynamic", 2.0, 16), DynamicNTKScaling(2.0, 16)),
        (ScalingSpec("llama3", 8.0, 16), Llama3Scaling(8.0, 16)),
        (ScalingSpec("llama3", 8.0, 16, slow=2.0, fast=5.0), Llama3Scaling(8.0, 16, low=2.0, high=5.0)),
        (ScalingSpec("yarn", 8.0, 16), YaRNScaling(8.0, 16)),
        (
            ScalingSpec("yarn", 8.0, 16, slow=2.0, fast=5.0, attention=1.1, whole=False),
            YaRNScaling(8.0, 16, slow=2.0, fast=5.0, attention=1.1, whole=False),
        ),
    ],
)
def test_scalings(spec, scaling):
    assert build_scaling(spec) == scaling


def test_norms():
    norm = build_norm(NormSpec("layer", 1e-3, bias=False), 5)
    assert isinstance(norm, LayerNorm)
    assert (norm.epsilon, norm.bias) == (1e-3, None)
    assert isinstance(build_norm(NormSpec("rms"), 5), RMSNorm)


def test_queries_and_keys_are_prepared():
    spec = GPTSpec.llama(**SIZES).but(attention__norm=True, position__share=0.5)
    prepare = build_attention(spec).prepare
    assert (prepare.query_norm.width, prepare.query_norm.epsilon) == (4, 1e-5)
    assert prepare.rotary.width == 2
    cross = build_attention(spec, cross=True).prepare
    assert cross.rotary is None
    assert cross.key_norm is not None
    assert build_attention(GPTSpec.gpt2(**SIZES)).prepare is None


def test_norms_of_queries_and_keys_are_rms_norms_in_any_model():
    spec = BERTSpec.bert(**SIZES).but(attention__norm=True)
    assert isinstance(build_attention(spec).prepare.query_norm, RMSNorm)


@pytest.mark.parametrize("order", ["pre", "post", "parallel"])
def test_a_stream_without_norms_of_its_own_ends_in_one(order: str):
    model = GPT(GPTSpec.gpt2(**SIZES).but(order=order))
    assert (model.norm is None) == (order == "post")


def test_how_weights_start():
    """N(0, 0.02²), and 1/√(2 depth) of that for the maps back into the stream; 3 standard errors of the estimate."""
    torch.manual_seed(0)
    model = GPT(vocabulary=100, width=64, depth=8, heads=4, context=16)
    for weight, scale in (
        (model.embed.weight, 0.02),
        (model.blocks[3].attention.qkv.weight, 0.02),
        (model.blocks[3].mlp.up.weight, 0.02),
        (model.blocks[3].attention.out.weight, 0.02 / 4),
        (model.blocks[3].mlp.down.weight, 0.02 / 4),
    ):
        assert weight.std().item() == pytest.approx(scale, rel=3 / (2 * weight.numel()) ** 0.5)
    assert model.blocks[0].mlp.up.bias.abs().max() == 0
    t5 = T5(vocabulary=100, width=64, depth=8, heads=4)
    assert t5.decoder[0].cross.out.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    transformer = Transformer(vocabulary=100, width=64, depth=1, heads=4)
    assert (transformer.embed.weight * 8).std().item() == pytest.approx(1.0, rel=0.05)


@pytest.mark.untyped
def test_sizes_that_do_not_fit_are_named_by_the_block():
    with pytest.raises(ValueError, match="width must be a multiple of heads, got width=12, heads=5; try"):
        GPT(**SIZES | dict(heads=5))
    with pytest.raises(
        ValueError, match="heads must be a multiple of kv_heads, got heads=3, kv_heads=2; try kv_heads=1"
    ):
        GPT.llama(**SIZES, kv_heads=2)
    with pytest.raises(ValueError, match="width must be even, got 1"):
        GPT(GPTSpec.llama(**SIZES).but(position=PositionSpec("rotary", share=0.3)))
