r"""Patterns made from tensors: padding and packed documents, which differ by example, and masks of your own.

    M[b, i, j] = [j < lengths[b]]               padding
    M[b, i, j] = [ids[b, i] = ids[b, j]]        packed documents

Vaswani et al. 2017 (padding), Krell et al. 2021 (packed documents). Notes: N3 §5.9.1.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from cutaway.blocks.attention_masks.algebra import Pattern, Spans, Where


def padding(lengths: Int[Tensor, "b"]) -> Pattern:
    """Keys behind the end of their example are hidden: M[b, i, j] = [j < lengths[b]].

    >>> padding(torch.tensor([2, 3])).dense(1, 3).int().flatten(1)
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths must be integers of shape (examples,), got {lengths.dtype} of shape {tuple(lengths.shape)}; "
            "for a padding mask of booleans pass mask.sum(-1)"
        )

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        end = lengths.cpu()[:, None, None, None]
        return columns.first < end, columns.last < end

    visible = lambda i, j, at: j < lengths.to(j.device)[at.example]
    return Pattern("padding({})", visible, bounds, (lengths,), (len(lengths), 1))


def segments(ids: Int[Tensor, "b n"]) -> Pattern:
    """Packed documents, each seeing itself alone: M[b, i, j] = [ids[b, i] = ids[b, j]].

    >>> segments(torch.tensor([[7, 7, 8]])).dense(3, 3).int()[0, 0]
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    if ids.ndim != 2 or ids.is_floating_point() or ids.dtype == torch.bool:
        raise ValueError(
            f"ids must be integers of shape (examples, tokens), got {ids.dtype} of shape {tuple(ids.shape)}; "
            "give each token the number of its document, ids[None] for a single example"
        )

    def visible(i: Tensor, j: Tensor, at: Where) -> Tensor:
        _expect_tokens(ids, at.offset + at.queries, at.keys)
        own = ids.to(i.device)
        return (own[at.example, i.clamp(min=0)] == own[at.example, j]) & (i >= 0)

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        _expect_tokens(ids, rows.stop, columns.stop)
        # Where two blocks share a document, the ranges of their numbers overlap; exact if the numbers ascend.
        (a, b), (c, d) = (ids.cpu()[:, x.positions.clamp(min=0)].aminmax(dim=-1) for x in (rows, columns))
        a, b, c, d = a[:, None, :, None], b[:, None, :, None], c[:, None, None], d[:, None, None]
        return (a <= d) & (c <= b), (a == b) & (c == d) & (a == c) & (rows.first >= 0)[:, None]

    return Pattern("segments({})", visible, bounds, (ids,), (len(ids), 1))


def _expect_tokens(ids: Tensor, queries: int, keys: int) -> None:
    if ids.shape[1] < max(queries, keys):
        raise ValueError(
            f"segments must number every token, got ids of shape {tuple(ids.shape)} for {max(queries, keys)} tokens; "
            "with a cache, give the ids of the cached tokens too"
        )


def dense_mask(mask: Bool[Tensor, "*b q k"]) -> Pattern:
    """Any mask of your own: M = mask, True where a query may look; of shape (q, k) or (examples, heads or 1, q, k).

    >>> dense_mask(torch.eye(2, dtype=torch.bool)).dense(2, 2).int()
    tensor([[1, 0],
            [0, 1]], dtype=torch.int32)
    """
    if mask.ndim not in (2, 4) or mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean, of shape (queries, keys) or (examples, heads or 1, queries, keys), got "
            f"{mask.dtype} of shape {tuple(mask.shape)}; try mask.bool(), and mask[:, None] for one mask per example"
        )
    table = mask if mask.ndim == 4 else mask[None, None]
    examples, heads, queries, keys = table.shape

    def expect_fit(n: int, m: int) -> None:
        if (n, m) != (queries, keys):
            raise ValueError(
                f"a mask is for as many queries and keys as it has rows and columns, got a mask of shape "
                f"{tuple(mask.shape)} for {n} queries and {m} keys; cut it to fit"
            )

    def visible(i: Tensor, j: Tensor, at: Where) -> Tensor:
        expect_fit(at.queries, at.keys)
        if mask.ndim == 2:
            return mask.to(i.device)[i - at.offset, j]
        # An axis of one stands for all.
        return table.to(i.device)[at.example % examples, at.head % heads, i - at.offset, j]

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        expect_fit(rows.stop - rows.start, columns.stop - columns.start)
        seen = table.cpu()[:, :, rows.positions - rows.start]
        return (
            seen.any(-2)[..., columns.positions].any(-1),
            seen.all(-2)[..., columns.positions].all(-1),
        )

    return Pattern("dense_mask({})", visible, bounds, (mask,), (examples, heads) if mask.ndim == 4 else ())
