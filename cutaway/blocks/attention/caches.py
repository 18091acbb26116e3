r"""The key–value cache of a decoder holds the keys and values of earlier tokens, so that they are computed once.

    K ← [K; k_t],  V ← [V; v_t],  y_t = attend(q_t, K, V)

One pass over a new token then costs O(n) instead of O(n²). Buffers are allocated once, at full length. Prompts of
different lengths end together in a batch (padding on the left); `real` is True for the keys that are no padding.
Shazeer 2019, §2.3; Pope et al. 2022. Notes: N3 §5.9.1 (representations of earlier tokens do not change).
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_positive


class LayerCache:
    """Keys and values of one attention block: (batch, heads, context, width) buffers, the first ``length`` in use."""

    def __init__(self, keys: Float[Tensor, "b h n d"], values: Float[Tensor, "b h n e"], length: int = 0) -> None:
        self.keys, self.values, self.length = keys, values, length

    def extend(
        self, k: Float[Tensor, "b h t d"], v: Float[Tensor, "b h t e"]
    ) -> tuple[Float[Tensor, "b h n d"], Float[Tensor, "b h n e"]]:
        """Appends t keys and values; returns all so far. The past is a constant: gradients reach the new ones only."""
        start, end = self.length, self.length + k.shape[-2]
        batch, heads, context, width = self.keys.shape
        if k.ndim != 4 or k.shape != (batch, heads, k.shape[2], width):
            raise ValueError(
                f"a cache for (batch, heads, width) = {(batch, heads, width)} takes keys of shape (batch, heads, new, "
                f"width), got {tuple(k.shape)}; make a cache for this batch, or fork one"
            )
        if end > context:
            raise ValueError(
                f"a cache holds {context} positions, got {start} + {k.shape[-2]}; "
                "make it with a larger context, or generate fewer tokens"
            )
        self.length = end
        for buffer, new in ((self.keys, k), (self.values, v)):
            buffer.narrow(2, start, end - start).copy_(new.detach() if new.requires_grad else new)
        if k.requires_grad or v.requires_grad:
            # Joined to a copy of the past: the buffers will change, but autograd's graph must keep these values.
            return torch.cat([self.keys[:, :, :start], k], -2), torch.cat([self.values[:, :, :start], v], -2)
        return self.keys.narrow(2, 0, end), self.values.narrow(2, 0, end)


class MemoryCache:
    """Keys and values that cross attention computes once from the encoder's output, and then reads from here."""

    def __init__(self, keys: Tensor | None = None, values: Tensor | None = None) -> None:
        self.keys, self.values = keys, values


class Cache:
    """The caches of all layers of a decoder, and which positions are real.

    ``fork(copies)`` continues one prefix in several ways; ``keep(length)`` goes back to a shorter one.
    """

    def __init__(self, depth: int, batch: int, heads: int, context: int, width: int, like: Tensor) -> None:
        expect_positive(depth=depth, batch=batch, heads=heads, context=context, width=width)
        make = lambda: torch.empty(batch, heads, context, width, dtype=like.dtype, device=like.device)
        self.layers = [LayerCache(make(), make()) for _ in range(depth)]
        self.memories = [MemoryCache() for _ in range(depth)]
        self.real: Bool[Tensor, "b n"] | None = None

    @property
    def length(self) -> int:
        return self.layers[0].length

    @property
    def context(self) -> int:
        return self.layers[0].keys.shape[-2]

    @property
    def batch(self) -> int:
        return self.layers[0].keys.shape[0]

    def see(self, tokens: Int[Tensor, "b t"], real: Bool[Tensor, "b t"] | None = None) -> Bool[Tensor, "b n"] | None:
        """Notes which of the tokens to come are real; returns the mask over all keys, None while nothing is padding."""
        if real is None and self.real is None:
            return None
        if self.real is None:
            past = torch.ones(tokens.shape[0], self.length, dtype=torch.bool, device=tokens.device)
        else:
            past = self.real[:, : self.length]  # a pass that failed half-way may have noted more
        new = torch.ones_like(tokens, dtype=torch.bool) if real is None else real
        self.real = torch.cat([past, new], 1)
        return self.real

    def fork(self, copies: int) -> "Cache":
        """A copy with each example several times, to continue a shared prefix, computed once, in several directions."""
        expect_positive(copies=copies)
        return self._map(lambda x: x.repeat_interleave(copies, 0))

    def pick(self, examples: Int[Tensor, "b"]) -> "Cache":
        """A copy with the chosen examples, in their order (beam search)."""
        return self._map(lambda x: x.index_select(0, examples))

    def keep(self, length: int) -> "Cache":
        """Forgets all but the first ``length`` positions, in place; returns itself. What came from a memory stays."""
        if not 0 <= length <= self.length:
            raise ValueError(f"length must be from 0 to {self.length}, got {length}; a cache can only go back")
        for layer in self.layers:
            layer.length = length
        self.real = None if self.real is None or length == 0 else self.real[:, :length]
        return self

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Cache":
        def used(buffer: Tensor, length: int) -> Tensor:
            """A new buffer, of which only the part in use is filled."""
            part = change(buffer[:, :, :length])
            new = part.new_empty(part.shape[0], *buffer.shape[1:])
            new[:, :, :length] = part
            return new

        new = object.__new__(Cache)
        new.layers = [LayerCache(used(c.keys, c.length), used(c.values, c.length), c.length) for c in self.layers]
        new.memories = [
            MemoryCache() if c.keys is None or c.values is None else MemoryCache(change(c.keys), change(c.values))
            for c in self.memories
        ]
        new.real = None if self.real is None else change(self.real)
        return new
