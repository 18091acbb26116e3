"""A vector for every category."""

import torch

from cutaway.blocks.embeddings import Embedding, embed
from cutaway.registry import register

register(embed, example=lambda: (embed, torch.arange(10).view(2, 5) % 7, torch.randn(7, 3)))
# Every category occurs: no gradient reaches the rows of the others.
register(Embedding, example=lambda: (Embedding(7, 3), torch.arange(10).view(2, 5) % 7))
