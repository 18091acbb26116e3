"""Scalings of rotary positions, against those of Hugging Face."""

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from cutaway.blocks import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    Rotary,
    YaRNScaling,
    rotary_angles,
)
from cutaway.blocks.positions.rotary_scalings import SCALINGS, Scaling


def config(kind: str, **numbers: float) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=3 * 128,
        num_attention_heads=3,
        max_position_embeddings=2048,
        rope_parameters={"rope_type": kind, "rope_theta": 50000.0, **numbers},
    )


OLD = "original_max_position_embeddings"


LLAMA = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, OLD: 8192}


PEERS = [
    (LinearScaling(3.0), config("linear", factor=3.0), None),
    (DynamicNTKScaling(4.0, 2048), config("dynamic", factor=4.0), 100),
    (DynamicNTKScaling(4.0, 2048), config("dynamic", factor=4.0), 5000),
    (Llama3Scaling(), config("llama3", factor=8.0, **LLAMA), None),
    (
        Llama3Scaling(32.0, 500, 2.0, 9.0),
        config("llama3", factor=32.0, **LLAMA | {"low_freq_factor": 2.0, "high_freq_factor": 9.0, OLD: 500}),
        None,
    ),
    (YaRNScaling(4.0, 512), config("yarn", factor=4.0, **{OLD: 512}), None),
    (
        YaRNScaling(16.0, 512, slow=2.0, fast=20.0),
        config("yarn", factor=16.0, beta_fast=20.0, beta_slow=2.0, **{OLD: 512}),
        None,
    ),
    (YaRNScaling(16.0, 512, whole=False), config("yarn", factor=16.0, truncate=False, **{OLD: 512}), None),
    (YaRNScaling(4.0, 512, attention=1.5), config("yarn", factor=4.0, attention_factor=1.5, **{OLD: 512}), None),
    (YaRNScaling(0.5, 3), config("yarn", factor=0.5, **{OLD: 3}), None),
]


@pytest.mark.parametrize(("scaling", "peer", "length"), PEERS, ids=[str(scaling) for scaling, *_ in PEERS])
def test_scalings_are_those_of_hugging_face(scaling: Scaling, peer: LlamaConfig, length: int | None):
    speeds, amplitude = ROPE_INIT_FUNCTIONS[peer.rope_parameters["rope_type"]](peer, "cpu", seq_len=length)
    last = 1 if length is None else length - 1
    ours = rotary_angles(torch.tensor([last]), 128, 50000.0, scaling, torch.float64)[0] / last
    torch.testing.assert_close(ours.float(), speeds, rtol=2e-6, atol=0)
    assert scaling.amplitude == pytest.approx(amplitude)
    assert isinstance(scaling, SCALINGS[peer.rope_parameters["rope_type"]])


def test_scaled_rotation_is_that_of_llama():
    """Through the whole module, with YaRN's amplitude."""
    peer = LlamaRotaryEmbedding(config("yarn", factor=4.0, **{OLD: 512}))
    q, k = torch.randn(2, 1, 3, 11, 128)
    theirs = apply_rotary_pos_emb(q, k, *peer(q, torch.arange(11)[None]))
    for mine, other in zip(Rotary(128, 50000.0, scaling=YaRNScaling(4.0, 512))(q, k), theirs):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)


def test_ntk_is_a_larger_base(float64):
    one = torch.tensor([1])
    ours, plain = rotary_angles(one, 16, 10000.0, NTKScaling(5.0)), rotary_angles(one, 16)
    torch.testing.assert_close(ours, rotary_angles(one, 16, 10000.0 * 5.0 ** (16 / 14)))
    torch.testing.assert_close((plain / ours)[0, [0, -1]], torch.tensor([1.0, 5.0]))


def test_dynamic_ntk_leaves_short_sequences_alone(float64):
    scaling, plain = DynamicNTKScaling(4.0, context=6), Rotary(8)
    rotary, q = Rotary(8, scaling=scaling), torch.randn(1, 3, 8)
    assert torch.equal(rotary(q, q, offset=3)[0], plain(q, q, offset=3)[0])
    assert not torch.allclose(rotary(q, q, offset=4)[0], plain(q, q, offset=4)[0])
    assert rotary(q[:, :0], q[:, :0])[0].shape == (1, 0, 8)
    # at twice the context, factor 4 · 2 − 3 = 5
    fixed = Rotary(8, scaling=NTKScaling(5.0))
    torch.testing.assert_close(
        rotary(q, q, positions=torch.tensor([0, 11, 3]))[0], fixed(q, q, positions=torch.tensor([0, 11, 3]))[0]
    )


def test_bad_scalings():
    for make in (LinearScaling, NTKScaling, lambda factor: DynamicNTKScaling(factor, 8), Llama3Scaling):
        with pytest.raises(ValueError, match="factor must be above 0, got 0; try factor=1"):
            make(0)
    with pytest.raises(ValueError, match="context must be above 0, got 0"):
        YaRNScaling(2.0, 0)
    with pytest.raises(ValueError, match=r"low must be below high, got low=4.0, high=1.0; swap them"):
        Llama3Scaling(low=4.0, high=1.0)
    with pytest.raises(ValueError, match=r"slow must be below fast, got slow=32.0, fast=32.0; swap them"):
        YaRNScaling(2.0, 8, slow=32.0)
