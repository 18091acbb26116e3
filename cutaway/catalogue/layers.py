"""Transformer layers and the networks inside them."""

import torch

from cutaway.blocks.layers import DecoderLayer, EncoderLayer
from cutaway.blocks.mlps import MLP, GatedMLP
from cutaway.blocks.multihead import MultiHeadAttention
from cutaway.blocks.norm_layer import LayerNorm
from cutaway.registry import register

register(MLP, example=lambda: (MLP(3, 7), torch.randn(2, 5, 3)))
register(GatedMLP, example=lambda: (GatedMLP(3, 7), torch.randn(2, 5, 3)))
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
