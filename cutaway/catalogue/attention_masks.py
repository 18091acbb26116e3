"""Block-sparse attention, and every pattern under it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.attention_masks.patterns import (
    Pattern,
    blocks,
    causal,
    dense_mask,
    dilated,
    global_tokens,
    padding,
    prefix,
    random,
    segments,
    window,
)
from cutaway.blocks.attention_masks.sparse import attend_sparse
from cutaway.registry import register


def _under(make: Callable[[], Pattern], values: int = 5) -> Callable[[], tuple[Any, ...]]:
    """Attention of 11 queries to 13 keys in blocks of 4, 2 examples of 3 heads; values as wide as keys are fused."""

    def example() -> tuple[Any, ...]:
        pattern = make()

        def block(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return attend_sparse(q, k, v, pattern, block=4)

        return block, torch.randn(2, 3, 11, 5), torch.randn(2, 3, 13, 5), torch.randn(2, 3, 13, values)

    return example


register(attend_sparse, example=_under(lambda: causal() & (window(3) | global_tokens(2)), values=7))
register(causal, name="pattern.causal", example=_under(causal))
register(window, name="pattern.window", example=_under(lambda: window(5)))
register(dilated, name="pattern.dilated", example=_under(lambda: dilated(3, 2, causal=False)))
register(prefix, name="pattern.prefix", example=_under(lambda: prefix(6)))
register(global_tokens, name="pattern.global_tokens", example=_under(lambda: global_tokens(3)))
register(blocks, name="pattern.blocks", example=_under(lambda: blocks(3)))
register(random, name="pattern.random", example=_under(lambda: random(1, seed=3, block=4)))
register(padding, name="pattern.padding", example=_under(lambda: padding(torch.tensor([7, 13]))))
register(
    segments, name="pattern.segments", example=_under(lambda: segments(torch.arange(13) // torch.tensor([[4], [5]])))
)
register(dense_mask, name="pattern.dense_mask", example=_under(lambda: dense_mask(torch.rand(2, 3, 11, 13) < 0.4)))
