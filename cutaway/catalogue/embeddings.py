"""Vectors for tokens, image patches and numbers, and output layers for many classes."""

import torch
from torch import Tensor

from cutaway.blocks.embeddings.hidden_patches import (
    hidden_error,
    patch_targets,
    put_places,
    take_places,
)
from cutaway.blocks.embeddings.hierarchical import HierarchicalSoftmax
from cutaway.blocks.embeddings.naive_bayes import NaiveBayesBag, log_count_ratios, sum_bag
from cutaway.blocks.embeddings.numbers import PiecewiseEncoding, piecewise_encode
from cutaway.blocks.embeddings.output_layers import FullSoftmax
from cutaway.blocks.embeddings.patches import PatchEmbedding, cut_patches
from cutaway.blocks.embeddings.sampled import (
    NCE,
    NegativeSampling,
    SampledSoftmax,
    nce_loss,
    negative_sampling_loss,
    sampled_softmax_loss,
)
from cutaway.blocks.embeddings.table_cells import CellEmbedding
from cutaway.blocks.embeddings.tokens import Embedding, embed, one_hot
from cutaway.blocks.embeddings.trees import Tree
from cutaway.blocks.embeddings.word_windows import cbow_loss, skip_gram_loss, window_rows
from cutaway.registry import register

register(one_hot, example=lambda: (one_hot, torch.arange(10).view(2, 5) % 7, 7))
register(embed, example=lambda: (embed, torch.arange(10).view(2, 5) % 7, torch.randn(7, 3)))
# Every category occurs: no gradient reaches the rows of the others.
register(Embedding, example=lambda: (Embedding(7, 3), torch.arange(10).view(2, 5) % 7))

# Every feature occurs. Counts are above 0: their logarithm has a kink nowhere else.
register(
    log_count_ratios,
    example=lambda: (log_count_ratios, torch.rand(5, 3) + 1),
    extreme=lambda: (log_count_ratios, torch.rand(5, 3) * 1e4),
)
register(sum_bag, example=lambda: (sum_bag, torch.arange(1, 11).view(2, 5) % 7, torch.randn(7, 3)))
register(NaiveBayesBag, example=lambda: (NaiveBayesBag(7, 3), torch.arange(10).view(2, 5) % 7))

register(cut_patches, example=lambda: (cut_patches, torch.randn(2, 3, 6, 8), 2))
register(patch_targets, example=lambda: (patch_targets, torch.randn(2, 3, 6, 8), 2, True))
register(take_places, example=lambda: (take_places, torch.randn(2, 4, 3), torch.tensor([[0, 2], [1, 3]])))
register(
    put_places, example=lambda: (put_places, torch.randn(2, 2, 3), torch.tensor([[0, 2], [1, 3]]), torch.randn(3), 4)
)
register(
    hidden_error,
    example=lambda: (hidden_error, torch.randn(2, 4, 3), torch.randn(2, 4, 3), torch.arange(8).view(2, 4) % 3 == 0),
)
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


def cells() -> tuple[object, ...]:
    """Four rows of a number, a date with one wave, and two categories, in which every column is hidden once."""
    known = ~torch.eye(4, dtype=torch.bool)
    ids = torch.tensor([[0, 1], [1, 0], [2, 0], [2, 1]])
    return CellEmbedding((1, 3), (3, 2), 5, pieces=(4, 0)), torch.rand(4, 4), ids, known


register(CellEmbedding, example=cells)


def with_biases(layer: torch.nn.Module) -> torch.nn.Module:
    for name, parameter in layer.named_parameters():
        if name == "bias":
            torch.nn.init.normal_(parameter)
    return layer


register(FullSoftmax, example=lambda: (with_biases(FullSoftmax(3, 7)), torch.randn(2, 5, 3)))
register(HierarchicalSoftmax, example=lambda: (with_biases(HierarchicalSoftmax(3, 7)), torch.randn(2, 5, 3)))
mixed = Tree.from_nested([[0, 1, 2], 3, [4, [5, 6]]])
register(
    HierarchicalSoftmax,
    name="HierarchicalSoftmax of many branches",
    example=lambda: (with_biases(HierarchicalSoftmax(3, 7, mixed)), torch.randn(2, 5, 3)),
)
register(SampledSoftmax, example=lambda: (with_biases(SampledSoftmax(3, 7)), torch.randn(2, 5, 3)))
register(NCE, example=lambda: (with_biases(NCE(3, 7)), torch.randn(2, 5, 3)))
register(NegativeSampling, example=lambda: (NegativeSampling(3, 7, counts=range(1, 8)), torch.randn(2, 5, 3)))


def samples(scale: float = 1.0) -> tuple[object, ...]:
    """Scores of 2 targets and of 3 samples, one of which hits its target, with q = 1/4."""
    log_q, hits = torch.full((2, 3), 0.25).log(), torch.tensor([[False, True, False], [False] * 3])
    return (
        sampled_softmax_loss,
        scale * torch.randn(2),
        scale * torch.randn(2, 3),
        log_q,
        hits,
        torch.full((2,), 0.75).log(),
    )


register(sampled_softmax_loss, example=samples, extreme=lambda: samples(1e4))
register(nce_loss, example=lambda: (nce_loss, torch.randn(2), torch.randn(2, 3), -torch.rand(2), -torch.rand(2, 3)))
register(negative_sampling_loss, example=lambda: (negative_sampling_loss, torch.randn(2), torch.randn(2, 3)))


def windows(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two stretches of 4 words and 3 negatives, windows of one and two words on either side."""
    rows = window_rows(2, 4).to(torch.get_default_dtype())
    return (
        torch.stack([rows[:4], rows[4:]]),
        scale * torch.randn(2, 8, 3),
        scale * torch.randn(2, 4, 3),
        scale * torch.randn(2, 3, 3),
    )


def contexts(scale: float = 1.0) -> tuple[object, ...]:
    A, V, U, N = windows(scale)
    return cbow_loss, A, 1 / A.sum(-1), V, U, N, 5.0


register(cbow_loss, example=contexts, extreme=lambda: contexts(1e3))
register(
    skip_gram_loss,
    example=lambda: (skip_gram_loss, *windows(), 5.0),
    extreme=lambda: (skip_gram_loss, *windows(1e3), 5.0),
)
