r"""Masked language modelling: some tokens are hidden, and BERT learns to predict them.

    of the n tokens of a stretch, round(0.15 n) are chosen at random; each of them becomes
        [MASK]          with probability 0.8
        a random token  with probability 0.1
        itself          with probability 0.1
    and the model is to say what stood there

What is chosen are tokens, whole words, or spans of words (``kind``):

    tokens    exactly round(0.15 n) of each stretch, as in the authors' code
    words     all tokens of a word or none of them: no part of it gives the rest away
    spans     the words of a stretch are joined into spans of ℓ words, P(ℓ) ∝ 0.2 · 0.8^(ℓ−1), ℓ ≤ 10, and whole spans
              are chosen; all tokens of a word or span meet the same fate (masked, replaced or kept)

Words and spans are taken in random order as long as they fit; the first that does not is taken with probability
(places left) / (its length), so that 0.15 n tokens are chosen on average. White space alone is no word.

Which are chosen is a function of the seed and the number of the batch alone: other masks at every pass over the text,
the same ones after a resume. There is no next-sentence task: Liu et al. 2019 found that it does not help.
Devlin et al. 2019, §3.1 and appendix A.1, and their note on whole-word masking; Joshi et al. 2020 (SpanBERT), §3.1.
Notes: N3 §5.8.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from cutaway.data.batches import Batches, expect_context
from cutaway.data.seeded_draws import draw_bits, draw_integers, draw_uniform
from cutaway.data.text.special_tokens import SpecialTokens
from cutaway.data.text.token_files import Tokens
from cutaway.data.text.word_starts import WordTable
from cutaway.overriding import override

Kind = Literal["tokens", "words", "spans"]
SPAN_SHARE, SPAN_MOST = 0.2, 10  # of SpanBERT: parameter of the geometric distribution, most words
MASKED, REPLACED = 0.8, 0.1  # shares of the chosen tokens; the rest stay


class MaskedBatch(NamedTuple):
    """Stretches of text between [CLS] and [SEP], some tokens masked: ``chosen`` says where, ``targets`` which."""

    tokens: Int[np.ndarray, "b t"]
    targets: Int[np.ndarray, "n"]
    chosen: Bool[np.ndarray, "b t"]


class Masking(NamedTuple):
    """How stretches are masked: special tokens and size of the vocabulary, length with special tokens, masked share.

    ``kind`` is what is chosen; words and spans need the ``words`` of the vocabulary.
    """

    special: SpecialTokens
    vocabulary: int
    context: int
    share: float = 0.15
    kind: Kind = "tokens"
    words: WordTable | None = None

    @property
    def inside(self) -> int:
        """Tokens of text in a stretch: all but the special tokens at its ends."""
        return self.context - 2


def mask_tokens(
    text: Int[np.ndarray, "b n"],
    masking: Masking,
    seed: int,
    number: int,
    purpose: str = "masks",
    some: bool = True,
) -> tuple[Int[np.ndarray, "b n"], Bool[np.ndarray, "b n"]]:
    """The text with masked tokens, and where they are; the draws are those of (seed, purpose, number).

    By words or spans a short stretch may be left with none; with ``some``, at least one stretch of the text has one.
    """
    rows, n = text.shape
    u = draw_uniform(seed, purpose, 3 * number + 1, rows * n).reshape(rows, n)
    others = draw_integers(seed, purpose, 3 * number + 2, rows * n, masking.vocabulary).reshape(rows, n)
    if masking.kind == "tokens":
        chosen = _choose_tokens(draw_bits(seed, purpose, 3 * number, rows * n).reshape(rows, n), masking.share)
    else:
        draws = draw_uniform(seed, purpose, 3 * number, 3 * rows * n).reshape(3, rows, n)
        units = _units(text, masking, draws[2])
        chosen = _choose_units(units, _filled(text, masking), masking.share, draws[0], draws[1], some)
        u = np.take_along_axis(u, units, axis=1)  # one fate for all tokens of a word or span
    hidden = np.where(u < MASKED, masking.special.mask, np.where(u < MASKED + REPLACED, others, text))
    return np.where(chosen, hidden, text), chosen


def _choose_tokens(bits: UInt64[np.ndarray, "b n"], share: float) -> Bool[np.ndarray, "b n"]:
    rows, n = bits.shape
    count = max(1, round(share * n))
    chosen = np.zeros((rows, n), dtype=bool)
    np.put_along_axis(chosen, bits.argsort(axis=1, kind="stable")[:, :count], True, axis=1)
    return chosen


def _units(text: Int[np.ndarray, "b n"], masking: Masking, u: Float[np.ndarray, "b n"]) -> Int[np.ndarray, "b n"]:
    """The number of the word, or span, that each token is part of, counted from 0 in each row."""
    assert masking.words is not None
    starts = masking.words.starts(text)
    if masking.kind == "words":
        return starts.cumsum(1) - 1
    # a run of white space goes with the word before it
    blank = ~masking.words.filled[text] & ~masking.words.space[text]
    words = (starts & ~blank).cumsum(1) - 1
    return np.take_along_axis(span_numbers(u), words.clip(min=0), axis=1)


def span_numbers(u: Float[np.ndarray, "b n"]) -> Int[np.ndarray, "b n"]:
    r"""Words 0 … n − 1 of each row in spans of random lengths, one after another: the number of each word's span.

    P(ℓ) ∝ p (1 − p)^(ℓ−1),   1 ≤ ℓ ≤ 10,   p = 0.2            3.8 words on average
    """
    lengths = np.arange(1, SPAN_MOST + 1)
    below = (1 - (1 - SPAN_SHARE) ** lengths) / (1 - (1 - SPAN_SHARE) ** SPAN_MOST)
    ends = (1 + np.searchsorted(below, u, side="right").clip(max=SPAN_MOST - 1)).cumsum(1)
    # as many spans as end at or before a word come before that of the word
    return np.stack([np.searchsorted(row, np.arange(u.shape[1]), side="right") for row in ends])


def _filled(text: Int[np.ndarray, "b n"], masking: Masking) -> Bool[np.ndarray, "b n"]:
    assert masking.words is not None
    return masking.words.filled[text]


def _choose_units(
    units: Int[np.ndarray, "b n"],
    filled: Bool[np.ndarray, "b n"],
    share: float,
    order: Float[np.ndarray, "b n"],
    luck: Float[np.ndarray, "b n"],
    at_least_one: bool,
) -> Bool[np.ndarray, "b n"]:
    """Units in random order as long as they fit into the share; of the first that does not, ``luck`` decides."""
    rows, n = units.shape
    flat = (units + n * np.arange(rows)[:, None]).ravel()
    length = np.bincount(flat, minlength=rows * n).reshape(rows, n)
    some = np.bincount(flat, weights=filled.ravel(), minlength=rows * n).reshape(rows, n) > 0
    ranked = np.where(some, order, 2.0).argsort(axis=1, kind="stable")  # those that say nothing come last
    length = np.where(some, length, n + 1).astype(np.int64)
    ordered = np.take_along_axis(length, ranked, axis=1)
    reached = ordered.cumsum(1)
    left = share * n - (reached - ordered)
    # The last that fits leaves at least its own length; the one after it is taken by luck, and none behind that.
    taken = (left >= ordered) | ((left > 0) & (luck[:, :1] * ordered < left))
    taken &= np.take_along_axis(some, ranked, axis=1)
    if at_least_one and not taken.any():
        taken[:1, 0] = True
    chosen = np.zeros((rows, n), dtype=bool)
    np.put_along_axis(chosen, ranked, taken, axis=1)
    return np.take_along_axis(chosen, units, axis=1)


def make_masked_batch(
    text: Int[np.ndarray, "b n"],
    masking: Masking,
    seed: int,
    number: int,
    purpose: str = "masks",
    some: bool = True,
) -> MaskedBatch:
    """Stretches of text as a model is given them: masked, and between [CLS] and [SEP]."""
    tokens, chosen = mask_tokens(text, masking, seed, number, purpose, some)
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

    @override
    def at(self, step: int) -> MaskedBatch:
        starts = draw_integers(self.seed, "windows", step, self.batch, len(self.tokens) - self.masking.inside)
        whole = make_masked_batch(self.tokens.windows(starts, self.masking.inside), self.masking, self.seed, step)
        chosen = self.share(whole.chosen)
        before = int(whole.chosen[: self.rank * len(chosen)].sum())
        targets = whole.targets[before : before + int(chosen.sum())]
        return MaskedBatch(self.share(whole.tokens), targets, chosen)


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
        parts = [
            make_masked_batch(row[None], masking, 0, int(place), "fixed", some=not place)
            for row, place in zip(text, here)
        ]
        yield MaskedBatch(*(np.concatenate(field) for field in zip(*parts)))


__all__ = [
    "Kind",
    "MaskedBatch",
    "MaskedBatches",
    "Masking",
    "every_masked_batch",
    "make_masked_batch",
    "mask_tokens",
    "span_numbers",
]
