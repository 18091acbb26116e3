"""Vectors for tokens, image patches and numbers."""

import torch

from cutaway.blocks.embeddings.numbers import PiecewiseEncoding, piecewise_encode
from cutaway.blocks.embeddings.patches import PatchEmbedding, cut_patches
from cutaway.blocks.embeddings.tokens import Embedding, embed
from cutaway.registry import register

register(embed, example=lambda: (embed, torch.arange(10).view(2, 5) % 7, torch.randn(7, 3)))
# Every category occurs: no gradient reaches the rows of the others.
register(Embedding, example=lambda: (Embedding(7, 3), torch.arange(10).view(2, 5) % 7))

register(cut_patches, example=lambda: (cut_patches, torch.randn(2, 3, 6, 8), 2))
register(PatchEmbedding, example=lambda: (PatchEmbedding(2, 3, 5), torch.randn(2, 3, 6, 8)))


def encoding() -> PiecewiseEncoding:
    block = PiecewiseEncoding((3, 0, 4))
    knots = [torch.tensor([-2.0, -0.5, 0.1, 2.0]), torch.empty(0), torch.tensor([-1.0, -0.9, 0.0, 0.5, 3.0])]
    block.set_knots([own.to(torch.get_default_dtype()) for own in knots])
    return block


def pieces(scale: float = 1.0) -> tuple[object, ...]:
    knots = (torch.tensor(t).to(torch.get_default_dtype()) for t in ([-1.0, 0.3, -2.0, 0.0], [0.3, 1.7, 0.0, 3.0]))
    return piecewise_encode, scale * torch.randn(2, 5, 3), torch.tensor([0, 0, 2, 2]), *knots


register(piecewise_encode, example=pieces, extreme=lambda: pieces(1e4))
register(PiecewiseEncoding, example=lambda: (encoding(), torch.randn(2, 5, 3)))
