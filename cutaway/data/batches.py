r"""Streams of batches that can be resumed: batch n is a pure function of the data, the seed and n.

The state of a stream is the number of its next batch. Where several processes train, each takes its share of a batch's
rows; the shares, one after another, are the batch that a single process would have.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int, Integer, Shaped

from cutaway.data.seeded_draws import draw_integers, draw_permutation
from cutaway.data.text.token_files import Tokens
from cutaway.overriding import override

B = TypeVar("B")


class Batches(ABC, Generic[B]):
    """An endless stream of batches of ``batch`` rows, of which this process takes share ``rank`` of ``world``."""

    def __init__(self, batch: int, seed: int, rank: int, world: int) -> None:
        if batch < 1:
            raise ValueError(f"batch must be above 0, got {batch}; try batch=32")
        if world < 1 or not 0 <= rank < world:
            raise ValueError(f"rank must lie from 0 to world - 1, got rank={rank}, world={world}; count ranks from 0")
        if batch % world:
            down, up = batch - batch % world, batch + world - batch % world
            near = f"batch={down} or batch={up}" if down else f"batch={up}"
            raise ValueError(f"batch must be a multiple of world, got batch={batch}, world={world}; try {near}")
        self.batch, self.seed, self.rank, self.world = batch, seed, rank, world
        self.step = 0

    @abstractmethod
    def at(self, step: int) -> B:
        """This process's share of batch number ``step``, whatever was taken before."""

    def share(self, rows: Shaped[np.ndarray, "n *r"]) -> Shaped[np.ndarray, "m *r"]:
        """The part of a batch's rows that this process takes."""
        each = len(rows) // self.world
        return rows[self.rank * each : (self.rank + 1) * each]

    def __iter__(self) -> Iterator[B]:
        return self

    def __next__(self) -> B:
        batch = self.at(self.step)
        self.step += 1
        return batch

    def state(self) -> dict[str, int]:
        """Where the stream stands: all that a checkpoint needs."""
        return {"step": self.step}

    def restore(self, state: Mapping[str, int]) -> None:
        """Goes on where `state` was taken."""
        self.step = state["step"]


class Window(NamedTuple):
    """Inputs and targets of a language model: stretches of tokens, and the same stretches one token further on."""

    tokens: Int[np.ndarray, "b t"]
    targets: Int[np.ndarray, "b t"]


def expect_context(count: int, context: int, name: str) -> None:
    """A window needs as many tokens as the context, and one more to predict."""
    if context < 1:
        raise ValueError(f"context must be above 0, got {context}; try context=64")
    if count < context + 1:
        advice = f"or context={count - 1} at most" if count > 1 else "of at least a few lines"
        raise ValueError(
            f"{name} must hold more tokens than the context, got {count:,} tokens for context={context}; "
            f"use a longer text {advice}"
        )


class Windows(Batches[Window]):
    """Windows of ``context`` tokens from random places, drawn anew for every batch, as in nanoGPT's training."""

    def __init__(
        self,
        tokens: Tokens | Integer[np.ndarray, "n"],
        context: int,
        batch: int,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        super().__init__(batch, seed, rank, world)
        self.tokens = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
        expect_context(len(self.tokens), context, "the training text")
        self.context = context

    @override
    def at(self, step: int) -> Window:
        starts = draw_integers(self.seed, "windows", step, self.batch, len(self.tokens) - self.context)
        x = self.tokens.windows(self.share(starts), self.context + 1)
        return Window(x[:, :-1], x[:, 1:])


def every_window(tokens: Tokens | Integer[np.ndarray, "n"], context: int, batch: int) -> Iterator[Window]:
    """Windows side by side from the first token to the last: each token but the first is predicted exactly once.

    For evaluation. What is left over at the end comes as a last batch with one shorter row.
    """
    tokens = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
    expect_context(len(tokens), context, "the text to evaluate on")
    whole, rest = divmod(len(tokens) - 1, context)
    for first in range(0, whole, batch):
        starts = np.arange(first, min(first + batch, whole)) * context
        x = tokens.windows(starts, context + 1)
        yield Window(x[:, :-1], x[:, 1:])
    if rest:
        x = tokens.windows(np.array([whole * context]), rest + 1)
        yield Window(x[:, :-1], x[:, 1:])


class ShuffledRows(Batches[Int[np.ndarray, "b"]]):
    """Row numbers, every row once in each epoch, in an order drawn anew for each.

    A batch may hold the end of one epoch and the start of the next, so that every batch is full: batch n holds places
    n·batch to (n + 1)·batch − 1 of all epochs one after another.
    """

    def __init__(self, count: int, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        if count < 1:
            raise ValueError(
                f"batches need at least one row, got {count}; use a larger table or a larger training share"
            )
        self.count = count
        self._orders: dict[int, Int[np.ndarray, "n"]] = {}

    def epoch(self, step: int) -> float:
        """How often every row was seen before batch ``step``."""
        return step * self.batch / self.count

    @override
    def at(self, step: int) -> Int[np.ndarray, "b"]:
        epochs, places = np.divmod(np.arange(step * self.batch, (step + 1) * self.batch), self.count)
        rows = np.empty(self.batch, np.int64)
        needed = {int(epoch): self._order(int(epoch)) for epoch in np.unique(epochs)}
        self._orders = needed
        for epoch, order in needed.items():
            here = epochs == epoch
            rows[here] = order[places[here]]
        return self.share(rows)

    def _order(self, epoch: int) -> Int[np.ndarray, "n"]:
        known = self._orders.get(epoch)
        return draw_permutation(self.seed, "rows", epoch, self.count) if known is None else known


__all__ = ["Batches", "ShuffledRows", "Window", "Windows", "every_window", "expect_context"]
