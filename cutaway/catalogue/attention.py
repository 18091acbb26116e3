"""Attention: scores, weights, linear attention, pooling, several heads, transformer layers."""

import torch

from cutaway.blocks.attention.additive_decoder import AdditiveDecoder
from cutaway.blocks.attention.dot_product import attend, attend_open, attention_scores, mix_values
from cutaway.blocks.attention.linear_time import (
    LinearState,
    elu_plus_one,
    linear_attention,
    linear_attention_weights,
    linear_state,
    linear_step,
)
from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.attention.pooling import (
    AttentionPool,
    pool_first,
    pool_last,
    pool_max,
    pool_mean,
    pool_mean_sqrt,
    pool_weighted,
)
from cutaway.blocks.attention.queryless import (
    Forgetting,
    GatedSummary,
    decay_weights,
    forgetting_gate,
    forgetting_weights,
    lookup,
    soft_lookup,
)
from cutaway.blocks.attention.scores import AdditiveScores, BilinearScores, cosine_scores, dot_scores, scaled_dot_scores
from cutaway.blocks.attention.transformer_layers import DecoderLayer, EncoderLayer
from cutaway.blocks.attention.weightings import hard_weights, linear_weights, soft_weights
from cutaway.blocks.dense.mlps import MLP
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.registry import register

register(dot_scores, example=lambda: (dot_scores, torch.randn(2, 5, 3), torch.randn(2, 7, 3)))
register(scaled_dot_scores, example=lambda: (scaled_dot_scores, torch.randn(2, 5, 3), torch.randn(2, 7, 3)))
register(cosine_scores, example=lambda: (cosine_scores, torch.randn(2, 5, 3), torch.randn(2, 7, 3)))
register(BilinearScores, example=lambda: (BilinearScores(3, 2), torch.randn(2, 5, 3), torch.randn(2, 7, 2)))
register(AdditiveScores, example=lambda: (AdditiveScores(3, 2, 11), torch.randn(2, 5, 3), torch.randn(2, 7, 2)))

register(soft_weights, example=lambda: (soft_weights, torch.randn(2, 5, 7)))
register(
    hard_weights,
    example=lambda: (hard_weights, torch.randn(2, 5, 7)),
    kinks="the output is a step; its straight-through gradient is that of soft_weights",
)
register(linear_weights, example=lambda: (linear_weights, torch.randn(2, 5, 7)))


def _queries_keys_values() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Six query heads in groups of three."""
    return torch.randn(3, 6, 5, 7), torch.randn(3, 2, 11, 7), torch.randn(3, 2, 11, 13)


def _padding() -> torch.Tensor:
    """No real key in the first example."""
    return torch.arange(11) < torch.tensor([0, 5, 11])[:, None, None, None]


register(attend, example=lambda: (attend, *_queries_keys_values(), _padding(), True))
register(attend_open, example=lambda: (attend_open, *_queries_keys_values()))
register(attention_scores, example=lambda: (attention_scores, *_queries_keys_values()[:2]))
register(mix_values, example=lambda: (mix_values, torch.rand(3, 6, 5, 11), torch.randn(3, 2, 11, 13)))
register(MultiHeadAttention, example=lambda: (MultiHeadAttention(6, 2), torch.randn(3, 5, 6), None, None, True))

register(elu_plus_one, example=lambda: (elu_plus_one, torch.randn(2, 5, 3)))
register(
    linear_attention,
    example=lambda: (
        linear_attention,
        torch.randn(2, 7, 3),
        torch.randn(2, 7, 3),
        torch.randn(2, 7, 5),
        elu_plus_one,
        True,
        torch.arange(7) != 3,
        3,
    ),
)
register(
    linear_attention_weights, example=lambda: (linear_attention_weights, torch.randn(2, 5, 3), torch.randn(2, 7, 3))
)
register(linear_state, example=lambda: (linear_state, torch.randn(2, 7, 3), torch.randn(2, 7, 5)))
register(
    linear_step,
    example=lambda: (
        linear_step,
        LinearState(torch.randn(2, 3, 5), torch.rand(2, 3)),
        torch.randn(2, 3),
        torch.randn(2, 3),
        torch.randn(2, 5),
    ),
)

register(decay_weights, example=lambda: (decay_weights, 5, torch.tensor(0.7)))
register(forgetting_gate, example=lambda: (forgetting_gate, torch.randn(2, 5, 3), torch.randn(3), torch.tensor(0.5)))
register(
    forgetting_weights,
    example=lambda: (forgetting_weights, torch.randn(2, 5, 3), torch.randn(3), torch.arange(5) != 3),
)
register(Forgetting, example=lambda: (Forgetting(3, 7), torch.randn(2, 5, 3), torch.arange(5) != 3))
register(GatedSummary, example=lambda: (GatedSummary(3, 7), torch.randn(2, 5, 3), torch.arange(5) != 3))
register(lookup, example=lambda: (lookup, torch.randn(2, 5), torch.randn(5, 3)))
register(soft_lookup, example=lambda: (soft_lookup, torch.randn(2, 5), torch.randn(5, 3)))


def _mask() -> torch.Tensor:
    """Sequences of two and of five tokens."""
    return torch.arange(5) < torch.tensor([2, 5])[:, None]


register(pool_first, example=lambda: (pool_first, torch.randn(2, 5, 3), _mask()))
register(pool_last, example=lambda: (pool_last, torch.randn(2, 5, 3), _mask()))
register(pool_mean, example=lambda: (pool_mean, torch.randn(2, 5, 3), _mask()))
register(pool_mean_sqrt, example=lambda: (pool_mean_sqrt, torch.randn(2, 5, 3), _mask()))
register(pool_weighted, example=lambda: (pool_weighted, torch.randn(2, 5, 3), _mask()))
register(pool_max, example=lambda: (pool_max, torch.randn(2, 5, 3), _mask()))
register(AttentionPool, example=lambda: (AttentionPool(3), torch.randn(2, 5, 3), _mask()))

register(
    EncoderLayer,
    example=lambda: (EncoderLayer(MultiHeadAttention(6, 2), MLP(6, 7), lambda: LayerNorm(6)), torch.randn(3, 5, 6)),
)
register(
    DecoderLayer,
    example=lambda: (
        DecoderLayer(MultiHeadAttention(6, 2), MultiHeadAttention(6, 3), MLP(6, 7), lambda: LayerNorm(6), "post"),
        torch.randn(3, 5, 6),
        torch.randn(3, 7, 6),
    ),
)


register(
    AdditiveDecoder,
    example=lambda: (
        AdditiveDecoder(3, 7, 11),
        torch.randn(2, 6, 3),
        torch.randn(2, 5, 11),
        torch.arange(5) < torch.tensor([5, 2])[:, None],
    ),
)
