r"""Batches whose rows go on where they were: row r of batch n + 1 follows row r of batch n in the text.

    place_r(n + 1) = place_r(n) + context          or, with probability `jump`, a place drawn anew

For models that carry a state from batch to batch, which so sees far more than one window. Rows that never jump meet the
same text in the same order, epoch after epoch, each at its own place: such a model overfits (on a text of a million
characters an LSTM reached 2.21 nats so, and 1.86 with jumps). Where a row jumps, or comes to the end of the text, its
state is of no use: ``fresh`` says so. Williams, Peng 1990 (backpropagation through a bounded stretch of time).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Integer

from cutaway.data.batches import Batches, expect_context
from cutaway.data.seeded_draws import draw_integers, draw_uniform
from cutaway.data.text.token_files import Tokens
from cutaway.overriding import override


class ContinuedWindow(NamedTuple):
    """Stretches of text, the same one token further on, which rows begin anew, and the number of the batch."""

    tokens: Int[np.ndarray, "b t"]
    targets: Int[np.ndarray, "b t"]
    fresh: Bool[np.ndarray, "b"]
    number: int


class ContinuedWindows(Batches[ContinuedWindow]):
    """Windows of ``context`` tokens in rows that go on from batch to batch and ``jump`` now and then.

    Batch n is a function of the seed and n: each row's place follows from its last jump, which is searched backwards.
    With ``jump`` 0 rows start side by side and never jump; with 1 they always do, and all windows are random.
    """

    def __init__(
        self,
        tokens: Tokens | Integer[np.ndarray, "n"],
        context: int,
        batch: int,
        jump: float = 0.05,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        super().__init__(batch, seed, rank, world)
        self.tokens = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
        expect_context(len(self.tokens), context, "the training text")
        if not 0 <= jump <= 1:
            raise ValueError(f"jump must be a probability, from 0 to 1, got {jump}; try jump=0.05")
        self.context, self.jump = context, jump
        self._last: tuple[int, Int[np.ndarray, "b"]] = (0, np.zeros(batch, np.int64))  # a step, and the jumps before it

    @override
    def at(self, step: int) -> ContinuedWindow:
        jumped = self._last_jumps(step)
        place = self._places(jumped) + (step - jumped) * self.context
        span = len(self.tokens) - self.context  # places at which a window may begin
        again = place // span != (place - self.context) // span  # past the end: on from the beginning
        fresh = (jumped == step) | again
        x = self.tokens.windows(self.share(place % span), self.context + 1)
        return ContinuedWindow(x[:, :-1], x[:, 1:], self.share(fresh), step)

    def _last_jumps(self, step: int) -> Int[np.ndarray, "b"]:
        """The step at which each row jumped last, ``step`` itself included; all did at step 0."""
        known_step, known = self._last
        found = np.full(self.batch, -1)
        for earlier in range(step, 0, -1) if self.jump else ():
            if earlier == known_step or (found >= 0).all():
                break
            jumps = draw_uniform(self.seed, "jumps", earlier, self.batch) < self.jump
            found = np.where((found < 0) & jumps, earlier, found)
        before = known if 0 < known_step <= step else np.zeros(self.batch, np.int64)
        found = np.where(found < 0, before, found)
        self._last = (step, found)
        return found

    def _places(self, jumped: Int[np.ndarray, "b"]) -> Int[np.ndarray, "b"]:
        """Where each row jumped to."""
        span = len(self.tokens) - self.context
        if not self.jump:
            return np.arange(self.batch) * span // self.batch
        places = np.empty(self.batch, np.int64)
        for step in np.unique(jumped):
            rows = jumped == step
            places[rows] = draw_integers(self.seed, "places", int(step), self.batch, span)[rows]
        return places


__all__ = ["ContinuedWindow", "ContinuedWindows"]
