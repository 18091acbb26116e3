r"""A batch in parts whose gradients add up: a step of long texts takes no more memory than one of short texts.

    ∇ cost(batch) = Σ_p share_p ∇ cost(part p)          share_p: the part's share of what the cost is the mean of
    parts         = ⌈texts · longest · bytes of a token / MEMORY⌉
    bytes of a token ≈ 4 (20 · depth · width + 3 · vocabulary, if logits are over it)

What a transformer keeps of a token for the backward pass is about 20 numbers for each of its width, in every layer.
On a processor parts cost no time; a GPU is given the batch as it is.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int
from torch import nn

MEMORY = 512 << 20  # bytes that the values kept for the backward pass may take, about
_KEPT = 20  # numbers that are kept of a token in a layer, for each of its width
_LOGITS = 3  # times the logits: themselves, their softmax, their gradient

Parts = list[tuple[Any, float]]


def bytes_of_token(model: Any) -> int:
    """What one token takes from the forward to the backward pass, about; 0 if the model does not say its size."""
    spec = getattr(model, "spec", None)
    width, depth = (getattr(spec, name, 0) for name in ("width", "depth"))
    kind = getattr(getattr(spec, "head", None), "kind", "")
    logits = getattr(spec, "vocabulary", 0) if kind in ("language", "masked") else 0
    return 4 * (_KEPT * int(width) * int(depth) + _LOGITS * int(logits))


def count_parts(model: nn.Module, texts: int, longest: int) -> int:
    """In how many parts a batch of so many texts is computed."""
    if next(model.parameters()).device.type != "cpu":
        return 1
    return max(1, min(texts, math.ceil(texts * longest * bytes_of_token(model) / MEMORY)))


def mean_parts(model: nn.Module, lengths: Int[np.ndarray, "n"]) -> Callable[[Int[np.ndarray, "b"]], Parts]:
    """For a cost that is the mean over the rows of a batch."""

    def parts(rows: Int[np.ndarray, "b"]) -> Parts:
        pieces = np.array_split(rows, count_parts(model, len(rows), int(lengths[rows].max())))
        return [(piece, len(piece) / len(rows)) for piece in pieces]

    return parts


def sum_parts(model: nn.Module, lengths: Int[np.ndarray, "n"]) -> Callable[[Any], Parts]:
    """For a cost that is a sum over ``batch.rows``, divided by what the batch says."""

    def parts(batch: Any) -> Parts:
        count = count_parts(model, len(batch.rows), int(lengths[batch.rows].max()))
        return [(batch._replace(rows=piece), 1.0) for piece in np.array_split(batch.rows, count)]

    return parts


def window_parts(model: nn.Module) -> Callable[[Any], Parts]:
    """For windows of one length: a named tuple of arrays (b, t), and the mean over all of it."""

    def parts(batch: Any) -> Parts:
        texts, longest = batch[0].shape
        pieces = np.array_split(np.arange(texts), count_parts(model, texts, longest))
        return [(type(batch)(*(x[piece] for x in batch)), len(piece) / texts) for piece in pieces]

    return parts


__all__ = ["MEMORY", "bytes_of_token", "count_parts", "mean_parts", "sum_parts", "window_parts"]
