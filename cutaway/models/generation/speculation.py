r"""Speculation by prompt lookup: where a text repeats itself, guess several tokens and check them in one pass.

    guess   x̃_{t+1} … x̃_{t+k} = what followed when the last tokens stood in the text before
    check   ℓ_t … ℓ_{t+k}: one pass over all guesses;  x_{t+i+1} is chosen from ℓ_{t+i} as ever
    keep    x_{t+1} … x_{t+i}, up to the first that differs from its guess

Every token is chosen from the same logits in the same way, so the text is the one that would be written without
guesses, but for ties within rounding: a pass over many tokens may sum in another order. A pass over k + 1 tokens costs
less than k + 1 passes, since the weights are read from memory once; but more than one pass, so guesses are made only
where they pay. How often a lookup is right is counted at every token, whether or not a guess was made of it.
Leviathan et al. 2023 (checking guesses); Saxena 2023 (prompt lookup). Notes: N3 §5.4.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.models.generation.next_token import Decoder, evaluating
from cutaway.models.generation.sampling import Sampling, choose

SHORTEST = 2  # tokens that must agree before what followed them is looked up
LONGEST = 8  # longer agreements tell no more than this one
# How often a lookup is right after so many tokens that agree, before anything was counted; worth `PRIOR` counts.
EXPECTED = {2: 0.25, 3: 0.45, 4: 0.6, 5: 0.7, 6: 0.75, 7: 0.8, 8: 0.85}
PRIOR = 3.0
FADING = 0.97  # what a count is worth one lookup later: a text may begin or cease to copy


def pass_cost(guesses: int) -> float:
    """The time of a pass over one token and so many guesses, in passes over one: 2.3 for eight on two cores."""
    return 1.0 if guesses == 0 else 1.5 + 0.1 * guesses


@runtime_checkable
class LookaheadDecoder(Decoder, Protocol):
    """A decoder that can score several tokens in one pass, and take some of them back."""

    @property
    def room(self) -> int:
        """How many tokens it can look ahead."""

    def look_ahead(self, guesses: Int[Tensor, "b k"]) -> Float[Tensor, "b n v"]:
        """The scores of the next token now and after each guess, n = k + 1."""

    def accept(self, tokens: Int[Tensor, "b m"]) -> None:
        """Goes on by the first m − 1 of the guesses, which were right, and one token more."""


class PromptLookup:
    """Guesses what follows by what followed before: ``lookup.add(token)`` for every token, ``lookup.guess(most)``."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.text: list[int] = []
        self.followed: dict[tuple[int, ...], int] = {}  # the place after the last occurrence of some tokens
        self.place: int | None = None  # of the token that is expected next
        self.agreed = 0  # how many tokens before that place are also the last of the text
        self.right = {n: PRIOR * share for n, share in EXPECTED.items()}
        self.asked = dict.fromkeys(EXPECTED, PRIOR)
        for token in tokens:
            self._append(token)

    def add(self, token: int) -> None:
        """The text goes on by a token; whether it was the expected one is counted."""
        if self.place is not None:
            n = self.agreed
            self.asked[n] = FADING * self.asked[n] + 1
            self.right[n] = FADING * self.right[n] + (self.text[self.place] == token)
        self._append(token)

    def guess(self, most: int) -> list[int]:
        """The tokens expected next, at most so many: as many as promise the most tokens for their time, often none."""
        if self.place is None:
            return []
        best, count = 1.05, 0  # a promise of less is not worth it
        promised, all_right = 1.0, 1.0
        for k in range(1, most + 1):
            n = min(self.agreed + k - 1, LONGEST)
            all_right *= self.right[n] / self.asked[n]
            promised += all_right
            if promised / pass_cost(k) > best:
                best, count = promised / pass_cost(k), k
        # Beyond its end the text goes on with the guesses themselves: a repetition may be shorter than the guess.
        guesses: list[int] = []
        for place in range(self.place, self.place + count):
            guesses.append(self.text[place] if place < len(self.text) else guesses[place - len(self.text)])
        return guesses

    def _append(self, token: int) -> None:
        if self.place is not None and self.text[self.place] == token:
            self.place, self.agreed = self.place + 1, min(self.agreed + 1, LONGEST)
        else:
            self.place = None
        self.text.append(token)
        for n in (SHORTEST + 1, SHORTEST):
            if len(self.text) < n:
                continue
            last = tuple(self.text[-n:])
            if self.place is None and last in self.followed:
                self.place = self.followed[last]
                self.agreed = self._agreement(self.place)
            self.followed[last] = len(self.text)

    def _agreement(self, place: int) -> int:
        """How many tokens before a place are the same as at the end of the text."""
        n = 0
        while n < min(LONGEST, place) and self.text[place - 1 - n] == self.text[-1 - n]:
            n += 1
        return n


def choose_by_guesses(
    model: nn.Module,
    decoder: LookaheadDecoder,
    prompt: Sequence[int],
    tokens: int,
    settings: Sampling,
    ends: tuple[int, ...],
    most: int,
) -> Iterator[Int[Tensor, "1"]]:
    """The tokens that follow one prompt, one by one, with up to ``most`` guesses in a pass."""
    lookup, generators = PromptLookup(prompt), settings.generators(1)
    made = 0
    while made < tokens:
        with evaluating(model):
            guesses = lookup.guess(min(most, tokens - made - 1, decoder.room))
            scores = decoder.look_ahead(decoder.text.new_tensor([guesses]))
            before, chosen = decoder.text, []
            for i in range(len(guesses) + 1):
                choice = choose(scores[:, i], settings, generators, before)
                chosen.append(choice)
                token = int(choice)
                lookup.add(token)
                if token in ends or i == len(guesses) or token != guesses[i]:
                    break
                if settings.repetition_penalty != 1:
                    before = torch.cat([before, choice[:, None]], 1)
            made += len(chosen)
            if made < tokens and token not in ends:
                decoder.accept(torch.stack(chosen, 1))
        yield from chosen
        if token in ends:
            return


__all__ = ["LookaheadDecoder", "PromptLookup", "choose_by_guesses"]
