r"""A BERT that starts with heads which look at neighbours, and so learns from the first step what stands beside a gap.

    x_i = norm(posemb(i) | E[token])                        positions in one half of the width, tokens in the other
    q_i = posemb(i + s) Z,   k_j = posemb(j) Z              q_i · k_j is largest where j = i + s

posemb(i + s) is posemb(i) times a rotation that does not depend on i (Vaswani et al. 2017, §3.5), so both are linear
maps of x. Heads take s = −1, 1, −2, 2 … in turn. Only the start is given: positions, maps and all else are learned as
ever, and the design is BERT's own, as its checkpoints have it. Left to chance, a model that must tell neighbours apart
by learned absolute positions stays with the frequencies of tokens for a long time.

Attention that starts near to what trained models do: Trockman & Kolter 2023, "Mimetic initialization of self-attention
layers"; shifts instead of their identity are ours. The embeddings start larger than BERT's 0.02 and the last norm's
gain smaller: Adam's steps are then small beside them, and tokens do not drown the positions.
"""

import torch
from torch import Tensor, nn

from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.attention.transformer_layers import EncoderLayer
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.positions.learned import LearnedPosition
from cutaway.blocks.positions.sinusoidal import sinusoids
from cutaway.models.transformers.bert import BERT
from cutaway.models.transformers.output_heads import MaskedHead

BASE = 100.0  # of the sinusoids: their slowest turns in some 600 tokens, so that even the fast half tells neighbours
PLACES, TOKENS, GAIN = 0.6, 0.15, 0.5  # root mean squares of the embeddings' two halves; start of the last norm's gain
SHARP = 90.0  # how far the scores of the place looked at stand above those far away


def start_nearby(model: BERT) -> None:
    """Sets a fresh BERT's embeddings, queries, keys and last norm as above. A width below 4 has no room for it."""
    half = model.spec.width // 4 * 2  # even, for pairs of sine and cosine
    if not half:
        return
    assert isinstance(model.position, LearnedPosition)
    assert isinstance(model.head, MaskedHead)
    places = model.position.weight
    with torch.no_grad():
        nn.init.zeros_(places)
        places[:, :half] = sinusoids(torch.arange(len(places)), half, BASE) * (PLACES * 2**0.5)
        nn.init.normal_(model.embed.weight, 0.0, TOKENS)
        model.embed.weight[:, :half] = 0.0
        nn.init.constant_(model.head.norm.weight, GAIN)
        for block in model.blocks:
            assert isinstance(block, EncoderLayer)
            look_nearby(block.attention, half)


def look_nearby(attention: MultiHeadAttention, half: int) -> None:
    """Sets the maps of queries and keys so that head h looks s_h places on, by the first ``half`` of its input."""
    width, heads, d = attention.width, attention.heads, attention.head_width
    assert isinstance(attention.qkv, Linear)
    weight = attention.qkv.weight
    scale = (SHARP / (width * d**0.5)) ** 0.5
    for head in range(heads):
        Z = torch.randn(half, d) * scale
        shift = (head // 2 + 1) * (1 if head % 2 else -1)
        queries, keys = slice(head * d, (head + 1) * d), slice(heads * d + head * d, heads * d + (head + 1) * d)
        weight[:, queries], weight[:, keys] = 0.0, 0.0
        weight[:half, queries], weight[:half, keys] = shift_matrix(shift, half) @ Z, Z


def shift_matrix(shift: int, width: int) -> Tensor:
    r"""R with posemb(i) R = posemb(i + shift): every pair (sin a, cos a) turned on by its own angle.

    >>> P = sinusoids(torch.arange(5), 6, BASE)
    >>> torch.allclose(P[:3] @ shift_matrix(2, 6), P[2:], atol=1e-6)
    True
    """
    sin, cos = sinusoids(torch.tensor(float(shift)), width, BASE).unflatten(0, (-1, 2)).unbind(1)
    R = torch.zeros(width, width)
    even = torch.arange(0, width, 2)
    R[even, even], R[even + 1, even] = cos, sin  # sin(a + b) = sin a cos b + cos a sin b
    R[even, even + 1], R[even + 1, even + 1] = -sin, cos  # cos(a + b) = cos a cos b − sin a sin b
    return R


__all__ = ["look_nearby", "shift_matrix", "start_nearby"]
