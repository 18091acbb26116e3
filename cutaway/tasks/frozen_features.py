r"""Features of a frozen body: computed once and kept, where they fit into memory.

    r_i = represent(x_i)                            once for every example
    logits = decide(r_i)                            in every step, which trains the head alone

A frozen body computes as in evaluation, without dropout, so kept features are those that would be computed again.

Where the body is tuned too, a new head is fitted to them first: fitted_heads.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

Rows = Int[np.ndarray, "b"]


@dataclass(frozen=True)
class Representation:
    """What heads read of some examples: (b, w) a vector each, or (b, t, w) one a token with the mask of real ones."""

    values: Float[Tensor, "b *t w"]
    mask: Bool[Tensor, "b t"] | None = None


@torch.no_grad()
def represent_still(model: Any, *inputs: Any, **options: Any) -> Tensor:
    """What the head reads, from a body that computes as in evaluation."""
    training = model.training
    model.eval()
    try:
        return model.represent(*inputs, **options)
    finally:
        model.train(training)


class KeptFeatures:
    """The representations of many examples, one after another in a single tensor."""

    def __init__(self, values: Float[Tensor, "n w"], starts: Int[Tensor, "m"] | None = None) -> None:
        self.values, self.starts = values, starts

    def __call__(self, rows: Rows) -> Representation:
        """Those of some examples, padded with 0 if they are of different lengths."""
        at = torch.from_numpy(np.asarray(rows)).to(self.values.device)
        if self.starts is None:
            return Representation(self.values[at])
        starts, lengths = self.starts[at], self.starts[at + 1] - self.starts[at]
        steps = torch.arange(int(lengths.max()), device=at.device)
        mask = steps < lengths[:, None]
        places = torch.where(mask, starts[:, None] + steps, starts[:, None])
        return Representation(self.values[places] * mask[..., None], mask)

    @property
    def megabytes(self) -> float:
        return self.values.numel() * self.values.element_size() / 2**20


def keep_features(
    compute: Callable[[Rows], Representation], batches: Iterator[Rows], count: int, lengths: np.ndarray | None = None
) -> KeptFeatures:
    """Computes the representations of all examples, batch by batch; ``lengths`` are those of token-wise ones."""
    starts = None if lengths is None else np.concatenate([[0], np.cumsum(lengths)])
    values: Tensor | None = None
    for rows in batches:
        found = compute(rows)
        if values is None:
            size = count if starts is None else int(starts[-1])
            values = found.values.new_empty(size, found.values.shape[-1])
        if starts is None:
            values[torch.from_numpy(rows)] = found.values
        else:
            assert found.mask is not None
            places = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in rows.tolist()])
            values[torch.from_numpy(places)] = found.values[found.mask]
    assert values is not None
    return KeptFeatures(values, None if starts is None else torch.from_numpy(starts).to(values.device))


def features_in_memory(vectors: int, width: int) -> float:
    """Megabytes that as many vectors of float32 take."""
    return vectors * width * 4 / 2**20


def head_width(model: nn.Module, compute: Callable[[Rows], Representation]) -> tuple[int, bool]:
    """The width of what the head reads, and whether it reads a vector for each token."""
    found = compute(np.array([0]))
    return found.values.shape[-1], found.values.ndim == 3


__all__ = [
    "KeptFeatures",
    "Representation",
    "features_in_memory",
    "head_width",
    "keep_features",
    "represent_still",
]
