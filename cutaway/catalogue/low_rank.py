"""Small trained parts on top of frozen weights."""

import torch

from cutaway.blocks.convolution.grids import Conv2d
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.low_rank.bottleneck import Bottleneck
from cutaway.blocks.low_rank.dora import DoRA, column_lengths
from cutaway.blocks.low_rank.effective_rank import effective_rank
from cutaway.blocks.low_rank.lora import LoRA
from cutaway.blocks.low_rank.lora_convolutions import LoRAConv
from cutaway.blocks.low_rank.prefixes import Prefix, Prompt, attend_with_prefix
from cutaway.blocks.low_rank.updates import LowRank, low_rank_update
from cutaway.registry import register


def _drawn(module: torch.nn.Module) -> torch.nn.Module:
    """As if trained: what is zero at first is drawn too."""
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module


def _with_lengths(layer: LoRA) -> torch.nn.Module:
    layer.add("default", {"whole": DoRA(5, 7, 3)})
    return _drawn(layer)


register(
    low_rank_update, example=lambda: (low_rank_update, torch.randn(2, 5, 3), torch.randn(3, 2), torch.randn(2, 7), 0.5)
)
register(effective_rank, example=lambda: (effective_rank, torch.randn(5, 3)))
register(LowRank, example=lambda: (_drawn(LowRank(5, 7, rank=3)), torch.randn(2, 3, 5)))
register(LoRA, example=lambda: (_drawn(LoRA(Linear(5, 7), rank=3)), torch.randn(2, 3, 5)))
register(LoRAConv, example=lambda: (_drawn(LoRAConv(Conv2d(4, 6, groups=2), rank=3)), torch.randn(2, 4, 5, 7)))
register(column_lengths, example=lambda: (column_lengths, torch.randn(5, 7)))
register(
    DoRA,
    example=lambda: (_with_lengths(LoRA(Linear(5, 7), rank=0)), torch.randn(2, 3, 5)),
    kinks="in gradients a length counts as a constant",
)
register(Bottleneck, example=lambda: (_drawn(Bottleneck(5, 3)), torch.randn(2, 3, 5)))


def _heads(*sizes: int) -> list[torch.Tensor]:
    """Queries, keys and values, or keys and values of a prefix, of so many vectors each."""
    return [torch.randn(2, n, 3) for n in sizes]


register(
    attend_with_prefix,
    example=lambda: (attend_with_prefix, *_heads(5, 7, 7), torch.randn(2, 4, 3), torch.randn(2, 4, 3)),
)
register(Prefix, example=lambda: (_drawn(Prefix(2, 3, length=4)), *_heads(5, 7, 7)))
register(Prompt, example=lambda: (Prompt(3, length=2), torch.randn(2, 5, 3)))
