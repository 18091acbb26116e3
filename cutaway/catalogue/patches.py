"""Images as sequences of patches."""

import torch

from cutaway.blocks.patches import PatchEmbedding, cut_patches
from cutaway.registry import register

register(cut_patches, example=lambda: (cut_patches, torch.randn(2, 3, 6, 8), 2))
register(PatchEmbedding, example=lambda: (PatchEmbedding(2, 3, 5), torch.randn(2, 3, 6, 8)))
