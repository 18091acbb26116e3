r"""Checks of a model's inputs (tokens, padding masks, segments), and the position of each token.

    position(t) = number of real tokens of its document before t

So neither padding, on either side, nor other documents in the same row change a token's position.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def expect_tokens(tokens: Tensor, context: int | None = None, start: int = 0) -> None:
    """Tokens are integers, (batch, length), and fit into the context."""
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise ValueError(f"tokens must be integers, got {tokens.dtype}; convert them with tokens.long()")
    if tokens.ndim != 2:
        raise ValueError(f"tokens must have shape (batch, length), got {tuple(tokens.shape)}; add a batch axis")
    if context is not None and start + tokens.shape[1] > context:
        before = f"{start} + " if start else ""
        raise ValueError(
            f"the model's context is {context} tokens, got {before}{tokens.shape[1]}; "
            "shorten the input or build the model with a larger context"
        )


def expect_real(mask: Tensor | None, tokens: Tensor) -> None:
    """A padding mask has the tokens' shape and is True at real ones."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ValueError(f"a mask must be boolean, True at real tokens, got {mask.dtype}; use mask.bool()")
    if mask.shape != tokens.shape:
        raise ValueError(
            f"a mask must have the tokens' shape {tuple(tokens.shape)}, got {tuple(mask.shape)}; "
            "it marks real tokens, attention masks go to the blocks"
        )


def expect_segments(segments: Tensor | None, tokens: Tensor) -> None:
    """Segments number the sentence or document of each token."""
    if segments is None:
        return
    if segments.is_floating_point() or segments.dtype == torch.bool:
        raise ValueError(f"segments must be integers, got {segments.dtype}; convert them with segments.long()")
    if segments.shape != tokens.shape:
        raise ValueError(
            f"segments must have the tokens' shape {tuple(tokens.shape)}, got {tuple(segments.shape)}; "
            "give one number for each token"
        )


def expect_prefix(
    prefix: int | Tensor, tokens: Tensor, segments: Tensor | None, start: int, window: int | None
) -> None:
    """A prefix is a count of tokens, for all rows or one for each, at the beginning of a text."""
    if isinstance(prefix, Tensor):
        if prefix.is_floating_point() or prefix.dtype == torch.bool or prefix.shape != tokens.shape[:1]:
            raise ValueError(
                f"prefix must be a whole number, or one for each of {len(tokens)} rows, got {prefix.dtype} of shape "
                f"{tuple(prefix.shape)}; count the tokens of each prompt"
            )
    elif isinstance(prefix, bool) or not isinstance(prefix, int) or prefix < 0:
        raise ValueError(f"prefix must be a whole number of tokens, 0 or above, got {prefix!r}; try prefix=1")
    if segments is not None:
        raise ValueError("a prefix is for one document a row, got segments too; leave one of them out")
    if window is not None:
        raise ValueError(f"a prefix is seen by all that follows it, got window={window} too; leave one of them out")
    if start:
        raise ValueError(f"a prefix stands at the beginning, got one after {start} tokens in the cache; leave it out")


def prefix_mask(
    tokens: Int[Tensor, "b t"], prefix: int | Int[Tensor, "b"], mask: Bool[Tensor, "b t"] | None = None
) -> Bool[Tensor, "b 1 t t"]:
    """M[i, j] = [j < prefix or j ≤ i], and j is no padding: all see the prefix, and the rest sees what came before.

    >>> prefix_mask(torch.zeros(1, 3).long(), 2).int()[0, 0]
    tensor([[1, 1, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    batch, t = tokens.shape
    place = torch.arange(t, device=tokens.device)
    counted = place.expand(batch, t) if mask is None else real_positions(mask)
    length = prefix[:, None] if isinstance(prefix, Tensor) else prefix
    seen = (counted < length)[:, None, :] | (place[None, None, :] <= place[None, :, None])
    return (seen if mask is None else seen & mask[:, None, :])[:, None]


def real_positions(mask: Bool[Tensor, "b t"]) -> Int[Tensor, "b t"]:
    """Positions that count real tokens only, so that padding on the left changes nothing.

    >>> real_positions(torch.tensor([[False, True, True, False]]))
    tensor([[0, 0, 1, 1]])
    """
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def real_first(mask: Bool[Tensor, "b t"]) -> tuple[Int[Tensor, "b t"], Int[Tensor, "b t"]]:
    """For ``gather``: the order that puts the real tokens of each row first, and the one that puts them back.

    For models that read one token after another: padding, wherever it stood, then comes last and changes nothing.

    >>> real_first(torch.tensor([[False, True, True]]))
    (tensor([[1, 2, 0]]), tensor([[2, 0, 1]]))
    """
    order = mask.logical_not().byte().argsort(dim=-1, stable=True)
    return order, order.argsort(dim=-1)


def segment_positions(segments: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"] | None = None) -> Int[Tensor, "b t"]:
    """Positions that start again at 0 with each packed document, and count its real tokens only.

    >>> segment_positions(torch.tensor([[7, 7, 7, 2, 2]]))
    tensor([[0, 1, 2, 0, 1]])
    """
    new = torch.ones_like(segments, dtype=torch.bool)
    new[:, 1:] = segments[:, 1:] != segments[:, :-1]
    real = new.new_ones(new.shape) if mask is None else mask
    before = real.long().cumsum(-1) - real.long()  # real tokens to the left, over all documents
    first = torch.where(new, before, 0).cummax(-1).values
    return before - first
