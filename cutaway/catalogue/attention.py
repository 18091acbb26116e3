"""Attention: scores, weights, and the two ways to compute it; several heads side by side."""

import torch

from cutaway.blocks.attention import attend, attend_open, attention_scores, mix_values
from cutaway.blocks.multihead import MultiHeadAttention
from cutaway.blocks.scores import AdditiveScores, BilinearScores, cosine_scores, dot_scores, scaled_dot_scores
from cutaway.blocks.weightings import hard_weights, linear_weights, soft_weights
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
