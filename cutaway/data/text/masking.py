r"""Masked language modelling: some tokens are hidden, and BERT learns to predict them.

    of the n tokens of a stretch, round(0.15 n) are chosen at random; each of them becomes
        [MASK]          with probability 0.8
        a random token  with probability 0.1
        itself          with probability 0.1
    and the model is to say what stood there

The exact number for each stretch is as in the authors' code; so all processes of a run predict equally many tokens.
Which are chosen is a function of the seed and the number of the batch alone: other masks at every pass over the text,
the same ones after a resume. There is no next-sentence task: Liu et al. 2019 found that it does not help.
Devlin et al. 2019, §3.1 and appendix A.1. Notes: N3 §5.8.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from cutaway.data.batches import Batches, expect_context
from cutaway.data.seeded_draws import draw_bits, draw_integers, draw_uniform
from cutaway.data.text.special_tokens import SpecialTokens
from cutaway.data.text.token_files import Tokens

MASKED, REPLACED = 0.8, 0.1  # shares of the chosen tokens; the rest stay


class MaskedBatch(NamedTuple):
    """Stretches of text between [CLS] and [SEP], some tokens masked: ``chosen`` says where, ``targets`` which."""

    tokens: Int[np.ndarray, "b t"]
    targets: Int[np.ndarray, "n"]
    chosen: Bool[np.ndarray, "b t"]


class Masking(NamedTuple):
    """How stretches are masked: special tokens and size of the vocabulary, length with special tokens, masked share."""

    special: SpecialTokens
    vocabulary: int
    context: int
    share: float = 0.15

    @property
    def inside(self) -> int:
        """Tokens of text in a stretch: all but the special tokens at its ends."""
        return self.context - 2


def mask_tokens(
    text: Int[np.ndarray, "b n"], masking: Masking, seed: int, number: int, purpose: str = "masks"
) -> tuple[Int[np.ndarray, "b n"], Bool[np.ndarray, "b n"]]:
    """The text with masked tokens, and where they are; the draws are those of (seed, purpose, number)."""
    rows, n = text.shape
    count = max(1, round(masking.share * n))
    order = draw_bits(seed, purpose, 3 * number, rows * n).reshape(rows, n).argsort(axis=1, kind="stable")
    chosen = np.zeros((rows, n), dtype=bool)
    np.put_along_axis(chosen, order[:, :count], True, axis=1)
    u = draw_uniform(seed, purpose, 3 * number + 1, rows * n).reshape(rows, n)
    others = draw_integers(seed, purpose, 3 * number + 2, rows * n, masking.vocabulary).reshape(rows, n)
    hidden = np.where(u < MASKED, masking.special.mask, np.where(u < MASKED + REPLACED, others, text))
    return np.where(chosen, hidden, text), chosen


def make_masked_batch(
    text: Int[np.ndarray, "b n"], masking: Masking, seed: int, number: int, purpose: str = "masks"
) -> MaskedBatch:
    """Stretches of text as a model is given them: masked, and between [CLS] and [SEP]."""
    tokens, chosen = mask_tokens(text, masking, seed, number, purpose)
    ends = ((0, 0), (1, 1))
    marked = np.pad(tokens, ends)
    marked[:, 0], marked[:, -1] = masking.special.start, masking.special.end
    return MaskedBatch(marked, text[chosen], np.pad(chosen, ends))


class MaskedBatches(Batches[MaskedBatch]):
    """Stretches from random places of a text, masked anew for every batch."""

    def __init__(
        self, tokens: Tokens, masking: Masking, batch: int, seed: int = 0, rank: int = 0, world: int = 1
    ) -> None:
        super().__init__(batch, seed, rank, world)
        expect_context(len(tokens), masking.inside, "the training text")
        self.tokens, self.masking = tokens, masking

    def at(self, step: int) -> MaskedBatch:
        starts = draw_integers(self.seed, "windows", step, self.batch, len(self.tokens) - self.masking.inside)
        whole = make_masked_batch(self.tokens.windows(starts, self.masking.inside), self.masking, self.seed, step)
        each = len(whole.targets) // self.world
        targets = whole.targets[self.rank * each : (self.rank + 1) * each]
        return MaskedBatch(self.share(whole.tokens), targets, self.share(whole.chosen))


def every_masked_batch(tokens: Tokens, masking: Masking, batch: int, limit: int | None = None) -> Iterator[MaskedBatch]:
    """Stretches side by side over a text, always with the same masks; for evaluation.

    With a ``limit`` only about as many tokens, in stretches spread evenly. What is left over at the end is left out.
    """
    whole = len(tokens) // masking.inside
    wanted = whole if limit is None else min(whole, max(1, limit // masking.inside))
    places = np.arange(wanted) * whole // wanted
    for first in range(0, wanted, batch):
        here = places[first : first + batch]
        text = tokens.windows(here * masking.inside, masking.inside)
        # a draw for each stretch by its place: the masks do not depend on how many go together
        parts = [make_masked_batch(row[None], masking, 0, int(place), "fixed") for row, place in zip(text, here)]
        yield MaskedBatch(*(np.concatenate(field) for field in zip(*parts)))


__all__ = ["MaskedBatch", "MaskedBatches", "Masking", "every_masked_batch", "make_masked_batch", "mask_tokens"]
